"""What fitted estimators offer besides predictions: embeddings, importance, files, fine-tuning, text and times."""

import subprocess
import sys

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")

import causeway as cw  # noqa: E402
from causeway.importance import Importance  # noqa: E402


def classifier(**settings):
    return cw.TabularClassifier(device="cpu", **{"n_estimators": 1, **settings})


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    return x, (x[:, 2] + 0.3 * x[:, 0] > 0).astype(int)


def test_importance_finds_the_columns():
    x, y = rows(200)
    model = classifier().fit(pd.DataFrame(x, columns=list("abcd")), y)
    done = model.importance(pd.DataFrame(x[:60], columns=list("abcd")))
    assert [name for name, _ in done.ranked()[:2]] == ["c", "a"]
    assert (done.values >= -1e-9).all() and done.values[2] > 10 * done.values[3]
    np.testing.assert_array_equal(classifier().fit(x, y).importance(x[:60]).values, done.values)


def test_importance_plot(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    axes = Importance(["a", "b"], np.array([0.1, 0.4])).plot()
    assert [bar.get_width() for bar in axes.patches] == [0.1, 0.4]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]


def test_matplotlib_is_imported_only_for_plots():
    code = "import sys, causeway; causeway.TabularClassifier; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_embeddings_are_features():
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4))
    y = ((x[:, 0] > 0) ^ (x[:, 1] > 0)).astype(int)  # no linear model of x can tell
    embedding = cw.TabularEmbedding(classifier())
    pipeline = make_pipeline(embedding, LogisticRegression(max_iter=1000)).fit(x[:120], y[:120])
    assert pipeline.score(x[120:], y[120:]) > 0.8
    model = embedding.estimator_
    np.testing.assert_array_equal(embedding.transform(x[120:]), model.embed(x[120:]))
    np.testing.assert_allclose(model.embed(x[125:126]), model.embed(x[120:])[5:6], atol=1e-5)


def test_embeddings_take_a_column_as_the_target():
    x, y = rows(40)
    frame = pd.DataFrame(x, columns=list("abcd"))
    embedding = cw.TabularEmbedding(classifier(), n_folds=4)
    want = embedding.fit_transform(frame, y)
    assert list(embedding.get_feature_names_out()) == [f"tabularembedding{i}" for i in range(want.shape[1])]
    assert list(embedding.feature_names_in_) == list("abcd")
    with_target = frame.assign(t=y)
    np.testing.assert_array_equal(embedding.fit_transform(with_target, "t"), want)
    made = embedding.set_output(transform="pandas").fit_transform(with_target, "t")
    assert list(made.columns) == list(embedding.get_feature_names_out()) and made.shape == want.shape
    with_target.loc[3, "t"] = None  # the row has an embedding, but is no context
    with pytest.warns(UserWarning, match="rows without a value of the target"):
        made = cw.TabularEmbedding(classifier(), n_folds=4).fit_transform(with_target, "t")
    assert np.isfinite(made).all() and len(made) == 40


@pytest.mark.parametrize(("target", "is_regression"), [
    (np.arange(200), True), (np.arange(200) % 10, False), (np.arange(20) / 2, True),
    (np.array(["a", "b"] * 10), False), (np.arange(20) % 3 * 1.0, False)])
def test_the_target_decides_what_embeds(target, is_regression):
    x, _ = rows(len(target))
    for given in (target, list(target), pd.Series(target)):
        embedding = cw.TabularEmbedding()
        assert embedding._new_estimator(x, given)._regression == is_regression
    frame = pd.DataFrame(x).rename(columns=str).assign(t=target)
    assert embedding._new_estimator(frame, "t")._regression == is_regression


# The target is in a word of the text; a code per string would say nothing.
def test_text_columns():
    rng = np.random.default_rng(0)
    words = ["order", "blue", "late", "box", "again", "hello", "thanks", "parcel", "street", "number"]
    y = np.arange(240) % 2
    text = [" ".join(rng.permutation([*rng.choice(words, 3), "refund" if label else "praise"])) + f" {i}"
            for i, label in enumerate(y)]
    frame = pd.DataFrame({"text": text, "noise": rng.normal(size=240)})
    model = classifier(n_estimators=2).fit(frame[:160], y[:160])
    assert np.mean(model.predict(frame[160:]) == y[160:]) > 0.8
    values = dict(zip(["text", "noise"], model.importance(frame[160:200]).values))
    assert values["text"] > values["noise"]


