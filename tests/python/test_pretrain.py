"""Pre-training in Python: log lines, the model, resume, errors."""

import doctest
import importlib
import json

import causeway as cw
import numpy as np
import pytest

SMALL = {
    "rows": 20, "features": (2, 5), "classes": (2, 3), "width": 16, "heads": 2, "hidden": 24,
    "layers": 1, "thinking": 2, "batch": 4, "warmup": 4, "log_steps": 1, "seed": 5,
    "device": "cpu",
}  # fmt: skip


def train(prior="mlp", **options):
    return cw.pretrain(prior, **{"steps": 6} | SMALL | options)


def losses(done):
    return [line["loss"] for line in done.log]


def test_examples():
    results = doctest.testmod(importlib.import_module("causeway.pretrain"))
    assert results.attempted >= 3 and results.failed == 0


def test_lines_and_model(device):
    lines = []
    done = train(progress=lines.append, device=device)
    assert lines == done.log and not done.interrupted
    assert [line["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert lines[-1]["datasets"] == 24 and len(set(losses(done))) == 6
    assert isinstance(done.model, cw.models.TabularTransformer)
    assert done.model.config["classes"] == 3 and done.model.device.startswith(device[:3])
    batch = cw.Prior("mlp", rows=20, features=4, classes=2).batch(2)
    logits = done.model.logits(batch.x, batch.y, 10)
    assert logits.shape == (2, 20, 3) and np.isfinite(logits.numpy()).all()


def test_same_seed_same_run():
    first, second = train(), train()
    assert losses(first) == losses(second)
    for name, tensor in first.model.state_dict().items():
        np.testing.assert_array_equal(tensor.numpy(), second.model.state_dict()[name].numpy())
    assert losses(first) != losses(train(seed=6))


def test_pretrain_with_a_prior_object():
    options = {name: SMALL[name] for name in ("rows", "features", "classes", "seed")}
    prior = cw.Prior("mlp", **options)
    left = {name: value for name, value in SMALL.items() if name not in options}
    done = cw.pretrain(prior, steps=6, seed=5, **left)
    assert losses(done) == losses(train())
    with pytest.raises(TypeError, match="'rows' is a setting of the prior"):
        cw.pretrain(prior, rows=3)


def test_resumes(tmp_path):
    train(out=tmp_path, steps=3)
    with pytest.raises(cw.Error, match="already holds a run"):
        train(out=tmp_path)
    done = train(out=tmp_path, resume=True)
    assert losses(done) == losses(train())[3:]
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["loss"] for line in log] == losses(train())


def test_resumes_with_the_weights_of_a_mix(tmp_path):
    options = {"mix": {"mlp": 1, "rules": 2, "linear": 1}, "binary_share": 0.5, "rows": 40}
    train("mix", out=tmp_path, steps=3, **options)
    stored = json.loads((tmp_path / "config.json").read_text())["prior"]
    assert stored["mix"] == [0, 1, 0, 0, 2, 1] and stored["binary_share"] == 0.5
    done = cw.pretrain(out=tmp_path, resume=True, steps=6, device="cpu")
    whole = train("mix", **options)
    assert losses(done) == losses(whole)[3:]
    assert losses(whole) != losses(train("mix", rows=40))


def test_scores_and_page(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("x,what\n" + "".join(f"{i % 7},{'ab'[i % 2]}\n" for i in range(40)))
    done = train(out=tmp_path / "run", evaluate=[str(table)], target="what", evaluate_steps=3)
    assert [line["step"] for line in done.log if "score" in line] == [3, 6]
    assert 0 <= done.log[-1]["score"] <= 1
    page = (tmp_path / "run" / "report.html").read_text()
    assert "table.csv" in page and 'id="calibration"' in page


def test_stages_and_regression():
    done = train("mix", regression=True, stages=[(0, 20), (4, 30)], steps=5, muon=False)
    assert done.model.config["classes"] == 0 and len(done.log) == 5


def test_rates_fall():
    constant, linear = losses(train(warmup=0)), losses(train(warmup=0, decay="linear"))
    assert constant[0] == linear[0] and constant[1:] != linear[1:]
    with pytest.raises(cw.InvalidArgument, match="decay: expected constant, linear, cosine"):
        train(decay="steep")
    with pytest.raises(cw.InvalidArgument, match="ends at the last step; set steps too"):
        train(steps=None, seconds=1, decay="cosine")


def test_progress_that_raises():
    class Enough(Exception):
        pass

    def stop(line):
        if line["step"] == 3:
            raise Enough

    lines = []
    with pytest.raises(Enough):
        train(progress=lambda line: (lines.append(line), stop(line)))
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "run.steps: expected 1 or more, got 0"),
        ({"log_steps": 0}, "run.log_steps: expected 1 or more, got 0"),
        ({"batch": 0}, "batch: expected 1 to 1048576, got 0"),
        ({"width": 20}, "multiple of 8"),
        ({"preset": "large"}, "preset: expected default, nanotabpfn, speedrun"),
        ({"stages": [(4, 20), (2, 30)]}, "stages: expected step:rows,step:rows with ascending steps"),
        ({"learning_rate": 1e30, "warmup": 0}, "the mean loss of steps"),
        ({"learning_rate": 1e30, "warmup": 0, "detect_anomaly": True}, r"detect_anomaly\] step"),
        ({"out": "/dev/null/run"}, "Not a directory"),
    ],
)
def test_mistakes(options, words):
    with pytest.raises(cw.Error, match=words):
        train(**options)
    with pytest.raises(TypeError, match="depth"):
        train(depth=3)
