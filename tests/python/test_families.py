"""Custom prior families in cw.pretrain: functions, kernels, mixtures."""

import doctest
import importlib
import json

import causeway as cw
import numpy as np
import pytest

SMALL = {
    "rows": 20, "features": (2, 4), "classes": (2, 3), "width": 16, "heads": 2, "hidden": 24, "layers": 1,
    "thinking": 2, "batch": 4, "warmup": 2, "log_steps": 1, "steps": 6, "seed": 5, "device": "cpu",
}  # fmt: skip


def bands(rng, rows, features, classes):
    x = rng.normal(size=(rows, features))
    return x, rng.integers(0, classes, rows) if classes else x[:, 0]


@cw.kernel
def stripes(seeds: cw.array(dtype=int), classes: cw.array(dtype=int), x: cw.array(dtype=float, ndim=3),
            y: cw.array(dtype=float, ndim=2)):  # fmt: skip
    k, i = cw.tid()
    state = cw.rand_init(seeds[k], i)
    for j in range(x.shape[2]):
        x[k, i, j] = cw.randn(state)
    y[k, i] = float(i % classes[k])


def losses(done):
    return [line["loss"] for line in done.log]


def train(prior, **options):
    return cw.pretrain(prior, **SMALL | options)


def test_examples():
    results = doctest.testmod(importlib.import_module("causeway.families"))
    assert results.attempted >= 3 and results.failed == 0


class Recorded:
    """A family whose requests are kept."""

    def __init__(self):
        self.datasets = {}
        self.family = cw.prior.family(self.make, name="recorded")

    def make(self, rng, rows, features, classes):
        x, y = bands(rng, rows, features, classes)
        self.datasets[x.tobytes()] = (rows, features, classes)
        return x, y


def test_sizes_are_those_of_the_settings():
    recorded = Recorded()
    done = train(recorded.family, rows=(10, 30))
    sizes = np.array(list(recorded.datasets.values()))
    assert sizes[:, 0].min() >= 10 and sizes[:, 0].max() <= 30 and len(set(sizes[:, 0])) > 4
    assert set(sizes[:, 1]) == {2, 3, 4} and set(sizes[:, 2]) == {2, 3}
    assert done.config["families"] == "recorded=1" and len(done.log) == 6


@pytest.mark.parametrize("prior", [bands, stripes])
def test_a_dataset_depends_on_seed_and_index_only(prior):
    family = cw.prior.family(prior)
    one = family.dataset(3, rows=8, features=2, classes=2, seed=7)
    x, y = family.generate(7, [1, 3], [2, 2], 8, 2, "cpu")
    np.testing.assert_array_equal(one[0], x.numpy()[1])
    np.testing.assert_array_equal(one[1], y.numpy()[1])
    for k, seed in ((4, 7), (3, 8)):
        assert (one[0] != family.dataset(k, rows=8, features=2, classes=2, seed=seed)[0]).any()
    assert losses(train(prior)) == losses(train(prior))
    assert losses(train(prior)) != losses(train(prior, seed=6))


def test_windows_hold_the_same_datasets():
    """Which datasets a run sees does not depend on how many are generated together."""
    seen = []
    for window_steps in (2, 6):
        recorded = Recorded()
        train(recorded.family, window_steps=window_steps, steps=12)
        seen.append(set(recorded.datasets))
    assert len(seen[0] & seen[1]) >= 48


def test_a_kernel_gives_the_tables():
    x, y = cw.prior.family(stripes).dataset(0, rows=2000, features=2, classes=3)
    assert abs(x.mean()) < 0.1 and abs(x.std() - 1) < 0.1
    np.testing.assert_array_equal(y, np.arange(2000) % 3)


def test_mixtures():
    """Shares are the weights over their sum; without own families the run is that of the built-in ones."""
    recorded = Recorded()
    done = train({recorded.family: 3, "mlp": 1}, steps=50, batch=8)
    assert done.config["families"] == "recorded=0.75" and done.config["prior"]["family"] == "mlp"
    n_datasets = 8 * 4 * 14  # windows of 4 steps; one is generated ahead
    assert 0.68 < len(recorded.datasets) / n_datasets < 0.82
    assert losses(train({"mlp": 2})) == losses(train("mlp"))
    mixed = train({"mlp": 1, "tree": 1, bands: 2}).config
    assert mixed["prior"]["mix"][1:3] == [1, 1] and mixed["families"] == "bands=0.5"


def test_the_model_learns_the_family():
    """Only the first column matters, which a model can learn from this family alone."""

    def sign(rng, rows, features, classes):
        x = rng.normal(size=(rows, features))
        return x, x[:, 0] > 0

    done = train(sign, rows=32, features=3, classes=2, steps=300, batch=8, learning_rate=1e-2, log_steps=10,
                 layers=2, group=1, thinking=0)
    assert losses(done)[-1] < 0.3 < 0.6 < losses(done)[0]


def test_regression():
    done = train(bands, classes=None, regression=True)
    assert done.model.config["classes"] == 0 and np.isfinite(losses(done)).all()


def test_resume(tmp_path):
    whole = train({bands: 1, "mlp": 1})
    train({bands: 1, "mlp": 1}, steps=3, out=tmp_path)
    stored = json.loads((tmp_path / "config.json").read_text())
    assert stored["families"] == "bands=0.5"
    with pytest.raises(cw.InvalidArgument, match=r"with the prior families bands=0.5; .*\(prior=...\)"):
        cw.pretrain(out=tmp_path, resume=True, steps=6, device="cpu")
    done = cw.pretrain({bands: 1, "mlp": 1}, out=tmp_path, resume=True, steps=6, device="cpu")
    assert losses(done) == losses(whole)[3:]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda rng, n, f, c: np.zeros((n, f)), r"wrong, dataset \d+: expected a tuple \(x, y\), got ndarray"),
        (lambda rng, n, f, c: (np.zeros((n, f + 1)), np.zeros(n)), r"expected x of shape \(20, \d\), got"),
        (lambda rng, n, f, c: (np.zeros((n, f)), np.zeros((n, 1))), r"expected y of shape \(20,\), got"),
        (lambda rng, n, f, c: (np.full((n, f), "a"), np.zeros(n)), r"expected x of shape .*, got <U1"),
        (lambda rng, n, f, c: (np.zeros((n, f)), np.full(n, c)), r"expected labels 0 to \d, got \d"),
        (lambda rng, n, f, c: (np.zeros((n, f)), np.full(n, np.nan)), "y has a value that is not finite"),
    ],
)
def test_mistakes_of_a_function(make, words):
    with pytest.raises(cw.InvalidArgument, match=words):
        train(cw.prior.family(make, name="wrong"))


def test_mistakes():
    with pytest.raises(ZeroDivisionError):
        train(cw.prior.family(lambda *sizes: 1 / 0, name="broken"))
    with pytest.raises(cw.InvalidArgument, match="name '<lambda>': expected an identifier"):
        train(lambda rng, n, f, c: None)
    for weight in (0, -1, "a", float("nan")):
        with pytest.raises(cw.InvalidArgument, match="expected a number above 0"):
            train({bands: weight})
    with pytest.raises(cw.InvalidArgument, match="at least one family"):
        train({})
    with pytest.raises(cw.InvalidArgument, match="two families are called 'bands'"):
        train({bands: 1, cw.prior.family(stripes, name="bands"): 1})
    with pytest.raises(cw.InvalidArgument, match="family: expected .* got \"mlq\""):
        train({"mlq": 1, bands: 1})
    with pytest.raises(TypeError, match="expected a function or a @cw.kernel"):
        train(7)
