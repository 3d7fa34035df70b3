"""Callbacks of cw.pretrain, and the ready ones against modules that record their calls."""

import struct
import subprocess
import sys
import types

import causeway as cw
import pytest

SMALL = {
    "rows": 20, "features": 3, "classes": 2, "width": 16, "heads": 2, "hidden": 24, "layers": 1, "thinking": 2,
    "batch": 4, "steps": 6, "log_steps": 2, "device": "cpu",
}  # fmt: skip


def train(*callbacks, **options):
    return cw.pretrain("simple", callbacks=callbacks, **SMALL | options)


class Recorder:
    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *arguments: self.calls.append((name, *arguments))


def test_order_and_arguments(tmp_path):
    recorder = Recorder()
    done = train(recorder, out=tmp_path, save_steps=2, evaluate=lambda model: 0.75, evaluate_steps=4)
    names = [name for name, *_ in recorder.calls]
    assert names[0] == "on_start" and names[-1] == "on_end" and names.count("on_start") == 1
    assert recorder.calls[0][1] == done.config and recorder.calls[-1][1] is done
    assert [line for name, line, *_ in recorder.calls if name == "on_step"] == done.log
    scored = [line for name, line, *_ in recorder.calls if name == "on_evaluate"]
    assert [line["step"] for line in scored] == [4, 6] and scored[0]["score"] == 0.75
    saved = [arguments for name, *arguments in recorder.calls if name == "on_checkpoint"]
    assert saved[-1][0] == 6 and [step for step, _ in saved] == sorted({step for step, _ in saved})
    assert (saved[-1][1] / "manifest.json").exists() and saved[-1][1].parent.parent == tmp_path


def test_methods_are_optional():
    class OnlySteps:
        steps = []

        def on_step(self, line):
            self.steps.append(line["step"])

    train(OnlySteps())
    assert OnlySteps.steps == [2, 4, 6]
    for wrong in (OnlySteps, object(), print):
        with pytest.raises(TypeError, match="expected an object with some of on_start, on_step"):
            train(wrong)


def test_an_exception_ends_the_run():
    class Stops(Recorder):
        def on_step(self, line):
            raise LookupError("enough")

    stops, other = Stops(), Recorder()
    with pytest.raises(LookupError, match="enough"):
        train(other, stops)
    assert [name for name, *_ in stops.calls] == ["on_start", "on_end"] and stops.calls[-1][1] is None
    assert [name for name, *_ in other.calls] == ["on_start", "on_step", "on_end"]


def test_no_optional_package_is_imported():
    code = ("import causeway as cw, sys; cw.callbacks.MLflow(), cw.callbacks.WandB(), cw.models.TabularTransformer; "
            "print({'mlflow', 'wandb', 'tensorboard', 'huggingface_hub', 'torch'} & set(sys.modules))")  # fmt: skip
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def fake(monkeypatch, name, **members):
    module = types.ModuleType(name)
    vars(module).update(members)
    monkeypatch.setitem(sys.modules, name, module)
    return module


@pytest.mark.parametrize("active", [False, True])
def test_mlflow(monkeypatch, tmp_path, active):
    calls = []

    def record(name, result=None):
        return lambda *arguments, **named: (calls.append((name, arguments, named)), result)[1]

    fake(monkeypatch, "mlflow", active_run=lambda: object() if active else None,
         **{name: record(name) for name in
            ("start_run", "log_params", "log_metrics", "log_metric", "set_tag", "end_run")})  # fmt: skip
    train(cw.callbacks.MLflow(run_name="a"), out=tmp_path, evaluate=lambda model: 0.5)
    names = [name for name, *_ in calls]
    assert ("start_run" in names) == ("end_run" in names) == (not active)
    if not active:
        assert calls[0] == ("start_run", (), {"run_name": "a"})
        assert calls[-1] == ("end_run", (), {"status": "FINISHED"})
    parameters = next(arguments[0] for name, arguments, _ in calls if name == "log_params")
    assert parameters["model.width"] == 16 and parameters["batch"] == 4
    metrics = [(named["step"], arguments[0]) for name, arguments, named in calls if name == "log_metrics"]
    assert [step for step, _ in metrics] == [2, 4, 6]
    assert metrics[0][1]["train/loss"] > 0 and "train/step" not in metrics[0][1]
    assert ("log_metric", ("evaluation/score", 0.5), {"step": 6}) in calls
    assert ("set_tag", ("checkpoint", str(tmp_path / "checkpoints" / "step-00000006")), {}) in calls


def test_mlflow_of_a_failed_run(monkeypatch):
    ended = []
    fake(monkeypatch, "mlflow", active_run=lambda: None, start_run=lambda: None, log_params=lambda values: None,
         log_metrics=lambda values, step: 1 / 0, end_run=lambda status: ended.append(status))  # fmt: skip
    with pytest.raises(ZeroDivisionError):
        train(cw.callbacks.MLflow())
    assert ended == ["FAILED"]


def test_wandb(monkeypatch, tmp_path):
    class Run:
        def __init__(self):
            self.config, self.summary, self.lines, self.exit_code = {}, {}, [], None
            run = self

            class Config(dict):
                def update(self, values, allow_val_change=False):
                    super().update(values)

            self.config = Config()
            self.log = lambda values, step: run.lines.append((step, values))

        def finish(self, exit_code=0):
            self.exit_code = exit_code

    started = []
    run = Run()
    fake(monkeypatch, "wandb", run=None, init=lambda **named: (started.append(named), run)[1])
    scores = iter([0.75, 0.5])
    train(cw.callbacks.WandB(project="p"), out=tmp_path, evaluate=lambda model: next(scores), evaluate_steps=4)
    assert started == [{"project": "p"}] and run.exit_code == 0
    assert run.config["model"]["width"] == 16
    assert [step for step, _ in run.lines] == [2, 4, 6] and run.lines[0][1]["train/loss"] > 0
    assert [values.get("evaluation/score") for _, values in run.lines] == [None, 0.75, 0.5]
    assert run.summary["best_score"] == 0.75 and run.summary["checkpoint"].endswith("step-00000006")


def records(path):
    """The payloads of an event file."""
    data, found = path.read_bytes(), []
    while data:
        (length,) = struct.unpack_from("<Q", data)
        found.append(data[12 : 12 + length])
        data = data[16 + length :]
    return found


def test_tensorboard(tmp_path):
    done = train(cw.callbacks.TensorBoard(tmp_path / "events"), evaluate=lambda model: 0.25)
    (file,) = (tmp_path / "events").iterdir()
    assert "tfevents" in file.name
    found = records(file)
    assert sum(b"train/loss" in payload for payload in found) == 3
    losses = [payload.split(b"train/loss")[1] for payload in found if b"train/loss" in payload]
    for payload, line in zip(losses, done.log, strict=True):
        assert struct.pack("<f", line["loss"]) in payload[:8]
    assert sum(b"evaluation/score" in payload for payload in found) == 1
