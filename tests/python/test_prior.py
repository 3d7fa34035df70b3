"""Priors in Python: batches, properties of datasets, filters, the object."""

import doctest
import pickle

import causeway as cw
import causeway.prior
import numpy as np
import pytest
from causeway._testing import prior_parts as parts
from prior_oracle import same, tensor

FAMILIES = ["simple", "mlp", "tree", "graph", "rules", "linear"]
SMALL = {"rows": 100, "features": (1, 8), "classes": (2, 4)}


def arrays(batch):
    return [(x.numpy(), y.numpy()) for x, y in batch]


def test_examples():
    results = doctest.testmod(causeway.prior)
    assert results.attempted >= 8 and results.failed == 0


# --- the same datasets however they are made ----------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, "mix"])
def test_datasets_do_not_depend_on_the_batch(family, device):
    options = {**SMALL, "rows": "log 60:150", "seed": 5}
    whole = cw.Prior(family, **options, device=device).batch(12)
    expected = arrays(whole)
    prior = cw.Prior(family, **options, device=device)
    pieces = [dataset for count in (1, 4, 2, 5) for dataset in arrays(prior.batch(count))]
    same(pieces, expected)
    same(arrays(prior.batch(3, first=7)), expected[7:10])
    assert prior.position == 10
    packed = cw.Prior(family, **options, device=device).batch(12, layout="packed")
    same(arrays(packed), expected)
    assert packed.hashes() == whole.hashes()
    assert [facts.n_attempts for facts in packed.facts] == [f.n_attempts for f in whole.facts]
    assert prior.hash(3) == whole.hashes()[3]
    assert prior.hash([0, 1]) != prior.hash([1, 0])


@pytest.mark.parametrize("family", FAMILIES)
def test_datasets_do_not_depend_on_threads(family):
    threads = cw.threads()
    try:
        hashes = []
        for count in (1, 2, 3):
            cw.set_threads(count)
            hashes.append(cw.Prior(family, **SMALL, seed=6).batch(7).hashes())
    finally:
        cw.set_threads(threads)
    assert hashes[0] == hashes[1] == hashes[2]


def test_datasets_do_not_depend_on_the_device(cuda):
    for family in FAMILIES:
        ours = cw.Prior(family, **SMALL, seed=6).batch(7)
        theirs = cw.Prior(family, **SMALL, seed=6, device=cuda).batch(7)
        assert ours.hashes() == theirs.hashes()
        same(arrays(theirs.to("cpu")), arrays(ours))


def test_seeds_and_indices_differ():
    hashes = [value for seed in range(4)
              for value in cw.Prior("simple", **SMALL, seed=seed).batch(50).hashes()]
    assert len(set(hashes)) == 200
    far = cw.Prior("simple", **SMALL, seed=2**64 - 1).batch(2, first=2**63)
    assert [facts.index for facts in far.facts] == [2**63, 2**63 + 1]


# --- batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", ["padded", "packed"])
def test_batches(layout, device):
    prior = cw.Prior("mlp", rows=(20, 60), features=(1, 9), classes=(2, 3), device=device, seed=1)
    batch = prior.batch(20, layout=layout)
    assert len(batch) == 20 and batch.layout == layout and batch.x.device == device
    assert batch.x.dtype == cw.f32 and batch.y.dtype == cw.f32
    for k, (x, y) in enumerate(batch):
        facts = batch.facts[k]
        assert facts.index == k and facts.family == "mlp"
        assert x.shape == (facts.n_rows, facts.n_features) and y.shape == (facts.n_rows,)
        assert (batch.n_rows[k], batch.n_features[k], batch.n_classes[k], batch.n_train[k]) == (
            facts.n_rows, facts.n_features, facts.n_classes, facts.n_train)
        assert 0 < facts.n_train < facts.n_rows
        assert sum(facts.rejected.values()) == facts.n_attempts - 1
        labels = y.numpy()
        assert set(labels) <= set(range(facts.n_classes))
        assert set(labels[: facts.n_train]) == set(labels[facts.n_train :])
        np.testing.assert_array_equal(batch[k - 20][0].numpy(), x.numpy())
    if layout == "padded":
        assert batch.x.shape == (20, 60, 9) and batch.y.shape == (20, 60)
        for k, (values, targets) in enumerate(zip(batch.x.numpy(), batch.y.numpy(), strict=True)):
            assert (values[batch.n_rows[k] :] == 0).all() and (targets[batch.n_rows[k] :] == 0).all()
            assert (values[:, batch.n_features[k] :] == 0).all()
    else:
        assert batch.x.ndim == 1 and len(batch.offsets) == 20
    assert "20" in repr(batch) or "19" in repr(batch)
    with pytest.raises(IndexError):
        batch[20]


