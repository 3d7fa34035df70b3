"""The tokenizer against NumPy, pandas and scikit-learn, on every device."""

import io
import json
import pickle

import causeway as cw
import numpy as np
import pytest
from causeway._core import _find_quantiles
from causeway._tables import read_input

METHODS = ["inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
           "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased"]
SIZES = [1, 2, 3, 17, 33, 100, 1000, 20000]


def column(rng, n):
    """A column with ties, constants, zeros or outliers, as they come."""
    kind = rng.integers(7)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return rng.integers(0, 5, n).astype(float)
    if kind == 2:
        return np.round(rng.normal(size=n), 1)
    if kind == 3:
        return np.full(n, 3.5)
    if kind == 4:
        return np.where(rng.random(n) < 0.9, 0, rng.normal(size=n))
    if kind == 5:
        return np.exp(5 * rng.normal(size=n))
    return 1e9 + np.floor(7e8 * rng.random(n))


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int64"])
def test_quantiles_are_numpys_bit_for_bit(dtype, device, rng):
    for _ in range(80):
        values = column(rng, int(rng.choice(SIZES))).astype(dtype)
        levels = np.linspace(0, 1, int(rng.integers(2, 50)))
        x = cw.asarray(values[:, None], device=device)
        for method in METHODS:
            got = np.array(_find_quantiles(x, method, [levels.tolist()])[0])
            np.testing.assert_array_equal(got, np.quantile(values, levels, method=method))


def test_edges_are_numpys_with_missing_values(device, rng):
    for _ in range(30):
        values = column(rng, 1000)
        values[rng.random(1000) < 0.3] = np.nan
        bins = int(rng.integers(2, 60))
        tok = cw.Tokenizer(bins, duplicates="keep").fit(cw.asarray(values[:, None], device=device))
        want = np.nanquantile(values, np.linspace(0, 1, bins + 1))
        np.testing.assert_array_equal(tok.bin_edges_[0], want)


def test_tokens_are_scikit_learns(rng):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    for _ in range(250):
        n, bins = int(rng.choice(SIZES[1:-1])), int(rng.integers(2, 40))
        x = np.stack([column(rng, n) for _ in range(3)], axis=1)
        levels = {str(i): {"levels": np.linspace(0, 100, bins + 1) / 100} for i in range(3)}
        for method in ("averaged_inverted_cdf", "linear", "weibull"):
            theirs = _quiet(lambda: preprocessing.KBinsDiscretizer(
                bins, encode="ordinal", strategy="quantile", quantile_method=method,
                subsample=None).fit(x))
            ours = cw.Tokenizer(quantile=method, min_width=1e-8, columns=levels).fit(x)
            np.testing.assert_array_equal(ours.transform(x), theirs.transform(x))
            for edges, wanted, n_bins in zip(ours.bin_edges_, theirs.bin_edges_, theirs.n_bins_):
                if n_bins > 1:
                    np.testing.assert_array_equal(edges, wanted)
        theirs = _quiet(lambda: preprocessing.KBinsDiscretizer(
            bins, encode="ordinal", strategy="uniform", subsample=None).fit(x))
        ours = cw.Tokenizer(bins, strategy="uniform").fit(x)
        np.testing.assert_array_equal(ours.transform(x), theirs.transform(x))


def _quiet(make):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make()


def test_tokens_are_pandas_qcuts(rng):
    pandas = pytest.importorskip("pandas")
    for _ in range(1000):
        n, q = int(rng.choice(SIZES[1:-1])), int(rng.integers(2, 40))
        values = column(rng, n)
        values[rng.random(n) < 0.1] = np.nan
        series = pandas.Series(values)
        if series.nunique() < 2:
            continue
        levels = np.linspace(0, 1, q + 1)
        np.putmask(levels, q * levels != np.arange(q + 1), np.nextafter(levels, 1))
        edges = series.dropna().quantile(levels).to_numpy()
        if not np.array_equal(edges, np.nanquantile(values, levels)):
            levels = np.minimum(levels * 100 / 100, 1)  # older pandas goes through percentages
        tok = cw.Tokenizer(closed="right", columns={"0": {"levels": levels}}).fit(values[:, None])
        want = pandas.qcut(series, q, labels=False, duplicates="drop").to_numpy()
        got = tok.transform(values[:, None])[:, 0].astype(float)
        got[np.isnan(values)] = np.nan
        np.testing.assert_array_equal(got, want)