def test_dates_have_weekdays():
    days = pd.Series(pd.date_range("2026-01-01", periods=400, freq="D"))
    weekend = (days.dt.weekday >= 5).to_numpy()
    order = np.random.default_rng(0).permutation(400)
    frame = pd.DataFrame({"day": days})
    model = classifier().fit(frame.iloc[order[:200]], weekend[order[:200]])
    assert np.mean(model.predict(frame.iloc[order[200:]]) == weekend[order[200:]]) > 0.95


@pytest.mark.parametrize("labels", [
    np.array(["no", "yes"]), np.array(["no", "yes"], dtype=object), np.array([10, 9]), np.array([1.0, 0.0]),
    np.array([2, 3], dtype=np.uint8), np.array([1, 2], dtype=np.float32), np.array([False, True])])
def test_a_saved_classifier_predicts_the_same(tmp_path, labels):
    x, y = rows(80)
    frame = pd.DataFrame(x, columns=list("abcd"))
    for table in (x, frame):
        model = classifier(max_rows=30, temperature=0.9, transforms=("power",), class_weight="balanced",
                           precision="f32")
        with pytest.warns(UserWarning, match="max_rows"):
            model.fit(table, labels[y], sample_weight=1 + np.arange(80) % 3)
        model.save(tmp_path / "model.safetensors")
        loaded = cw.TabularClassifier.load(tmp_path / "model.safetensors", device="cpu")
        np.testing.assert_array_equal(loaded.classes_, model.classes_)
        assert loaded.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(loaded.predict_proba(table), model.predict_proba(table))
        np.testing.assert_array_equal(loaded.predict(table), model.predict(table))
        given, read = model.get_params(), loaded.get_params()
        assert {name for name in given if given[name] != read[name]} == {"model"}


@pytest.mark.parametrize(("labels", "weights"), [
    (np.array([0.0, 1.0]), {0.0: 2.0}), (np.array(["1", "b"]), {"1": 3.0, "b": 0.5}),
    (np.array([False, True]), {True: 4.0}), (np.array([0.0, 1.0]), None)])
def test_a_saved_classifier_keeps_its_class_weight(tmp_path, labels, weights):
    x, y = rows(40)
    model = classifier(class_weight=weights).fit(x, labels[y])
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularClassifier.load(tmp_path / "model.safetensors", device="cpu")
    assert loaded.get_params()["class_weight"] == weights
    np.testing.assert_array_equal(loaded.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(loaded.fit(x, labels[y]).predict_proba(x), model.predict_proba(x))


def test_a_saved_regressor_predicts_the_same(tmp_path):
    x, _ = rows(60)
    model = cw.TabularRegressor(device="cpu", n_estimators=2).fit(x, x[:, 0] * 7)
    model.save(tmp_path / "model.safetensors")
    loaded = cw.TabularRegressor.load(tmp_path / "model.safetensors", device="cpu")
    np.testing.assert_array_equal(loaded.predict(x, output="median"), model.predict(x, output="median"))
    with pytest.raises(ValueError, match="is a regressor, not for TabularClassifier"):
        cw.TabularClassifier.load(tmp_path / "model.safetensors")


def test_finetuning_never_hurts_the_held_out_rows():
    x, y = rows(120)
    model = classifier().fit(x, y)
    shared = model._model()
    before = {name: values.numpy().copy() for name, values in shared.state_dict().items()}
    first, last = model.finetune(seconds=3, learning_rate=1e-4)
    assert last <= first
    assert np.isfinite(model.predict_proba(x)).all()
    assert isinstance(model.model, cw.models.TabularTransformer) == (last < first)
    for name, values in shared.state_dict().items():  # the packaged model is shared
        np.testing.assert_array_equal(values.numpy(), before[name])
