"""What the estimators offer beyond predictions of classes and means: distributions, weights, ensembles, many
classes, wide tables. With the packaged weights where quality counts, else with random weights."""

import pickle
import re

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

import causeway as cw  # noqa: E402


def classifier(**settings):
    return cw.TabularClassifier(device="cpu", **settings)


def regressor(**settings):
    return cw.TabularRegressor(device="cpu", **settings)


def numbers(n, seed=0):
    """A target whose noise grows with the first column."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, 10 * (x[:, 0] + x[:, 1] ** 2) + rng.normal(size=n) * (1 + 4 * (x[:, 0] > 0)) + 100


@pytest.fixture(scope="module")
def fitted():
    x, y = numbers(700)
    return regressor(n_estimators=2).fit(x[:300], y[:300]), x[300:], y[300:]


def test_regression_outputs(fitted):
    model, x, y = fitted
    mean, median, mode = (model.predict(x, output=name) for name in ("mean", "median", "mode"))
    np.testing.assert_array_equal(mean, model.predict(x))
    assert mean.shape == median.shape == mode.shape == y.shape
    for predicted in (mean, median, mode):
        assert np.corrcoef(predicted, y)[0, 1] > 0.9
    assert np.mean(np.abs(median - y)) < np.mean(np.abs(mode - y)) * 1.1
    low, middle, high = model.predict(x, output="quantiles", quantiles=[0.1, 0.5, 0.9]).T
    assert (low < middle).all() and (middle < high).all()
    np.testing.assert_array_equal(middle, median)
    assert model.predict(x, output="quantiles").shape == (400, 3)
    np.testing.assert_array_equal(model.predict(x, output="quantiles", quantiles=0.5), middle)
    with pytest.raises(ValueError, match="quantiles='middle': expected a number from 0 to 1, or a list"):
        model.predict(x, output="quantiles", quantiles="middle")
    with pytest.raises(ValueError, match="expected \"mean\""):
        model.predict(x, output="variance")
    with pytest.raises(ValueError, match="are for output"):
        model.predict(x, quantiles=[0.5])
    with pytest.raises(cw.Error, match="from 0 to 1"):
        model.predict(x, output="quantiles", quantiles=[5])


def test_the_distribution_is_whole(fitted):
    model, x, _ = fitted
    edges, probabilities = model.predict_distribution(x)
    assert (np.diff(edges) > 0).all() and probabilities.shape == (400, len(edges) - 1)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-9)
    median = model.predict(x, output="median")
    for row in range(0, 400, 50):
        cumulative = np.concatenate([[0], np.cumsum(probabilities[row])])
        assert np.interp(median[row], edges, cumulative) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_intervals_cover(fitted, coverage):
    model, x, y = fitted
    low, high = model.predict_interval(x, coverage=coverage).T
    assert np.mean((low <= y) & (y <= high)) == pytest.approx(coverage, abs=0.07)
    noisy = x[:, 0] > 0
    assert np.mean((high - low)[noisy]) > 1.5 * np.mean((high - low)[~noisy])


def rare(n, seed=0):
    """Overlapping classes, a tenth of the rows positive."""
    rng = np.random.default_rng(seed)
    y = (np.arange(n) % 10 == 0).astype(int)
    return rng.normal(size=(n, 3)) + 1.2 * y[:, None], y


def test_balanced_probabilities():
    from sklearn.metrics import balanced_accuracy_score

    x, y = rare(800)
    scores, shares = {}, {}
    for weight in (None, "balanced", {0: 1.0, 1: 9.0}):
        model = classifier(n_estimators=1, class_weight=weight).fit(x[:400], y[:400])
        scores[str(weight)] = balanced_accuracy_score(y[400:], model.predict(x[400:]))
        shares[str(weight)] = model.predict_proba(x[400:])
    assert scores["balanced"] > scores["None"] + 0.05
    plain = shares["None"] * [1, 9]
    np.testing.assert_allclose(shares["balanced"], plain / plain.sum(axis=1, keepdims=True), atol=1e-9)
    np.testing.assert_allclose(shares["{0: 1.0, 1: 9.0}"], shares["balanced"], atol=1e-9)
    with pytest.raises(ValueError, match="classes that y lacks: \\['7'\\]"):
        classifier(class_weight={7: 2}).fit(x, y)
    with pytest.raises(ValueError, match="expected a dict"):
        classifier(class_weight="even").fit(x, y)


def test_sample_weight_of_numbers():
    """Means move towards the weighted mean, here from 0.5 to 0.75; what x determines stays right."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4))
    known, random = (x[:, 0] > 0).astype(float), (rng.random(300) < 0.5).astype(float)
    for y, weight in ((known, 10), (random, 3)):
        model = regressor(n_estimators=4).fit(x[:200], y[:200], sample_weight=np.where(y[:200] > 0, weight, 1))
        predicted = model.predict(x[200:])
        if y is known:
            assert 1 - np.mean((predicted - y[200:]) ** 2) / y[200:].var() > 0.9
        else:
            assert 0.57 < predicted.mean() < 0.8


