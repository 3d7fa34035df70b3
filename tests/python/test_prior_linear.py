"""The linear family, and the shapes that recipes ask for: binary tasks, wide tables, mixes."""

import causeway as cw
import numpy as np
import pytest


def test_sums_without_noise_are_linear():
    linear_model = pytest.importorskip("sklearn.linear_model")
    prior = cw.Prior("linear", rows=300, features=(5, 40), regression=True, seed=3)
    exact, bent = [], []
    for k in range(60):
        model = prior.describe(k)
        if any(column["kind"] == "categories" for column in model["features"]):
            continue  # cut after the target was computed
        world = prior.without_noise(k)
        x, y = world.x.numpy().astype(float), world.counterfactual_y.numpy().astype(float)
        fit = linear_model.LinearRegression().fit(x, y)
        mechanism = model["nodes"][1]["mechanism"]
        (bent if "times" in mechanism else exact).append(fit.score(x, y))
    assert len(exact) > 15 and np.median(exact) > 0.999999  # outliers of some columns are clamped
    assert min(exact) > 0.95
    assert np.median(bent) > 0.9 and min(bent) < 0.999 and len(bent) > 15


def test_many_weak_effects():
    """Where all columns have an effect, no single one explains much of the target."""
    prior = cw.Prior("linear", rows=400, features=50, regression=True, seed=5)
    largest = []
    for k in range(40):
        if "100% of" not in prior.describe(k)["nodes"][1]["mechanism"]:
            continue
        x, y = (t.numpy() for t in prior.batch(1, first=k)[0])
        largest.append(np.abs([np.corrcoef(column, y)[0, 1] for column in x.T]).max())
    assert len(largest) > 10 and np.median(largest) < 0.7


def test_context_rows_are_about_as_many_as_columns():
    batch = cw.Prior("linear", rows=500, features=(20, 60), classes=(2, 3), seed=1).batch(300)
    ratio = batch.n_train / batch.n_features
    close = (ratio > 0.4) & (ratio < 4.5)
    assert 0.65 < close.mean() < 0.95
    assert batch.n_train.max() <= 450  # the upper end of train_share


def test_skewed_share():
    options = {"regression": True, "rows": 400, "features": (2, 8), "filter_predictable": False, "seed": 4}
    plain, half, whole = (cw.Prior("mlp", skewed_share=share, **options).batch(120) for share in (0, 0.5, 1))
    kept = sum(a == b for a, b in zip(plain.hashes(), half.hashes(), strict=True))
    assert 40 < kept < 80  # the other datasets stay as they are
    targets = [batch.y.numpy() for batch in (plain, whole)]
    skews = [np.abs((y**3).mean(axis=1)) for y in targets]
    distinct = [np.array([len(np.unique(row)) for row in y]) for y in targets]
    assert np.percentile(skews[0], 90) < 1.5 < np.median(skews[1])
    assert np.percentile(distinct[0], 5) > 200 and 0.4 < (distinct[1] < 150).mean() < 0.65
    assert np.abs(targets[1].mean(axis=1)).max() < 1e-3
    assert "skewed_share" not in cw.Prior("mlp", **options).config
    assert cw.Prior("mlp", skewed_share=0.5, **options).config["skewed_share"] == 0.5
    with pytest.raises(cw.InvalidArgument, match="skewed_share: expected 0 to 1"):
        cw.Prior("mlp", skewed_share=1.5, **options)


def test_binary_share():
    options = {"rows": 60, "features": (2, 5), "classes": (2, 10), "seed": 4}
    shares = [(cw.Prior("rules", binary_share=share, **options).batch(1000).n_classes == 2).mean()
              for share in (0.0, 0.45, 1.0)]
    assert abs(shares[0] - 1 / 9) < 0.04 and abs(shares[1] - (0.45 + 0.55 / 9)) < 0.06
    assert shares[2] == 1.0
    # The other datasets stay as they are.
    plain, half = (cw.Prior("rules", binary_share=share, **options).batch(40) for share in (0, 0.5))
    kept = [a == b for a, b in zip(plain.hashes(), half.hashes(), strict=True)]
    assert 10 < sum(kept) < 35
    assert "binary_share" not in cw.Prior("rules", **options).config
    assert cw.Prior("rules", binary_share=0.5, **options).config["binary_share"] == 0.5
    with pytest.raises(cw.InvalidArgument, match="binary_share: expected 0 to 1"):
        cw.Prior("rules", binary_share=1.5)


def test_all_families_in_one_batch():
    """Wide tables of every family, filters on; a dataset is the same as in a batch of its own."""
    names = ("simple", "mlp", "tree", "graph", "rules", "linear")
    prior = cw.Prior("mix", mix=dict.fromkeys(names, 1.0), rows=150, features=(1, 100),
                     classes=(2, 10), binary_share=0.5, seed=9)
    batch = prior.batch(60)
    assert {facts.family for facts in batch.facts} == set(names)
    assert batch.n_features.max() > 80
    for k in (3, 17, 41):
        assert prior.hash(k) == batch.hashes()[k]
    again = cw.Prior.from_json(prior.to_json(), seed=9)
    assert again.config == prior.config and again.batch(8).hashes() == batch.hashes()[:8]


def test_few_rows_and_many_classes():
    """There are as many classes as the context and query rows can have."""
    batch = cw.Prior("linear", rows=40, features=(1, 40), classes=10, seed=2).batch(60)
    assert max(facts.n_attempts for facts in batch.facts) < 50
    for facts, (_, y) in zip(batch.facts, batch, strict=True):
        n_least = min(facts.n_train, 40 - facts.n_train)
        assert 2 <= len(np.unique(y.numpy())) <= max(2, n_least // 4)
