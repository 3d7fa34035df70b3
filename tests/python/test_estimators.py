"""TabularClassifier and TabularRegressor: scikit-learn's estimator checks, tables of all kinds, errors. A
small model is first trained on Gaussian clusters."""

import atexit
import copy
import os
import pathlib
import pickle
import platform
import shutil
import tempfile
import warnings

import causeway as cw
import numpy as np
import pytest

pytest.importorskip("sklearn")
from causeway._tables import estimator_table  # noqa: E402
from causeway.models import TabularTransformer, load_tabular, save_tabular  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.datasets import make_blobs  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

WEIGHTS = pathlib.Path(cw.__file__).parent / "weights"
SMALL = {"width": 32, "heads": 2, "hidden": 64, "layers": 2, "thinking": 2}


def clouds(rng, n_tables=16, n_rows=48):
    classes, features = int(rng.integers(2, 5)), int(rng.integers(1, 6))
    centres = rng.normal(size=(n_tables, classes, features)) * rng.uniform(1, 3)
    y = rng.integers(0, classes, (n_tables, n_rows))
    x = np.take_along_axis(centres, y[:, :, None], 1) + 0.4 * rng.normal(size=(n_tables, n_rows, features))
    return x, y


def make_models(folder):
    rng = np.random.default_rng(0)
    model = TabularTransformer(**SMALL, classes=10, generator=cw.Generator(1))
    optimizer = cw.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(250):
        loss = model.loss(*clouds(rng), 32)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    save_tabular(model, folder / "classes.safetensors")
    numbers = TabularTransformer(**SMALL, classes=0, bins=16, generator=cw.Generator(1))
    save_tabular(numbers, folder / "numbers.safetensors")


