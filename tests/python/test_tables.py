"""The rules for columns of docs/tables.md in the Python estimators; progress and failures. The model has
random weights."""

import io
import threading
import time
import warnings

import causeway as cw
import numpy as np
import pytest

pytest.importorskip("sklearn")
pd = pytest.importorskip("pandas")
from causeway import tables  # noqa: E402
from causeway._progress import ProgressBar  # noqa: E402
from causeway.models import TabularTransformer  # noqa: E402

MODEL = TabularTransformer(width=16, heads=2, hidden=16, layers=2, thinking=2, classes=4,
                           generator=cw.Generator(1)).eval()


def classifier(**settings):
    return cw.TabularClassifier(MODEL, **settings)


def shares(train, y, query, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return classifier(**settings).fit(train, y).predict_proba(query)


def test_infinity_names_the_cell():
    x, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), ["a", "b", "a"]
    bad = x.copy()
    bad[2, 1] = -np.inf
    for table in (bad, pd.DataFrame(bad, columns=["0", "1"]), bad.astype(object)):
        with pytest.raises(ValueError, match=r'\[fit\] column "1", row 2 \(from 0\): infinity'):
            classifier().fit(table, y)
    with pytest.raises(ValueError, match=r'\[predict\] column "1", row 2 \(from 0\): infinity'):
        classifier().fit(x, y).predict(bad)
    with pytest.raises(ValueError, match=r"target, row 1 \(from 0\): infinity"):
        cw.TabularRegressor(MODEL).fit(x, [1.0, np.inf, 2.0])


def test_columns_without_values_are_ignored():
    train = pd.DataFrame({"x": [1, 2, 3], "none": [None, np.nan, None]})
    with pytest.warns(UserWarning, match='columns without a value in any context row are left out: "none"'):
        clf = classifier().fit(train, ["a", "b", "a"])
    want = clf.predict_proba(pd.DataFrame({"x": [1, 2], "none": [None, None]}))
    for other in (["text", "more"], [1.0, np.inf], pd.to_datetime(["2026-01-01", "2026-01-02"]), [True, False]):
        assert np.array_equal(clf.predict_proba(pd.DataFrame({"x": [1, 2], "none": other})), want)


def test_text_is_read_as_cells():
    y = ["a", "b", "a", "b"]
    for text, values in [
        (["1.5", " 2 ", None, "-3e2"], [1.5, 2, np.nan, -300]),
        (["True", "false", None, "TRUE"], [True, False, None, True]),
        (["2026-01-31", "2026-02-01T12:00", None, "2025-01-01"],
         pd.to_datetime(["2026-01-31", "2026-02-01 12:00", None, "2025-01-01"], format="mixed")),
    ]:
        train, typed = pd.DataFrame({"x": text, "z": range(4)}), pd.DataFrame({"x": values, "z": range(4)})
        want = shares(typed, y, typed)
        assert np.array_equal(shares(train, y, train), want)
        assert np.array_equal(shares(train, y, typed), want) and np.array_equal(shares(typed, y, train), want)
        array = train.astype(object).to_numpy()
        assert np.array_equal(shares(array, y, array), want)


def test_order_of_categories():
    """Codes are what the model reads of plain columns, so that other columns with the same codes give the same."""
    y = ["a", "b", "a", "b"]

    def same(column, codes):
        plain = {"transforms": ("none",)}
        train = pd.DataFrame({"x": column, "z": range(4)})
        want = pd.DataFrame({"x": codes, "z": range(4)})
        assert np.array_equal(shares(train, y, train, **plain), shares(want, y, want, **plain))

    same(["10", "9", "2", "w"], [0, 2, 1, 3])  # by bytes
    same(pd.Categorical(["10", "9", "2", "9"]), [2, 1, 0, 1])  # by value
    same(pd.Categorical([10, 9, 2, 9]), [2, 1, 0, 1])
    same(pd.Categorical(["l", "s", "m", "s"], categories=["s", "m", "l"], ordered=True), [2, 0, 1, 0])


