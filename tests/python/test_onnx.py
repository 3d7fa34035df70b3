"""ONNX graphs of fitted estimators, which compute in f32, give the same predictions under onnxruntime."""

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

import causeway as cw  # noqa: E402

SMALL = {"width": 16, "heads": 2, "hidden": 24, "layers": 2, "thinking": 3}
CHANGES = [
    {}, {"labels": "cells"}, {"cell_encoding": "radial"}, {"layer_order": "rows,mlp,columns"}, {"scaled_softmax": True},
    {"decoder": "retrieval"}, {"mean_readout": True}, {"pre_norm": False, "residual_decay": 0.9},
    {"class_as_number": True, "projection": False}, {"group": 1}, {"biases": False},
    {"labels": "cells", "cell_encoding": "radial", "decoder": "retrieval", "scaled_softmax": True},
]  # fmt: skip


def run(path, x):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {"x": x})[0]


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 5)) * [1, 100, 1e-3, 1, 5]
    x[rng.random(x.shape) < 0.1] = np.nan
    x[:, 3] = 2.0  # constant, left out
    return x, np.arange(n) % 3


@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_every_option_of_the_model(changes, tmp_path):
    model = cw.models.TabularTransformer(**{**SMALL, **changes}, generator=cw.Generator(3)).eval()
    x, y = rows(60)
    classifier = cw.TabularClassifier(model, n_estimators=2, precision="f32", device="cpu")
    classifier.fit(x, np.array(["b", "a", "c"])[y])
    classifier.export_onnx(tmp_path / "model.onnx")
    query = rows(31, 1)[0]
    np.testing.assert_allclose(run(tmp_path / "model.onnx", query), classifier.predict_proba(query), atol=1e-4)


@pytest.mark.parametrize("shared", [2, 3])
def test_tokens_of_several_columns(shared, tmp_path):
    changes = {"columns_per_token": shared, "mean_readout": True, "cell_encoding": "radial"}
    model = cw.models.TabularTransformer(**{**SMALL, **changes}, generator=cw.Generator(3)).eval()
    x = np.random.default_rng(2).normal(size=(60, 39))
    classifier = cw.TabularClassifier(model, n_estimators=2, precision="f32", device="cpu")
    classifier.fit(x[:40], np.arange(40) % 3)
    classifier.export_onnx(tmp_path / "model.onnx")
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x[40:]), classifier.predict_proba(x[40:]), atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"average": "logits", "temperature": 0.8, "class_weight": {0: 3.0}}], ids=str)
def test_packaged_classifier(settings, tmp_path):
    x, y = rows(60)
    classifier = cw.TabularClassifier(n_estimators=2, precision="f32", device="cpu", **settings).fit(x, y)
    classifier.export_onnx(tmp_path / "model.onnx")
    query = rows(31, 1)[0]
    np.testing.assert_allclose(run(tmp_path / "model.onnx", query), classifier.predict_proba(query), atol=1e-4)


@pytest.mark.parametrize("settings", [{}, {"average": "logits", "n_estimators": 3}, {"target_transforms": ["none"]}],
                         ids=str)
def test_packaged_regressor(settings, tmp_path):
    x, _ = rows(60)
    y = np.exp(np.nan_to_num(x[:, 0])) * 50 + 7
    settings = {"n_estimators": 2, **settings}
    regressor = cw.TabularRegressor(precision="f32", device="cpu", **settings).fit(x, y)
    regressor.export_onnx(tmp_path / "model.onnx")
    query = rows(31, 1)[0]
    np.testing.assert_allclose(run(tmp_path / "model.onnx", query), regressor.predict(query), atol=1e-4 * y.std())


@pytest.mark.filterwarnings("ignore:column \"town\"")
@pytest.mark.parametrize("target_transforms", [["residual"], ["power", "residual"]], ids=str)
def test_residuals_of_categories(target_transforms, tmp_path):
    frame, _ = typed(150, 0)
    y = 1000 + np.exp(np.nan_to_num(frame["a"].to_numpy())) + 3 * (frame["size"] == "m")
    regressor = cw.TabularRegressor(target_transforms=target_transforms, n_estimators=3, average="logits",
                                    precision="f32", device="cpu")
    regressor.fit(frame, y)
    assert regressor._estimator.ridge() is not None
    regressor.export_onnx(tmp_path / "model.onnx")
    query, _ = typed(31, 1)
    query.loc[:2, "a"] = [1e300, -1e300, np.nan]
    encoded = regressor._estimator.encode(regressor._query_table(query)).numpy()
    got = run(tmp_path / "model.onnx", encoded)
    np.testing.assert_allclose(got, regressor.predict(query), atol=1e-4 * y.std())