def test_columns_are_tidy():
    n_whole, n_columns = 0, 0
    for family in ("mlp", "tree", "graph", "rules", "linear"):
        for x, _ in cw.Prior(family, **SMALL, seed=3).batch(20):
            x = x.numpy().astype(float)
            assert np.abs(x).max() <= 100
            deviations = x.std(0, ddof=1)
            assert (deviations > 0).all() and (deviations < 1.01).all()
            # Columns that differ in their last bits only stay small: 1e-6 is the least deviation.
            whole = np.abs(deviations - 1) < 1e-4
            np.testing.assert_allclose(x[:, whole].mean(0), 0, atol=0.1)
            n_whole += whole.sum()
            n_columns += len(whole)
    assert n_whole > 0.95 * n_columns


def test_memory_is_shared(device):
    batch = cw.Prior("simple", rows=8, features=3, classes=2, device=device).batch(4)
    x, _ = batch[2]
    x.fill_(7.0) if hasattr(x, "fill_") else x.__setitem__(slice(None), 7.0)
    assert (batch.x.numpy()[2] == 7).all() and not (batch.x.numpy()[1] == 7).any()


def test_zero_datasets():
    batch = cw.Prior("simple", **SMALL).batch(0)
    assert len(batch) == 0 and batch.facts == [] and batch.x.shape == (0, 100, 8)


def test_regression_targets():
    for family in FAMILIES:
        batch = cw.Prior(family, rows=200, features=(2, 6), regression=True, seed=2).batch(6)
        assert (batch.n_classes == 0).all()
        for _, y in batch:
            assert len(np.unique(y.numpy())) > 2
            if family != "simple":
                np.testing.assert_allclose(y.numpy().astype(float).mean(), 0, atol=1e-3)


@pytest.mark.parametrize("family", ["simple", "mlp", "tree", "linear"])
def test_balanced_classes(family):
    batch = cw.Prior(family, rows=300, features=4, classes=3, balanced=True, seed=4).batch(12)
    for k, (_, y) in enumerate(batch):
        counts = np.bincount(y.numpy().astype(int), minlength=3)
        if family == "linear":  # has two classes if there are few context rows
            counts = counts[counts > 0]
        if family != "tree":  # whose targets take few values
            assert counts.max() - counts.min() <= 1, k


def test_sizes_at_the_edge():
    for family in FAMILIES:
        for options in (
            {"rows": 2, "features": 1, "regression": True, "filter_predictable": False},
            {"rows": 3, "features": 1, "classes": 2, "filter_classes": False,
             "filter_predictable": False},
            {"rows": 5, "features": 2, "classes": 5, "filter_classes": False,
             "filter_predictable": False},
            {"rows": 31, "features": 1, "classes": 2},
            {"rows": 33, "features": 40, "classes": 2},
            {"rows": 40, "features": 256, "classes": (2, 3), "filter_predictable": False},
        ):
            for x, y in cw.Prior(family, **options, seed=1).batch(3):
                assert x.shape[0] == options["rows"] and 1 <= x.shape[1] <= options["features"]
                assert np.isfinite(x.numpy()).all() and np.isfinite(y.numpy()).all()


def test_many_categories():
    """High cardinality occurs, unless the reference's limit is asked for."""
    most = {}
    for few in (False, True):
        prior = cw.Prior("graph", rows=400, features=12, classes=2, reference_categories=few,
                         filter_predictable=False, seed=1)
        most[few] = max(column["n_categories"] for k in range(25)
                        for column in prior.describe(k)["features"])
    assert most[True] <= 9 < 40 < most[False]


# --- missing values -----------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_missing_values(family):
    options = {"rows": 200, "features": (2, 6), "classes": 2, "seed": 3}
    full, holed = (cw.Prior(family, missing_share=share, **options).batch(10)
                   for share in (0.0, (0.1, 0.4)))
    for (x, y), (z, v) in zip(arrays(full), arrays(holed), strict=True):
        np.testing.assert_array_equal(y, v)
        gone = np.isnan(z)
        assert 0.02 < gone.mean() < 0.6
        np.testing.assert_array_equal(x[~gone], z[~gone])


# --- what comes with a dataset ------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_descriptions(family):
    prior = cw.Prior(family, **SMALL, seed=9)
    batch = prior.batch(25)
    for k, facts in enumerate(batch.facts):
        model = prior.describe(k)
        assert (model["index"], model["n_features"], model["n_attempts"]) == (
            k, facts.n_features, facts.n_attempts)
        ids = [node["id"] for node in model["nodes"]]
        assert len(set(ids)) == len(ids)
        assert len(model["features"]) == facts.n_features
        for column in (*model["features"], model["target"]):
            assert column["node"] in ids
        for parent, child in model["edges"]:  # evaluated in order: acyclic
            assert ids.index(parent) < ids.index(child)
        assert all(node["mechanism"] and node["width"] >= 1 for node in model["nodes"])
        assert model["target"]["n_categories"] == (facts.n_classes if family != "simple" else
                                                   model["target"]["n_categories"])