def test_types_that_change():
    y = ["a", "b", "a"]
    mixed = classifier().fit(pd.DataFrame({"x": ["5", "7.0", "word"]}), y)
    want = mixed.predict_proba(pd.DataFrame({"x": ["5", "7.0"]}))
    for same in ([5, 7], [5.0, 7.0], np.array([5, 7], dtype=np.uint8), ["5.0", "7"], pd.array([5, 7], "Int64")):
        assert np.array_equal(mixed.predict_proba(pd.DataFrame({"x": same})), want)
    numeric = classifier().fit(pd.DataFrame({"x": [1, 2, 3]}), y)
    assert np.array_equal(numeric.predict_proba(pd.DataFrame({"x": ["2", "1"]})),
                          numeric.predict_proba(pd.DataFrame({"x": [2, 1]})))
    with pytest.raises(ValueError, match=r'column "x", row 1 \(from 0\): expected a number, as in fit, got "many"'):
        numeric.predict(pd.DataFrame({"x": ["1", "many"]}))
    timed = classifier().fit(pd.DataFrame({"x": pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"])}), y)
    with pytest.raises(ValueError, match='expected a time such as 2026-01-31T12:00, as in fit, got "12"'):
        timed.predict(pd.DataFrame({"x": [12]}))


def test_labels_that_are_numbers_as_text():
    """classes_ is sorted as scikit-learn wants it; the model's order is by value, as for numbers."""
    x = np.arange(12.0)[:, None]
    y = np.array([10, 9, 2] * 4)
    as_text = classifier().fit(x, y.astype(str))
    assert list(as_text.classes_) == ["10", "2", "9"]
    as_numbers = classifier().fit(x, y)
    assert list(as_numbers.classes_) == [2, 9, 10]
    assert np.array_equal(as_text.predict_proba(x), as_numbers.predict_proba(x)[:, [2, 0, 1]])


def test_a_fit_that_fails_changes_nothing():
    x, y = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]]), ["a", "b", "a"]
    clf = classifier()
    with pytest.raises(ValueError):
        clf.fit(x * np.inf, y)
    assert not hasattr(clf, "n_features_in_") and not hasattr(clf, "classes_")
    clf.fit(x, y)
    before, want = dict(clf.__dict__), clf.predict_proba(x)
    for bad_x, bad_y in [(x[:, :1] * np.inf, y), (x, list("abcde")[:3] + ["f"]), (x, None)]:
        with pytest.raises(ValueError):
            clf.fit(bad_x, bad_y)
        assert clf.__dict__ == before
    assert np.array_equal(clf.predict_proba(x), want)


def test_tables_of_our_reader(tmp_path):
    (tmp_path / "train.csv").write_text("x,word,y\n1,u,10\n2,v,9\n,u,10\n4,w,\n5,v,2\n")
    (tmp_path / "test.csv").write_text("word,x\nu,2\nv,1\n")
    train, test = tables.read_csv(tmp_path / "train.csv"), tables.read_csv(tmp_path / "test.csv")
    with pytest.warns(UserWarning, match='rows without a value of the target "y" are left out: 1'):
        clf = classifier().fit(train, "y")
    assert list(clf.classes_) == [2, 9, 10] and list(clf.feature_names_in_) == ["x", "word"]
    with pytest.warns(UserWarning, match="are left out: 1"):
        by_pandas = classifier().fit(pd.read_csv(tmp_path / "train.csv"), "y")
    assert np.array_equal(clf.predict_proba(test), by_pandas.predict_proba(pd.read_csv(tmp_path / "test.csv")))
    assert clf.predict(test).dtype == np.int64


def test_progress(capfd):
    x = np.random.default_rng(0).normal(size=(60, 3))
    clf = classifier(verbose=True).fit(x, x[:, 0] > 0)
    clf.predict_proba(x)
    assert "predict" in capfd.readouterr().err
    clf.set_params(verbose=False).predict_proba(x)
    assert capfd.readouterr().err == ""


def test_progress_bar_shows_the_time_left(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    shown = Terminal()
    monkeypatch.setattr("sys.stderr", shown)
    with ProgressBar("predict", always=False) as bar:
        bar.start -= 10  # ten seconds for a tenth
        bar.last -= 10
        bar(0.1)
    assert " 10%  1:30 left" in shown.getvalue() and shown.getvalue().endswith("\r\033[K")


def test_stopped_predictions_leave_the_estimator_usable(monkeypatch):
    x = np.random.default_rng(0).normal(size=(60, 3))
    clf = classifier().fit(x, x[:, 0] > 0)
    want = classifier().fit(x, x[:, 0] > 0).predict_proba(x)

    def stop(bar, done):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ProgressBar, "__call__", stop)
        with pytest.raises(KeyboardInterrupt):
            clf.predict_proba(x)
    assert np.array_equal(clf.predict_proba(x), want)


def test_threads_share_a_fitted_estimator():
    x = np.random.default_rng(0).normal(size=(200, 5))
    clf = classifier().fit(x, x[:, 0] > 0)
    results = [None] * 4

    def predict(i):
        results[i] = clf.predict_proba(x)

    threads = [threading.Thread(target=predict, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, results[0]) for result in results)


def test_fit_does_not_run_the_model():
    x = np.random.default_rng(0).normal(size=(1000, 20))
    clf = cw.TabularClassifier(device="cpu")
    start = time.process_time()
    clf.fit(x, x[:, 0] > 0)
    assert time.process_time() - start < 2  # 0.1 s where nothing else runs; the model would take 30