def test_weights_are_scikit_learns(rng):
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    x, weights = rng.normal(size=(500, 2)), rng.random(500)
    for method in ("inverted_cdf", "averaged_inverted_cdf"):
        theirs = preprocessing.KBinsDiscretizer(8, encode="ordinal", strategy="quantile",
                                                quantile_method=method, subsample=None)
        theirs.fit(x, sample_weight=weights)
        levels = {str(i): {"levels": np.linspace(0, 100, 9) / 100} for i in range(2)}
        ours = cw.Tokenizer(quantile=method, columns=levels).fit(x, sample_weight=weights)
        np.testing.assert_array_equal(ours.transform(x), theirs.transform(x))
    with pytest.raises(cw.InvalidArgument, match="inverted_cdf"):
        cw.Tokenizer(4).fit(x, sample_weight=weights)
    with pytest.raises(ValueError, match="zero"):
        cw.Tokenizer(4).fit(x, sample_weight=np.zeros(500))


def test_tree_edges_are_scikit_learns(rng):
    tree = pytest.importorskip("sklearn.tree")
    x = rng.normal(size=(400, 1)).astype(np.float32).astype(np.float64)
    for y in ((x[:, 0] > 0.3).astype(int) + (x[:, 0] > 1) * 2, np.sin(3 * x[:, 0])):
        classes = y.dtype.kind == "i"
        made = (tree.DecisionTreeClassifier if classes else tree.DecisionTreeRegressor)(max_leaf_nodes=6)
        thresholds = np.sort(made.fit(x, y).tree_.threshold[made.tree_.feature >= 0])
        edges = cw.Tokenizer(6, strategy="tree").fit(x, y).bin_edges_[0]
        np.testing.assert_allclose(edges[1:-1], thresholds, rtol=1e-6)


def test_kmeans_finds_clusters(rng):
    x = np.concatenate([rng.normal(center, 0.1, 300) for center in (0, 5, 9)])[:, None]
    edges = cw.Tokenizer(3, strategy="kmeans").fit(x).bin_edges_[0]
    assert edges[1] == pytest.approx(2.5, abs=0.1) and edges[2] == pytest.approx(7, abs=0.1)


def test_check_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    for result in checks.check_estimator(cw.Tokenizer(), on_fail=None, on_skip=None):
        assert result["status"] in ("passed", "skipped"), (result["check_name"], result["exception"])


def test_every_library_gives_the_same_tokens(rng):
    x = rng.normal(size=(500, 3)).astype(np.float32)
    tok = cw.Tokenizer(32).fit(x)
    want = tok.transform(x)
    assert want.dtype == np.uint8 and want.shape == (500, 3)
    np.testing.assert_array_equal(tok.transform(np.asfortranarray(x)), want)
    ours = tok.transform(cw.asarray(x))
    assert isinstance(ours, cw.Tensor)
    np.testing.assert_array_equal(ours.numpy(), want)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=["0", "1", "2"])
    np.testing.assert_array_equal(tok.transform(frame), want)
    pyarrow = pytest.importorskip("pyarrow")
    np.testing.assert_array_equal(tok.transform(pyarrow.Table.from_pandas(frame)), want)


def test_torch(rng):
    torch = pytest.importorskip("torch")
    x = rng.normal(size=(500, 3)).astype(np.float32)
    tok = cw.Tokenizer(32).fit(torch.from_numpy(x))
    tokens = tok.transform(torch.from_numpy(x))
    assert isinstance(tokens, torch.Tensor)
    np.testing.assert_array_equal(tokens.numpy(), cw.Tokenizer(32).fit(x).transform(x))


def mixed_frame(pandas, rng, n=200):
    return pandas.DataFrame({
        "age": rng.normal(40, 10, n),
        "city": rng.choice(["Rome", "Oslo", None], n),
        "ok": rng.random(n) < 0.5,
        "when": pandas.date_range("2020-02-28 23:30", periods=n, freq="7h"),
        "count": pandas.array(np.where(rng.random(n) < 0.2, None, rng.integers(0, 9, n)), dtype="Int64"),
    })