@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.3, 0, 0.4], [0.3, 0.3, 0, 0, 0.4]], ids=str)
def test_weight_of_the_linear_fit(weights, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((150, 4))
    y = 2 * x[:, 0] + x[:, 1] + 3 * rng.standard_normal(150)
    regressor = cw.TabularRegressor(precision="f32", device="cpu").fit(x, y)
    *state, _, reads_residuals = regressor._estimator.state()
    regressor._estimator.restore(*state, weights, reads_residuals)
    regressor.export_onnx(tmp_path / "model.onnx")
    query = rng.standard_normal((31, 4))
    np.testing.assert_allclose(run(tmp_path / "model.onnx", query), regressor.predict(query), atol=1e-4 * y.std())


@pytest.mark.parametrize("transforms", [("components",), ("none", "components"), ("power",)], ids=str)
def test_transforms_of_numbers(transforms, tmp_path):
    x, y = rows(60)
    classifier = cw.TabularClassifier(transforms=transforms, precision="f32", device="cpu").fit(x, y)
    classifier.export_onnx(tmp_path / "model.onnx")
    query = rows(31, 1)[0]
    query[0] = [1e300, -1e300, 1e-300, 7, 0]
    query[1] = np.nan
    np.testing.assert_allclose(run(tmp_path / "model.onnx", query), classifier.predict_proba(query), atol=1e-4)


def typed(n, seed, sizes="smlx"):
    pd = pytest.importorskip("pandas")
    x, y = rows(n, seed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(x, columns=list("abcde"))
    frame["size"] = rng.choice(list(sizes), n)
    frame["town"] = rng.choice([f"town {i}" for i in range(40)], n)  # more levels than are encoded
    frame["same"] = "word"
    frame.loc[rng.random(n) < 0.1, "size"] = None
    return frame, y


@pytest.mark.filterwarnings("ignore:column \"(size|town)\"")
@pytest.mark.parametrize("regression", [False, True])
def test_components_of_categories(regression, tmp_path):
    frame, y = typed(150, 0)
    kind = cw.TabularRegressor if regression else cw.TabularClassifier
    estimator = kind(precision="f32", device="cpu").fit(frame, y * 1.5 if regression else y)
    assert [transform for *_, transform, _ in estimator._estimator.members()] == ["none", "power", "power", "components"]
    estimator.export_onnx(tmp_path / "model.onnx")
    query, _ = typed(31, 1, sizes="smlxq")  # q is missing in the context rows
    encoded = estimator._estimator.encode(estimator._query_table(query)).numpy()
    assert np.isnan(encoded[:, 5]).any()
    want = estimator.predict(query) if regression else estimator.predict_proba(query)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", encoded), want, atol=1e-4)


@pytest.mark.parametrize("regression", [False, True])
def test_ranked_columns(regression, tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(160, 3))
    y = x[:, 0] + x[:, 1] + 0.1 * rng.normal(size=160)
    x[::5, 0], x[3::7, 1], x[2::9, :2] = 1e10, -1e300, np.nan
    kind = cw.TabularRegressor if regression else cw.TabularClassifier
    model = kind(precision="f32", device="cpu").fit(x, y if regression else (y > 0).astype(int))
    model.export_onnx(tmp_path / "model.onnx")
    want = model.predict(x) if regression else model.predict_proba(x)
    np.testing.assert_allclose(run(tmp_path / "model.onnx", x), want, atol=2e-4)


def test_what_cannot_be_exported(tmp_path):
    x, y = rows(60)
    with pytest.raises(ValueError, match='needs the transforms "none", "power" and "components"'):
        cw.TabularClassifier(transforms=("none", "quantile"), device="cpu").fit(x, y).export_onnx(tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="ONNX export needs"):
        cw.TabularClassifier(device="cpu").fit(x, np.arange(60) % 11).export_onnx(tmp_path / "model.onnx")
