"""cw.pretrain(batches=...): kinds of arrays and batches, resume, evaluation, errors."""

import json

import causeway as cw
import numpy as np
import pytest

SMALL = {
    "classes": 2, "width": 16, "heads": 2, "hidden": 24, "layers": 1, "thinking": 2, "warmup": 2, "log_steps": 1,
    "seed": 5, "device": "cpu",
}  # fmt: skip


def batch(k, tables=4, rows=20, features=3):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(tables, rows, features)).astype(np.float32)
    return {"x": x, "y": (x[:, :, 0] > 0).astype(np.int64), "n_context": 12}


def batches(n, **sizes):
    return [batch(k, **sizes) for k in range(n)]


def train(source, **options):
    return cw.pretrain(batches=source, **SMALL | options)


def losses(done):
    return [line["loss"] for line in done.log]


def test_a_list_is_read_once():
    done = train(batches(6))
    assert [line["step"] for line in done.log] == [1, 2, 3, 4, 5, 6]
    assert done.config["batches"] == "list" and done.config["batch"] == 4
    assert done.config["prior"]["rows"] == "20" and done.config["prior"]["features"] == "3"
    assert done.log[-1]["datasets"] == 24
    assert done.model.config["classes"] == 2


def test_it_learns():
    source = (batch(k, tables=8, features=2) for k in range(400))
    done = train(source, steps=200, learning_rate=1e-2, log_steps=10, layers=2, group=1, thinking=0)
    assert losses(done)[-1] < 0.25 < 0.6 < losses(done)[0]


def test_the_same_datasets_as_a_prior_give_the_same_run():
    """The loop is the same: a stream of a prior, and its batches passed from outside."""
    sizes = {"rows": 20, "features": 3, "classes": 2, "seed": 5}
    options = {key: value for key, value in SMALL.items() if key not in ("classes", "seed")}
    expected = cw.pretrain("mlp", **sizes, **options, steps=4, batch=4, window_steps=1)
    prior = cw.Prior("mlp", **sizes)
    found = train((prior.batch(4) for _ in range(4)), steps=4)
    np.testing.assert_array_equal(losses(found), losses(expected))


class Capsule:
    """An array that speaks DLPack only."""

    def __init__(self, array):
        self._array = array
        self.shape = array.shape

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("kind", ["f64", "tensor", "dlpack", "tuple", "classes", "per table", "n_train", "bool"])
def test_kinds_of_batches(kind):
    def changed(k):
        made = batch(k)
        if kind == "f64":
            made["x"], made["y"] = made["x"].astype(np.float64), made["y"].astype(np.float64)
        elif kind == "tensor":
            made["x"] = cw.asarray(made["x"])
        elif kind == "dlpack":
            made["x"], made["y"] = Capsule(made["x"]), Capsule(made["y"])
        elif kind == "tuple":
            return tuple(made.values())
        elif kind == "classes":
            return (*made.values(), 2)
        elif kind == "per table":
            made["n_context"] = np.full(4, 12)
        elif kind == "n_train":
            made["n_train"], made["index"] = made.pop("n_context"), np.arange(4)
        elif kind == "bool":
            made["y"] = made["y"].astype(bool)
        return made

    assert losses(train([changed(k) for k in range(3)])) == losses(train(batches(3)))


def test_sizes_of_padded_tables_and_of_steps():
    """Padding changes nothing; rows and features may differ between batches."""
    plain = batches(3) + [batch(9, rows=30, features=5)]
    padded = []
    for made in plain:
        x = np.zeros((4, 40, 6), np.float32)
        y = np.zeros((4, 40), np.int64)
        n_rows, n_features = made["x"].shape[1:]
        x[:, :n_rows, :n_features], y[:, :n_rows] = made["x"], made["y"]
        padded.append({"x": x, "y": y, "n_context": 12, "n_rows": n_rows, "n_features": n_features})
    np.testing.assert_allclose(losses(train(padded)), losses(train(plain)), rtol=1e-5)


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    made = [{name: torch.as_tensor(value) for name, value in one.items()} for one in batches(3)]
    assert losses(train(made)) == losses(train(batches(3)))


def test_regression():
    def one(k):
        made = batch(k)
        return made | {"y": made["x"][:, :, 0] * 2}

    done = cw.pretrain(batches=[one(k) for k in range(3)], regression=True,
                       **{key: value for key, value in SMALL.items() if key != "classes"})
    assert done.model.config["classes"] == 0 and len(done.log) == 3


@pytest.mark.parametrize("source", ["list", "generator", "function"])
def test_resume(tmp_path, source):
    asked = []

    def make():
        if source == "list":
            return batches(6)
        if source == "generator":
            return (batch(k) for k in range(6))

        def start(first):
            asked.append(first)
            return (batch(k) for k in range(first, 6))

        return start

    whole = train(make(), steps=6)
    train(make(), steps=2, out=tmp_path)
    done = cw.pretrain(batches=make(), out=tmp_path, resume=True, steps=6, device="cpu")
    assert [line["step"] for line in done.log] == [3, 4, 5, 6]
    assert losses(done) == losses(whole)[2:]
    if source == "function":
        assert asked == [0, 0, 2]
    for name, weights in whole.model.state_dict().items():
        np.testing.assert_array_equal(weights.numpy(), done.model.state_dict()[name].numpy())
    stored = json.loads((tmp_path / "config.json").read_text())
    assert stored["batches"] == {"list": "list", "generator": "generator", "function": "start"}[source]