def test_descriptions_say_how_columns_were_scaled():
    prior = cw.Prior("graph", rows=300, features=10, classes=2, seed=4)
    checked = 0
    for k in range(10):
        x = prior.batch(1, first=k)[0][0].numpy().astype(float)
        for f, column in enumerate(prior.describe(k)["features"]):
            if column["n_categories"] > 0:
                inner = (x[:, f] > x[:, f].min()) & (x[:, f] < x[:, f].max())  # the rest: clamped
                raw = x[inner, f] * column["deviation"] + column["mean"]
                np.testing.assert_allclose(raw, np.round(raw), atol=2e-3)
                checked += 1
    assert checked > 10


# --- filters ------------------------------------------------------------------------------------


def reference_rule(x, y, n_classes):
    """The reference's filter: extremely randomised trees of scikit-learn, judged out of bag."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    target = np.eye(n_classes)[y.astype(int)] if n_classes else y[:, None]
    model = ensemble.ExtraTreesRegressor(
        n_estimators=25, bootstrap=True, oob_score=True, max_depth=6, random_state=1)
    model.fit(x, target if target.shape[1] > 1 else target[:, 0])
    said = model.oob_prediction_.reshape(target.shape)
    gain = ((target - target.mean(0)) ** 2).sum(1) - ((target - said) ** 2).sum(1)
    rows = np.random.default_rng(0).integers(0, len(gain), (200, len(gain)))
    return (gain[rows].mean(1) <= 0).mean() < 0.05


def test_forests_agree_with_the_reference():
    prior = cw.Prior("graph", rows=256, features=(1, 20), classes=(2, 6), filter_predictable=False,
                     seed=31)
    agree = []
    for facts, (x, y) in zip((batch := prior.batch(100)).facts, batch, strict=True):
        ours = parts.forest(tensor(x.numpy()), tensor(y.numpy()), facts.n_classes, facts.index)
        agree.append(ours["predictable"] == reference_rule(x.numpy(), y.numpy(), facts.n_classes))
    assert np.mean(agree) >= 0.9, np.mean(agree)


def test_accepted_datasets_can_be_learnt():
    """Cross-validated, scikit-learn's forest knows more than the classes' shares."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    selection = pytest.importorskip("sklearn.model_selection")
    prior = cw.Prior("graph", rows=256, features=(2, 12), classes=(2, 4), seed=41)
    better = []
    for x, y in prior.batch(20):
        x, y = x.numpy(), y.numpy().astype(int)
        _, y, counts = np.unique(y, return_inverse=True, return_counts=True)
        if counts.min() < 5:
            continue
        model = ensemble.RandomForestClassifier(25, min_samples_leaf=3, random_state=0)
        said = selection.cross_val_predict(
            model, x, y, cv=selection.StratifiedKFold(3, shuffle=True, random_state=0),
            method="predict_proba")
        truth = np.eye(len(counts))[y]
        better.append(((truth - said) ** 2).sum(1).mean()
                      < ((truth - counts / len(y)) ** 2).sum(1).mean())
    assert len(better) >= 12 and np.mean(better) >= 0.9, better


def test_filters_count_what_they_reject():
    batch = cw.Prior("graph", rows=200, features=(1, 10), classes=(2, 8), seed=7).batch(40)
    rejected = {}
    for facts in batch.facts:
        for reason, count in facts.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + count
    assert rejected["unpredictable"] > 3 and rejected["classes of the split"] > 0
    open_to_all = cw.Prior("graph", rows=200, features=(1, 10), classes=(2, 8), seed=7,
                           filter_classes=False, filter_predictable=False).batch(40)
    for facts in open_to_all.facts:
        assert facts.rejected["unpredictable"] == facts.rejected["classes of the split"] == 0


def test_trivial_datasets_may_be_filtered():
    options = {"rows": 200, "features": (1, 6), "classes": 2, "seed": 7}
    plain, hard = (cw.Prior("graph", filter_trivial=f, **options).batch(30) for f in (False, True))
    assert sum(facts.rejected["trivial"] for facts in plain.facts) == 0
    removed = sum(facts.rejected["trivial"] for facts in hard.facts)
    for facts, (x, y) in zip(hard.facts, hard, strict=True):
        score = parts.forest(tensor(x.numpy()), tensor(y.numpy()), facts.n_classes, 1)
        assert score["squared_error"] > 0.02**2 * score["squared_error_of_mean"]
    assert removed >= 0