def test_frames_of_all_kinds(rng, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = mixed_frame(pandas, rng)
    tok = cw.Tokenizer(16).fit(frame)
    tokens = tok.transform(frame)
    names = list(tok.get_feature_names_out())
    assert names == ["age", "city", "ok", "when.year", "when.month", "when.day", "when.weekday",
                     "when.hour", "when.minute", "when.second", "count"]
    back = tok.inverse_transform(tokens)
    np.testing.assert_array_equal(back["when.year"], frame["when"].dt.year)
    np.testing.assert_array_equal(back["when.weekday"], [day.weekday() for day in frame["when"]])
    np.testing.assert_array_equal(back["when.day"], frame["when"].dt.day)
    assert back["city"].isna().tolist() == frame["city"].isna().tolist()
    assert back["city"].dropna().tolist() == frame["city"].dropna().tolist()
    slot = {s["name"]: s for s in tok.slots_}["count"]
    np.testing.assert_array_equal(tokens[:, -1] == slot["missing_token"], frame["count"].isna())
    tok.save(tmp_path / "tok.json")
    again = cw.Tokenizer.load(tmp_path / "tok.json")
    np.testing.assert_array_equal(again.transform(frame), tokens)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(tok)).transform(frame), tokens)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(frame)
    np.testing.assert_array_equal(cw.Tokenizer(16).fit(table).transform(table), tokens)
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, tmp_path / "x.parquet")
    np.testing.assert_array_equal(tok.transform(tmp_path / "x.parquet"), tokens)


def test_arrow_types(rng):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({
        "view": pa.array(["a", "a long string of more than twelve", None, "a"], pa.string_view()),
        "large": pa.array(["x", "", "x", None], pa.large_string()),
        "dictionary": pa.array(["p", "q", None, "p"]).dictionary_encode(),
        "unsigned": pa.array([1, 2, 3, 4], pa.uint32()),
        "half": pa.array(np.array([1, 2, 3, 4], np.float16)),
        "null": pa.nulls(4),
        "day": pa.array([0, 1, None, 18262], pa.date32()),
    })
    chunks = pa.concat_tables([table.slice(0, 1), table.slice(1)])
    for given in (table, chunks, table.slice(0, 4).combine_chunks()):
        tok = cw.Tokenizer(4).fit(given)
        decoded = tok._fitted().decode(cw.asarray(tok.transform(given)))
        values = {c["name"]: c["values"] for c in decoded}
        assert values["view"] == ["a", "a long string of more than twelve", None, "a"]
        assert values["large"] == ["x", "", "x", None]
        assert values["dictionary"] == ["p", "q", None, "p"]
        years = values["day.year"].numpy()
        np.testing.assert_array_equal(years[[0, 1, 3]], [1970, 1970, 2020])
        assert np.isnan(years[2])
    with pytest.raises(cw.InvalidArgument, match="Arrow type"):
        cw.Tokenizer().fit(pa.table({"x": pa.array([[1], [2]])}))


def test_encodings(device, rng):
    x = cw.asarray(rng.normal(size=(300, 2)), device=device)
    tok = cw.Tokenizer(8).fit(x)
    tokens = tok.transform(x).numpy()
    tok.output = "onehot"
    hot = tok.transform(x).numpy()
    assert hot.shape == (300, 16) and len(tok.get_feature_names_out()) == 16
    np.testing.assert_array_equal(hot.reshape(300, 2, 8).argmax(2), tokens)
    assert (hot.sum(axis=1) == 2).all()
    tok.output = "ple"
    ple = tok.transform(x).numpy().reshape(300, 2, 8)
    for c in range(2):
        edges, values = tok.bin_edges_[c], x.numpy()[:, c]
        want = (values[:, None] - edges[:-1]) / np.diff(edges)
        want[:, 1:] = np.maximum(want[:, 1:], 0)
        want[:, :-1] = np.minimum(want[:, :-1], 1)
        np.testing.assert_allclose(ple[:, c], want, rtol=1e-6, atol=1e-6)