class UntrainedRegressor(cw.TabularRegressor):
    """The regressor with a model that nobody trained."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class _Path:
    """A path to a model, which is made at its first use: scikit-learn's checks are listed
    when tests are collected, and nothing should be trained then."""

    folder = None

    def __init__(self, name):
        self.name = name

    def __fspath__(self):
        if _Path.folder is None:
            _Path.folder = pathlib.Path(tempfile.mkdtemp(prefix="causeway-"))
            atexit.register(shutil.rmtree, _Path.folder, ignore_errors=True)
            make_models(_Path.folder)
        return str(_Path.folder / self.name)

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return self.name


CLASSES = _Path("classes.safetensors")
NUMBERS = _Path("numbers.safetensors")


def classifier(**settings):
    return cw.TabularClassifier(CLASSES, device="cpu", **settings)


# On x86 OpenBLAS computes the products. On some CPUs it rounds a row according to its position in the
# batch, so probabilities differ by about 1e-7. These checks allow 1e-9; test_predicts_clouds allows 1e-6.
_ROUNDING = "OpenBLAS rounds a row according to its position in the batch"
ON_X86 = {
    "check_methods_subset_invariance": _ROUNDING,
    "check_methods_sample_order_invariance": _ROUNDING,
}


# A weight of 2 makes a row likelier in the context; it does not add rows.
FAILS = {"check_sample_weight_equivalence_on_dense_data": "rows are drawn in proportion to the weights"}


@parametrize_with_checks(
    [classifier(), classifier(n_estimators=1), UntrainedRegressor(NUMBERS, device="cpu")],
    expected_failed_checks=lambda _: FAILS | (ON_X86 if platform.machine() == "x86_64" else {}),
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def blobs():
    x, y = make_blobs(n_samples=160, centers=3, n_features=3, random_state=4)
    return x[:80], y[:80], x[80:], y[80:]


def test_counts_the_columns_of_frames_too(blobs):
    pd = pytest.importorskip("pandas")
    clf = classifier(n_estimators=1).fit(blobs[0], blobs[1])
    for width in (2, 5):
        with pytest.raises(ValueError, match=f"has {width} columns, but fit had 3"):
            clf.predict_proba(pd.DataFrame(np.ones((2, width))))


def test_predicts_clouds(blobs):
    x, y, x_new, y_new = blobs
    clf = classifier().fit(x, np.array(["red", "green", "blue"])[y])
    assert list(clf.classes_) == ["blue", "green", "red"]
    shares = clf.predict_proba(x_new)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert clf.score(x_new, np.array(["red", "green", "blue"])[y_new]) > 0.9
    parts = np.concatenate([clf.predict_proba(x_new[:7]), clf.predict_proba(x_new[7:])])
    np.testing.assert_allclose(parts, shares, atol=1e-6)
    order = np.random.default_rng(0).permutation(len(x_new))
    np.testing.assert_allclose(clf.predict_proba(x_new[order]), shares[order], atol=1e-6)


def test_pickles_and_clones(blobs):
    x, y, x_new, _ = blobs
    clf = classifier(random_state=3).fit(x, y)
    want = clf.predict_proba(x_new)
    path = CLASSES.__fspath__()
    by_path = cw.TabularClassifier(path, device="cpu", random_state=3).fit(x, y)
    assert np.array_equal(pickle.loads(pickle.dumps(by_path)).predict_proba(x_new), want)
    model = load_tabular(path)
    by_model = clone(cw.TabularClassifier(model, random_state=3)).fit(x, y)
    assert np.array_equal(by_model.predict_proba(x_new), want)
    for again in (copy.deepcopy(model.eval()), pickle.loads(pickle.dumps(model))):
        assert again.config == model.config and not again.training
        for name, values in model.state_dict().items():
            assert again.state_dict()[name].tolist() == values.tolist()
    model.parameters()[0].requires_grad_(False)
    assert not copy.deepcopy(model).parameters()[0].requires_grad
    assert copy.deepcopy(model.to("f64")).parameters()[0].dtype == cw.f64


def test_text():
    """The class follows from the text, if its codes are what the model reads."""
    rng = np.random.default_rng(1)
    words = np.array(["ash", "birch", None, "cedar"], dtype=object)
    pick = rng.integers(0, 4, 60)
    x = np.empty((60, 2), dtype=object)
    x[:, 0] = words[pick]
    x[:, 1] = rng.normal(size=60)
    y = (pick == 0).astype(int)
    clf = classifier().fit(x, y)
    known = clf.predict_proba(np.array([["ash", 0.0], [None, 0.0], ["birch", 0.5]], dtype=object))
    with pytest.warns(UserWarning, match=r'column "0": values not seen in fit are treated as missing: "elm"'):
        elm = clf.predict_proba(np.array([["elm", 0.0]], dtype=object))
    assert np.array_equal(elm[0], clf.predict_proba(np.array([[None, 0.0]], dtype=object))[0])
    assert not np.allclose(known[0], known[1])
    with pytest.raises(ValueError, match=r'column "1", row 0 .*: expected a number, as in fit, got "often"'):
        clf.predict(np.array([["ash", "often"]], dtype=object))
    with pytest.raises(TypeError, match='column "0": the argument must be a string or a real number'):
        classifier().fit(np.array([[{}, 1], ["a", 2]], dtype=object), [0, 1])


def test_limits(blobs):
    x, y, _, _ = blobs
    with pytest.warns(UserWarning, match="11 classes are more than the model's 10: each of 8 ensemble members"):
        classifier().fit(np.arange(22.0)[:, None], np.arange(22) % 11)
    with pytest.warns(UserWarning, match="3 features are more than max_features = 2: each of 4 ensemble members"):
        classifier(max_features=2).fit(x, y)
    with pytest.warns(UserWarning, match="80 rows are more than max_rows = 50: each ensemble member reads another"):
        classifier(max_rows=50).fit(x, y)
    with pytest.warns(UserWarning, match="left out: \"1\""):
        classifier().fit(np.where([False, True, False], np.nan, x), y)
    only = classifier().fit(x, np.full(80, "yes"))
    assert set(only.predict(x)) == {"yes"} and only.predict_proba(x).shape == (80, 1)
    with pytest.raises(ValueError, match="got a model that predicts numbers"):
        cw.TabularClassifier(NUMBERS).fit(x, y)
    with pytest.raises(cw.Error, match="absent"):
        cw.TabularClassifier("absent.safetensors").fit(x, y)


def test_packaged_weights(blobs, tmp_path, monkeypatch):
    x, y, x_new, _ = blobs
    monkeypatch.setenv("CAUSEWAY_WEIGHTS", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"no tabular_regression.safetensors in .*; pass model="):
        cw.TabularRegressor().fit(x, y)
    shutil.copy(CLASSES, tmp_path / "tabular.safetensors")
    packaged = cw.TabularClassifier(device="cpu").fit(x, y)
    assert np.array_equal(packaged.predict_proba(x_new), classifier().fit(x, y).predict_proba(x_new))


def frame_columns(rng, n):
    return {
        "age": rng.integers(18, 90, n).astype(float),
        "city": rng.choice(["Bonn", "Kiel", "Ulm"], n),
        "member": rng.random(n) < 0.5,
        "income": rng.lognormal(10, 1, n),
    }


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library)
    rng = np.random.default_rng(2)
    columns = frame_columns(rng, 50)
    y = columns["city"] == "Kiel"
    frame = frames.DataFrame(columns)
    clf = classifier().fit(frame, y)
    assert list(clf.feature_names_in_) == list(columns)
    want = clf.predict_proba(frame)
    backwards = frames.DataFrame({name: columns[name] for name in [*list(columns)[::-1]]})
    assert np.array_equal(clf.predict_proba(backwards), want)
    with pytest.raises(ValueError, match='no column "city", "income"; all 4 columns of fit'):
        clf.predict(backwards[["age", "member"]])
    array = np.empty((50, 4), dtype=object)
    for i, values in enumerate(columns.values()):
        array[:, i] = values
    assert np.array_equal(classifier().fit(array, y).predict_proba(array), want)


def test_pandas_types():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    columns = frame_columns(rng, 40)
    y = columns["age"] > 50
    frame = pd.DataFrame(columns)
    frame["size"] = pd.Categorical(rng.choice(["s", "m", "l"], 40), categories=["s", "m", "l"], ordered=True)
    frame["seen"] = pd.to_datetime("2026-01-01") + pd.to_timedelta(rng.integers(0, 100, 40), unit="D")
    frame["count"] = pd.array([None, *range(39)], dtype="Int64")
    frame["city"] = frame["city"].astype("category")
    frame.loc[3, ["age", "city", "size", "seen"]] = None
    clf = classifier().fit(frame, y)
    assert np.isfinite(clf.predict_proba(frame)).all()
    codes = clf._estimator.encode(estimator_table(frame)).numpy()
    assert np.isnan(codes[3, [0, 1, 4, *range(5, 10)]]).all() and np.isnan(codes[0, 10])
    sizes = frame["size"].map({"s": 0.0, "m": 1.0, "l": 2.0}).astype(float)
    np.testing.assert_array_equal(codes[:, 4], sizes)
    days = frame["seen"].sub(pd.Timestamp("1970-01-01")) / pd.Timedelta("1us")
    np.testing.assert_array_equal(codes[:, 5], days)
    seen = frame["seen"].dt
    for i, part in enumerate((seen.month, seen.day, seen.weekday, seen.hour)):
        np.testing.assert_array_equal(codes[:, 6 + i], part)


def test_numbers(blobs):
    x, _, x_new, _ = blobs
    y = x[:, 0] * 50 + 1000
    reg = cw.TabularRegressor(NUMBERS, device="cpu").fit(x, y)
    said = reg.predict(x_new)
    assert said.shape == (80,) and abs(said.mean() - y.mean()) < 3 * y.std()
    assert np.array_equal(cw.TabularRegressor(NUMBERS, device="cpu").fit(x, np.full(80, 3.5)).predict(x_new),
                          np.full(80, 3.5))


def halves(x, y, stratify=None):
    from sklearn.model_selection import train_test_split

    return train_test_split(x, y, test_size=0.5, random_state=0, stratify=stratify)


@pytest.mark.parametrize("name, least", [("iris", 0.99), ("wine", 0.995), ("breast_cancer", 0.99)])
def test_packaged_weights_predict_classes(name, least):
    from sklearn import datasets
    from sklearn.metrics import roc_auc_score

    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    context, query, context_y, query_y = halves(x, y, stratify=y)
    shares = cw.TabularClassifier(device="cpu").fit(context, context_y).predict_proba(query)
    scores = shares[:, 1] if shares.shape[1] == 2 else shares
    assert roc_auc_score(query_y, scores, multi_class="ovo") > least


def test_packaged_weights_predict_numbers():
    from sklearn.datasets import load_diabetes, make_friedman1
    from sklearn.linear_model import LinearRegression
    from sklearn.metrics import r2_score

    tables = {"diabetes": load_diabetes(return_X_y=True),
              "friedman": make_friedman1(600, noise=1, random_state=0)}
    for name, (x, y) in tables.items():
        context, query, context_y, query_y = halves(x, y)
        ours = r2_score(query_y, cw.TabularRegressor(device="cpu").fit(context, context_y).predict(query))
        linear = r2_score(query_y, LinearRegression().fit(context, context_y).predict(query))
        assert ours > linear + {"diabetes": -0.03, "friedman": 0.1}[name]


def test_packaged_weights_are_small_and_have_a_card():
    assert sum(path.stat().st_size for path in WEIGHTS.iterdir()) < 20e6
    card = (WEIGHTS / "card.md").read_text()
    for name in ("tabular.safetensors", "tabular_regression.safetensors"):
        assert (WEIGHTS / name).exists() and name in card


def test_a_failed_fit_changes_nothing(blobs):
    x, y, *_ = blobs
    model = cw.TabularClassifier(n_estimators=1, device="cpu").fit(x, y)
    before = model.predict_proba(x)
    for bad_x, bad_y in [(x, np.full(len(x), np.nan)), (x[:0], y[:0]), (np.full_like(x, np.inf), y)]:
        with pytest.raises(ValueError):
            model.fit(bad_x, bad_y)
        assert list(model.classes_) == sorted(set(y))
        np.testing.assert_array_equal(model.predict_proba(x), before)


def test_constant_columns_do_not_count():
    x = np.random.default_rng(0).normal(size=(50, 5))
    constant = np.zeros((50, 300))
    constant[:, :5] = x
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(n_estimators=1).fit(constant, x[:, 0] > 0)


def test_a_model_replaced_within_its_timestamp_is_noticed(blobs, tmp_path):
    x, y, *_ = blobs
    path = tmp_path / "model.safetensors"
    answers = []
    for seed in (1, 2):
        save_tabular(TabularTransformer(**SMALL, classes=10, generator=cw.Generator(seed)), path)
        os.utime(path, ns=(10**18, 10**18))
        answers.append(cw.TabularClassifier(path, n_estimators=1, device="cpu").fit(x, y).predict_proba(x))
    assert not np.array_equal(*answers)