def test_constant_columns_are_dropped():
    options = {"rows": 60, "features": 12, "classes": 2, "filter_predictable": False, "seed": 2}
    kept = cw.Prior("graph", **options).batch(40)
    assert all((np.ptp(x.numpy(), axis=0) > 0).all() for x, _ in kept)
    everything = cw.Prior("graph", filter_constant=False, **options).batch(40)
    assert (everything.n_features == 12).all()
    assert any((np.ptp(x.numpy(), axis=0) == 0).any() for x, _ in everything)


# --- the object ---------------------------------------------------------------------------------


def test_pickling():
    for prior in (cw.Prior("graph", rows="log 50:90", features=3, classes=2, seed=2**64 - 1),
                  cw.Prior("mix", mix=(1, 2, 3, 0), regression=True, rows=30, features=(1, 3))):
        prior.batch(3)
        again = pickle.loads(pickle.dumps(prior))
        assert again.config == prior.config and again.seed == prior.seed
        assert again.position == prior.position == 3
        assert again.batch(2).hashes() == prior.batch(2).hashes()


def test_configurations():
    prior = cw.Prior("mlp", rows=(10, 20), features="log 1:8", classes=2, train_share=0.5, seed=4,
                     missing_share=(0.1, 0.2), nodes=(3, 9), max_categories=30)
    config = prior.config
    assert config["rows"] == "10:20" and config["features"] == "log 1:8" and config["classes"] == "2"
    assert config["train_share"] == [0.5, 0.5] and config["nodes"] == [3, 9]
    again = cw.Prior.from_json(prior.to_json(), seed=4)
    assert again.config == config and again.batch(2).hashes() == prior.batch(2).hashes()
    assert repr(prior) == "Prior('mlp', rows='10:20', features='log 1:8', classes='2', seed=4, device='cpu')"
    assert "regression=True" in repr(cw.Prior("tree", regression=True))


@pytest.mark.parametrize("options, message", [
    ({"family": "nope"}, "family: expected simple, mlp, tree, graph, rules, linear, mix"),
    ({"rows": 1}, "rows 1"),
    ({"rows": (20, 10)}, "lower bound first"),
    ({"rows": 0.5}, "an integer"),
    ({"rows": (1, 2, 3)}, "an integer"),
    ({"features": 0}, "features 0"),
    ({"features": "1:x"}, "features"),
    ({"features": 10**6}, "features"),
    ({"classes": 1}, "classes 1"),
    ({"rows": 8, "classes": 9}, "exceeds the 8 rows"),
    ({"train_share": (0.9, 0.3)}, "train fraction"),
    ({"train_share": "much"}, "train_share"),
    ({"missing_share": 0.95}, "missing_share: expected 0 to 0.5"),
    ({"nodes": (1, 4)}, "nodes"),
    ({"max_categories": 1}, "max_categories"),
    ({"family": "mix", "mix": (0, 0, 0, 0)}, "mix"),
    ({"family": "mix", "mix": {"forest": 1}}, "forest"),
    ({"family": "mix", "mix": (1,) * 9}, "mix: expected non-negative weights of simple"),
    ({"family": "mix", "mix": "rules=1,2"}, "family=weight"),
    ({"seed": -1}, "seed: expected an integer of 0 or more"),
    ({"device": "tpu"}, "tpu"),
])
def test_bad_requests(options, message):
    with pytest.raises(cw.InvalidArgument, match=message) as caught:
        cw.Prior(**options)
    assert isinstance(caught.value, ValueError) and "\n" not in str(caught.value)


def test_unknown_options():
    with pytest.raises(TypeError, match="unexpected keyword argument 'row'; did you mean 'rows'"):
        cw.Prior(row=3)


def test_bad_calls():
    prior = cw.Prior("simple", **SMALL)
    for call in (lambda: prior.batch(-1), lambda: prior.batch(2, first=-3), lambda: prior.hash(-1),
                 lambda: prior.batch(2, layout="tight"), lambda: prior.describe(-1),
                 lambda: prior.intervene(0, 99, 0.0), lambda: prior.intervene(0, -1, 0.0)):
        with pytest.raises(cw.InvalidArgument):
            call()
    assert prior.position == 0


def test_unsatisfiable_requests():
    prior = cw.Prior("simple", rows=2, features=1, classes=2, train_share=0.5, seed=1)
    with pytest.raises(cw.InvalidArgument, match="all 1000 attempts were rejected.*classes of the split"):
        prior.batch(1).facts  # noqa: B018