def test_sample_weight_shifts_predictions():
    """Two halves of the rows disagree; the weights decide which one counts."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 2))
    y = (x[:, 0] > 0) ^ (np.arange(300) % 2 == 1)
    query = rng.normal(size=(200, 2))
    for heavy in (0, 1):
        weight = np.where(np.arange(300) % 2 == heavy, 20.0, 1.0)
        model = classifier(n_estimators=2).fit(x, y, sample_weight=weight)
        agreement = np.mean(model.predict(query) == ((query[:, 0] > 0) ^ (heavy == 1)))
        assert agreement > 0.9
        again = classifier(n_estimators=2).fit(x, y, sample_weight=weight)
        np.testing.assert_array_equal(again.predict_proba(query), model.predict_proba(query))


def bumps(n, seed=0):
    """Curves of very different levels; the class is whether a small bump points up or down."""
    rng = np.random.default_rng(seed)
    at, centre = np.linspace(0, 1, 30), rng.uniform(0.2, 0.8, (n, 1))
    level, sign = np.exp(2 * rng.normal(size=(n, 1)) + 5), rng.choice([-1, 1], (n, 1))
    return level * (1 + 0.1 * sign * np.exp(-(((at - centre) / 0.05) ** 2))), sign[:, 0] > 0


def test_components_show_differences_of_correlated_columns():
    from sklearn.metrics import roc_auc_score

    x, y = bumps(400)
    scores = {}
    for transforms in (("none",), cw.TabularClassifier().transforms):
        model = classifier(transforms=transforms).fit(x[:200], y[:200])
        scores[transforms] = roc_auc_score(y[200:], model.predict_proba(x[200:])[:, 1])
    assert scores["none",] < 0.7
    assert scores["none", "power", "power", "components"] > 0.9


def test_components_of_categories_are_kept(tmp_path):
    import pickle

    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(list("uvw"), 90), "c": rng.choice([True, False], 90)})
    frame.loc[3, "b"] = None
    y = (frame["b"] == "u") ^ frame["c"]
    model = classifier(transforms=("components",)).fit(frame, y)
    positions, levels, *_ = model._estimator.members()[0][4]
    assert positions == [0, 1, 1, 1, 2]  # categories are one-hot encoded, booleans are numbers
    assert sorted(levels[1:4]) == [0, 1, 2] and np.isnan([levels[0], levels[4]]).all()
    want = model.predict_proba(frame)
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularClassifier.load(tmp_path / "model.safetensors", device="cpu")
    assert loaded.transforms == ("components",)
    for same in (loaded, pickle.loads(pickle.dumps(model)), sklearn.base.clone(model).fit(frame, y)):
        np.testing.assert_array_equal(same.predict_proba(frame), want)
    assert len(model.importance(frame).values) == 3


def test_parameters_that_are_not_what_they_look_like():
    x, y = rare(60)
    one = classifier(transforms="power").fit(x, y).predict_proba(x)
    np.testing.assert_array_equal(one, classifier(transforms=("power",)).fit(x, y).predict_proba(x))
    for name, value, expected in [("n_estimators", 2.5, "an integer"), ("max_rows", 1e4, "an integer"),
                                  ("transforms", None, "names, such as"), ("transforms", [1], "names, such as")]:
        with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}: expected {expected}")):
            classifier(**{name: value}).fit(x, y)
    number = cw.TabularRegressor(device="cpu", target_transforms="none", n_estimators=1).fit(x, y * 1.0)
    assert number.predict(x).shape == y.shape


# Numbers that are equal as f32 next to 1e10, or far from 0.
@pytest.mark.parametrize("change", [
    lambda x: np.where(np.arange(len(x)) % 20 == 0, 1e10, x), lambda x: np.where(np.arange(len(x)) % 20 == 0, -1e300, x),
    lambda x: x + 1e13, lambda x: x * 1e-310], ids=["1e10", "-1e300", "far", "denormal"])
def test_columns_that_f32_cannot_hold(change, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = (x[:, 0] > 0).astype(int)
    x[:, 0] = change(x[:, 0])
    model = classifier(n_estimators=2).fit(x[:200], y[:200])
    want = model.predict_proba(x[200:])
    assert np.mean(want.argmax(axis=1) == y[200:]) > 0.93
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularClassifier.load(tmp_path / "model.safetensors", device="cpu")
    for same in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(same.predict_proba(x[200:]), want)


# Products with bf16 operands have one order of sums; those of f32 are the BLAS library's.
def test_which_rows_are_predicted_together_does_not_matter():
    x, y = rare(160)
    models = {name: classifier(precision=name).fit(x[:60], y[:60]) for name in ("auto", "f32")}
    whole = {name: model.predict_proba(x[60:]) for name, model in models.items()}
    rounds = not np.array_equal(whole["auto"], whole["f32"])  # the CPU has bf16 instructions
    for name, model in models.items():
        for n in (1, 3, 50):
            pieces = np.concatenate([model.predict_proba(x[i : i + n]) for i in range(60, 160, n)])
            np.testing.assert_allclose(pieces, whole[name], rtol=0, atol=0 if rounds and name == "auto" else 2e-6)


def test_transforms_and_averages():
    from sklearn.metrics import roc_auc_score

    x, y = rare(400)
    x = np.exp(2 * x)
    results = {}
    for transforms in (("none",), ("power",), ("quantile",), ("components",), ("none", "power", "quantile")):
        for average in ("probabilities", "logits"):
            model = classifier(n_estimators=3, transforms=transforms, average=average)
            shares = model.fit(x[:200], y[:200]).predict_proba(x[200:])
            np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
            assert roc_auc_score(y[200:], shares[:, 1]) > 0.8, (transforms, average)
            results[transforms, average] = shares[0, 0]
    assert len(set(results.values())) == len(results)
    with pytest.raises(cw.Error, match="expected none, power, quantile or components"):
        classifier(transforms=["log"]).fit(x, y)
    with pytest.raises(cw.Error, match="expected probabilities or logits"):
        classifier(average="votes").fit(x, y)
    with pytest.raises(ValueError, match="calibrated"):
        classifier(temperature=-1).fit(x, y)


def test_precision():
    x, y = rare(300)
    models = [classifier(precision=precision).fit(x[:200], y[:200]) for precision in ("auto", "f32")]
    rounded, precise = (model.predict_proba(x[200:]) for model in models)
    np.testing.assert_allclose(rounded, precise, atol=0.02)
    np.testing.assert_array_equal(classifier().fit(x[:200], y[:200]).predict_proba(x[200:]), rounded)
    # Query rows one by one, in another order.
    alone = [models[0].predict_proba(x[row : row + 1])[0] for row in range(299, 279, -1)]
    np.testing.assert_allclose(alone, rounded[:-21:-1], atol=1e-6)
    with pytest.raises(cw.Error, match="expected auto or f32"):
        classifier(precision="bf16").fit(x, y)


def test_weight_of_the_linear_fit_is_kept(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 4))
    model = cw.TabularRegressor(device="cpu").fit(x, 2 * x[:, 0] + x[:, 1] + 5 * rng.standard_normal(200))
    assert len(model._estimator.state()[-2]) == 5
    want = model.predict(x[:20])
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularRegressor.load(tmp_path / "model.safetensors", device="cpu")
    np.testing.assert_array_equal(loaded.predict(x[:20]), want)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x[:20]), want)


def test_fitted_member_weights():
    # Without a power, such heavy tails hide most rows.
    rng = np.random.default_rng(5)
    z = rng.normal(size=(400, 3))
    x, y = np.exp(4 * z), z.sum(axis=1)
    scores = {}
    for weights in ("equal", "fitted", "auto"):
        model = cw.TabularRegressor(member_weights=weights, target_transforms=("none", "power"), device="cpu")
        model.fit(x[:250], y[:250])
        scores[weights] = model.score(x[250:], y[250:])
    assert scores["fitted"] > scores["equal"] + 0.02
    assert scores["auto"] == scores["fitted"]
    with pytest.raises(cw.Error, match="expected auto, equal or fitted"):
        classifier(member_weights="votes").fit(x, y > 0)


def test_target_transforms(tmp_path):
    # A product of factors and noise: its logarithm is a sum.
    rng = np.random.default_rng(6)
    x = rng.normal(size=(500, 4))
    y = np.exp(x[:, 0] + 0.5 * x[:, 1] + 0.3 * rng.normal(size=500))
    scores = {}
    for transforms in (["none"], ["power"], ("none", "power"), ["residual"], ("power", "residual")):
        model = cw.TabularRegressor(target_transforms=transforms, device="cpu").fit(x[:250], y[:250])
        edges, shares = model.predict_distribution(x[250:])
        assert np.all(np.diff(edges) > 0) and shares.shape == (250, len(edges) - 1)
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
        low, high = model.predict_interval(x[250:], 0.8).T
        assert 0.68 < np.mean((low <= y[250:]) & (y[250:] <= high)) < 0.9, transforms
        scores[tuple(transforms)] = model.score(x[250:], y[250:])
    assert scores["power",] > scores["none",] and scores["none", "power"] > scores["none",]
    assert scores["power", "residual"] > scores["residual",]
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularRegressor.load(tmp_path / "model.safetensors", device="cpu")
    assert loaded.target_transforms == ("power", "residual")
    np.testing.assert_array_equal(loaded.predict(x[250:]), model.predict(x[250:]))
    with pytest.raises(cw.Error, match="expected none, power or residual"):
        cw.TabularRegressor(target_transforms=["quantile"]).fit(x, y)
    with pytest.raises(TypeError, match="target_transforms"):
        cw.TabularClassifier(target_transforms=["none"])


def test_residuals_of_a_linear_target(tmp_path):
    # Steep in one direction, bent in another: a model that reads residuals sees the bend alone.
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 12))
    y = 40 * x @ np.linspace(-1, 1, 12) + 10 * np.sin(3 * x[:, 5]) + rng.normal(size=600)
    scores = {}
    for transforms in (["none"], ["residual"], ("none", "residual")):
        model = cw.TabularRegressor(target_transforms=transforms, device="cpu").fit(x[:300], y[:300])
        scores[tuple(transforms)] = model.score(x[300:], y[300:])
        edges, shares = model.predict_distribution(100 * x[300:])
        far = model.predict(100 * x[300:])
        assert edges[0] <= far.min() and far.max() <= edges[-1]
        np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    assert 1 - scores["residual",] < 0.7 * (1 - scores["none",])
    assert 1 - scores["none", "residual"] < 0.8 * (1 - scores["none",])
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularRegressor.load(tmp_path / "model.safetensors", device="cpu")
    np.testing.assert_array_equal(loaded.predict(x[300:]), model.predict(x[300:]))
    unpickled = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(unpickled.predict(x[300:]), model.predict(x[300:]))


def test_calibration_lowers_the_log_loss():
    from sklearn.metrics import log_loss

    x, y = rare(600)
    y = np.where(np.random.default_rng(2).random(600) < 0.3, 1 - y, y)
    sharp = classifier(n_estimators=1, temperature=0.2).fit(x[:400], y[:400])
    calibrated = classifier(n_estimators=1, temperature="calibrated").fit(x[:400], y[:400])
    losses = [log_loss(y[400:], model.predict_proba(x[400:])) for model in (sharp, calibrated)]
    assert losses[1] < losses[0]


def many_classes(n_classes, n_each, seed=0):
    rng = np.random.default_rng(seed)
    centres = rng.uniform(-10, 10, size=(n_classes, 3))
    y = np.repeat(np.arange(n_classes), n_each)
    return centres[y] + 0.4 * rng.normal(size=(len(y), 3)), y


def test_a_hundred_classes():
    x, y = many_classes(100, 16)
    context = np.arange(len(y)) % 2 == 0
    with pytest.warns(UserWarning, match="100 classes are more than the model's 10"):
        model = classifier(n_estimators=1).fit(x[context], y[context])
    shares = model.predict_proba(x[~context])
    assert shares.shape == (800, 100)
    np.testing.assert_allclose(shares.sum(axis=1), 1, atol=1e-9)
    assert np.mean(model.predict(x[~context]) == y[~context]) > 0.6


def test_five_hundred_columns():
    """Every column says a little about the class, so that any hundred of them do."""
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    x = rng.normal(size=(80, 500)) + 0.3 * y[:, None]
    with pytest.warns(UserWarning, match="500 features are more than max_features = 100: each of 5"):
        model = classifier().fit(x[:50], y[:50])
    assert np.mean(model.predict(x[50:]) == y[50:]) > 0.8


def test_many_context_rows_are_sampled():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100_000, 3))
    y = x[:, 0] + x[:, 1] > 0
    with pytest.warns(UserWarning, match="100000 rows are more than max_rows = 200: each ensemble member"):
        model = classifier(max_rows=200).fit(x, y)
    query = rng.normal(size=(300, 3))
    assert np.mean(model.predict(query) == (query[:, 0] + query[:, 1] > 0)) > 0.9


def test_order_and_chunks_of_query_rows_do_not_matter(fitted):
    model, x, _ = fitted
    want = model.predict_distribution(x).probabilities
    order = np.random.default_rng(3).permutation(len(x))
    np.testing.assert_allclose(model.predict_distribution(x[order]).probabilities, want[order], atol=1e-6)
    np.testing.assert_allclose(model.predict_distribution(x[7:8]).probabilities, want[7:8], atol=1e-6)