def test_resume_needs_the_batches(tmp_path):
    train(batches(2), out=tmp_path)
    with pytest.raises(cw.InvalidArgument, match=r"with the batches list; resume it there .*\(batches=...\)"):
        cw.pretrain(out=tmp_path, resume=True, steps=4, device="cpu")


def test_evaluation_by_a_function(tmp_path):
    seen = []

    def score(model):
        seen.append(model)
        logits = model.logits(batch(99)["x"], batch(99)["y"], 12).numpy()[:, 12:]
        return (logits.argmax(axis=2) == batch(99)["y"][:, 12:]).mean()

    done = train((batch(k) for k in range(100)), steps=60, learning_rate=1e-2, evaluate=score, evaluate_steps=30,
                 log_steps=20, layers=2, group=1, out=tmp_path)
    assert [line["step"] for line in done.log if "score" in line] == [30, 60]
    assert isinstance(seen[0], cw.models.TabularTransformer) and len(seen) == 2
    assert done.log[-1]["score"] == score(done.model)  # both have averaged weights
    logged = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert logged[-1]["score"] == done.log[-1]["score"]


def test_evaluation_on_a_table(tmp_path):
    rng = np.random.default_rng(0)
    table = tmp_path / "t.csv"
    table.write_text("a,b,target\n" + "".join(f"{a},{b},{int(a > 0)}\n" for a, b in rng.normal(size=(60, 2))))
    done = train(batches(3, features=2), evaluate=[str(table)])
    assert 0 <= done.log[-1]["score"] <= 1


def without(name):
    return {key: value for key, value in batch(0).items() if key != name}


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (without("y"), "batch 0: has no 'y'"),
        (batch(0) | {"z": 1}, "unknown key 'z'"),
        ((1, 2), r"expected a dict with x, y and n_context, or a tuple .*, got tuple"),
        (batch(0) | {"x": np.zeros((4, 20))}, r"expected x \(tables, rows, features\), got shape \(4, 20\)"),
        (batch(0) | {"y": np.zeros((4, 19))}, r"expected y of shape \(4, 20\) .* got \(4, 19\)"),
        (batch(0) | {"x": np.full((4, 20, 3), "a")}, "x: expected an array of numbers .*, got ndarray of <U1"),
        (batch(0) | {"y": batch(0)["y"] + 1}, r"y: expected labels 0 to 1, got 2 in row \d+ of table 0"),
        (batch(0) | {"y": batch(0)["y"] + 0.5}, "y: expected labels 0 to 1, got"),
        (batch(0) | {"y": batch(0)["y"] * np.nan}, "y: has a value that is not finite"),
        (batch(0) | {"n_context": 20}, "n_context: expected 1 to 19, got 20"),
        (batch(0) | {"n_context": 0}, "n_context: expected 1 to 19, got 0"),
        (batch(0) | {"n_context": 1.5}, "n_context: expected an integer"),
        (batch(0) | {"n_context": [1, 2]}, r"n_context: expected an integer, or one per table, got shape \(2,\)"),
        (batch(0) | {"n_classes": 3}, "the model has 2 classes, got 3; pass classes=3"),
        (batch(0) | {"n_rows": 21}, "n_rows: expected 2 to 20, got 21"),
    ],
)
def test_mistakes_in_a_batch(wrong, words):
    with pytest.raises(cw.InvalidArgument, match=words):
        train([wrong, batch(1)])
    if not isinstance(wrong, tuple) and wrong.keys() >= {"x", "y"} and np.ndim(wrong["x"]) == 3:
        with pytest.raises(cw.InvalidArgument, match=words.replace("batch 0", "batch 2")):
            train([batch(0), batch(1), wrong])


def test_mistakes_of_a_source():
    with pytest.raises(cw.InvalidArgument, match="ended after 3 batches, but step 4 needs one more; set steps"):
        train(iter(batches(3)))
    with pytest.raises(cw.InvalidArgument, match="ended after 0 batches"):
        train([])
    with pytest.raises(cw.InvalidArgument, match="batch 1: expected 4 tables as in the first batch, got 3"):
        train([batch(0), batch(1, tables=3)])
    with pytest.raises(TypeError, match="got batches=int; expected an iterable"):
        train(3)
    with pytest.raises(TypeError, match="both a prior and batches"):
        cw.pretrain("mlp", batches=batches(2))
    for name in ("rows", "batch"):
        with pytest.raises(TypeError, match=f"'{name}' is a setting of runs with a prior, but batches"):
            train(batches(2), **{name: 20})

    def broken():
        yield batch(0)
        raise KeyError("no such file")

    with pytest.raises(KeyError, match="no such file"):
        train(broken(), steps=5)