def test_batches_give_the_fit_of_everything(rng):
    x = np.stack([column(rng, 30000) for _ in range(4)], axis=1)
    whole = cw.Tokenizer(64).fit(x)
    for memory in (1 << 30, 1 << 16):
        parts = cw.Tokenizer(64).fit_batches(np.array_split(x, 7), memory=memory)
        assert parts.to_json() == whole.to_json()
    lead = cw.PartialFit.begin(x[:5000], cw.Tokenizer(64))
    halves = [x[::2], x[1::2]]
    parts = [lead.fresh() for _ in halves]
    for part, half in zip(parts, halves):
        part.count(half)
        lead.merge(part)
    assert all(error < 0.01 for error in lead.rank_errors)
    assert not lead.plan()
    parts = [lead.fresh() for _ in halves]
    for part, half in zip(parts, halves):
        part.collect(half)
        lead.merge(part)
    assert lead.finish().to_json() == whole.to_json()


def test_exports(rng, tmp_path):
    x = rng.normal(size=(500, 2))
    tok = cw.Tokenizer(8, global_ids=True, special_tokens=["[PAD]"]).fit(x)
    face = json.loads(tok.export("hugging-face", tmp_path / "tokenizer.json"))
    assert face["model"]["vocab"]["1_3"] == 1 + 8 + 3
    assert json.loads((tmp_path / "tokenizer.json").read_text()) == face
    forced = json.loads(tok.export("lightgbm"))
    assert [entry["feature"] for entry in forced] == [0, 1] and len(forced[0]["bin_upper_bound"]) == 7
    cuts = json.loads(tok.export("xgboost"))
    tokens = np.searchsorted(cuts["values"][: cuts["indptr"][1]], x[:, 0], side="right")
    np.testing.assert_array_equal(tokens + 1, tok.transform(x)[:, 0])
    edges = json.loads(tok.export("scikit-learn"))
    np.testing.assert_array_equal(edges[1]["bin_edges"], tok.bin_edges_[1])
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer.from_str(tok.export("hugging-face"))
    assert made.encode("0_5 1_2").ids == [1 + 5, 1 + 8 + 2]


def test_drift(rng):
    x = rng.normal(size=(5000, 2))
    tok = cw.Tokenizer(10, missing="always").fit(x)
    assert all(entry["stability_index"] == 0 for entry in tok.drift(x))
    x[::4, 1] = np.nan
    same, moved = tok.drift(x)
    assert same["stability_index"] == 0 and moved["missing_rate"] == 0.25
    assert moved["stability_index"] > 0.25


def test_mistakes(rng):
    x = rng.normal(size=(10, 2))
    with pytest.raises(cw.InvalidArgument, match="bins must be from 1"):
        cw.Tokenizer(0).fit(x)
    with pytest.raises(cw.InvalidArgument, match="quantile: expected inverted_cdf"):
        cw.Tokenizer(quantile="median").fit(x)
    with pytest.raises(cw.FormatError, match="not JSON"):
        cw.Tokenizer.from_json("{")
    tok = cw.Tokenizer(4).fit(x)
    with pytest.raises(cw.InvalidArgument, match="fit with missing"):
        tok.transform(np.full((1, 2), np.nan))
    with pytest.raises(ValueError, match="output"):
        cw.Tokenizer(output="words").fit(x)
    with pytest.raises(cw.InvalidArgument, match="edges must be in ascending order"):
        cw.Tokenizer(columns={"0": {"edges": [2, 1]}}).fit(x)
    with pytest.raises(cw.InvalidArgument, match="missing from the table"):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
        cw.Tokenizer(4).fit(frame)._fitted().encode(
            read_input(cw.Tokenizer(), frame[["a"]].assign(c="z"), True).table, None)


def test_given_edges_and_kinds(rng):
    x = np.array([[0.0, 1], [5, 2], [10, 1], [20, 3]])
    tok = cw.Tokenizer(columns={"0": {"edges": [0, 5, 10]}, "1": {"kind": "categorical"}}).fit(x)
    np.testing.assert_array_equal(tok.transform(x), [[0, 0], [1, 1], [1, 0], [1, 2]])
    assert tok.columns_[1]["values"] == ["1", "2", "3"]
    right = cw.Tokenizer(closed="right", columns={"0": {"edges": [0, 5, 10]}}).fit(x)
    np.testing.assert_array_equal(right.transform(x)[:, 0], [0, 0, 1, 1])


def test_csv_files(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a,b\n1,x\n2,y\n,x\n")
    tok = cw.Tokenizer(2).fit(path)
    np.testing.assert_array_equal(tok.transform(path), [[0, 0], [1, 1], [2, 0]])
    assert io.StringIO(tok.to_json()).read().count("checksum") == 2
