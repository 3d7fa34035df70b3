"""Tables of other libraries, if installed: polars, Arrow device arrays, CuPy."""

import datetime
import importlib.util

import causeway as cw
import numpy as np
import pytest


def mixed_columns(n=300):
    """Columns of plain Python values; None is missing."""
    first = datetime.datetime(2020, 2, 28, 23, 30)
    return {
        "age": [None if i % 11 == 0 else i * 7 % 101 + 0.25 for i in range(n)],
        "count": [None if i % 13 == 0 else i * i % 37 for i in range(n)],
        "city": [None if i % 5 == 0 else ["Rome", "Oslo", "a name of more than twelve bytes"][i % 3]
                 for i in range(n)],
        "ok": [i % 2 == 0 for i in range(n)],
        "when": [first + datetime.timedelta(hours=7 * i) for i in range(n)],
    }


def test_polars_frames():
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    columns = mixed_columns()
    frame, table = polars.DataFrame(columns), pyarrow.table(columns)
    ours, theirs = cw.Tokenizer(16).fit(frame), cw.Tokenizer(16).fit(table)
    assert ours.to_json() == theirs.to_json()
    assert list(ours.feature_names_in_) == list(columns)
    tokens = ours.transform(frame)
    np.testing.assert_array_equal(tokens, theirs.transform(table))
    missing = {s["name"]: s["missing_token"] for s in ours.slots_}["city"]
    slot = [s["name"] for s in ours.slots_].index("city")
    assert [t == missing for t in tokens[:, slot]] == [c is None for c in columns["city"]]
    # In any order of columns, in chunks, by parts, and as categories.
    np.testing.assert_array_equal(ours.transform(frame.select(sorted(columns))), tokens)
    chunks = polars.concat([frame[:100], frame[100:]], rechunk=False)
    np.testing.assert_array_equal(ours.transform(chunks), tokens)
    pieces = [frame[:100], frame[100:100], frame[100:]]
    plan = cw.PartialFit.merged(cw.Tokenizer(16).partial(piece) for piece in pieces)
    plan.plan()
    made = cw.PartialFit.merged(plan.partial(piece) for piece in pieces).finish()
    assert made.to_json() == ours.to_json()
    categories = frame.with_columns(polars.col("city").cast(polars.Categorical))
    np.testing.assert_array_equal(ours.transform(categories), tokens)


def test_polars_series_types():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({
        "small": polars.Series([1, 2, 3, None], dtype=polars.Int8),
        "unsigned": polars.Series([1, 2, 3, 4], dtype=polars.UInt32),
        "half": polars.Series([1.5, None, float("nan"), 2.5], dtype=polars.Float32),
        "day": polars.Series([datetime.date(2020, 1, i + 1) for i in range(4)]),
    })
    tok = cw.Tokenizer(4).fit(frame)
    assert [c["kind"] for c in tok.columns_] == ["numeric", "numeric", "numeric", "datetime"]
    assert [c["n_missing"] for c in tok.columns_] == [1, 0, 2, 0]  # null and NaN both


class DeviceArray:
    """Gives a record batch by the device protocol, and by no other."""

    def __init__(self, batch):
        self.batch, self.calls = batch, 0

    def __arrow_c_device_array__(self, requested_schema=None, **kwargs):
        assert requested_schema is None and all(value is None for value in kwargs.values())
        self.calls += 1
        return self.batch.__arrow_c_device_array__()


def test_arrow_device_arrays():
    pyarrow = pytest.importorskip("pyarrow")
    columns = mixed_columns()
    batch = pyarrow.RecordBatch.from_pydict(columns)
    if not hasattr(batch, "__arrow_c_device_array__"):
        pytest.skip("this pyarrow has no device protocol")
    table = pyarrow.table(columns)
    given = DeviceArray(batch)
    tok = cw.Tokenizer(16).fit(given)
    assert given.calls == 1
    assert tok.to_json() == cw.Tokenizer(16).fit(table).to_json()
    np.testing.assert_array_equal(tok.transform(DeviceArray(batch)), tok.transform(table))
    # A slice begins in the middle of its buffers, bits included.
    cut = DeviceArray(batch.slice(37, 150))
    np.testing.assert_array_equal(tok.transform(cut), tok.transform(table)[37:187])


def test_cupy_arrays(rng):
    cupy = pytest.importorskip("cupy")
    try:
        cupy.zeros(1)
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("CuPy has no device")
    x = rng.normal(size=(5000, 3)).astype(np.float32)
    x[::7, 1] = np.nan
    want = cw.Tokenizer(32).fit(x)
    there = cupy.asarray(x)
    tok = cw.Tokenizer(32).fit(there)
    assert tok.to_json() == want.to_json()
    for given in (there, cupy.asfortranarray(there)):
        tokens = tok.transform(given)
        assert isinstance(tokens, cupy.ndarray) and tokens.dtype == cupy.uint8
        np.testing.assert_array_equal(tokens.get(), want.transform(x))
    part = cw.Tokenizer(32).partial(there)
    part.plan()
    assert part.partial(there).finish().to_json() == want.to_json()


def test_pandas_text_and_times_with_gaps():
    pd = pytest.importorskip("pandas")
    values = ["x", pd.NA, "y"]
    want = cw.Tokenizer().fit_transform(pd.DataFrame({"a": ["x", None, "y"]}))
    for dtype in ("string", "object"):
        frame = pd.DataFrame({"a": pd.Series(values, dtype=dtype)})
        assert np.array_equal(cw.Tokenizer().fit_transform(frame), want)
    times = pd.Series(pd.date_range("2020-01-01", periods=3, freq="D"))
    plain = cw.Tokenizer(fields=["day"]).fit_transform(pd.DataFrame({"t": times}))
    zoned = pd.DataFrame({"t": times.dt.tz_localize("UTC")})
    assert np.array_equal(cw.Tokenizer(fields=["day"]).fit_transform(zoned), plain)
    if importlib.util.find_spec("pyarrow") is not None:
        arrow = pd.DataFrame({"t": times.astype("timestamp[ns][pyarrow]")})
        assert np.array_equal(cw.Tokenizer(fields=["day"]).fit_transform(arrow), plain)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="exceeds 2\\^63"):
        cw.Tokenizer(bins=2).fit(np.array([[2**63], [1]], dtype=np.uint64))
    tens = np.array([[0], [150], [250]], dtype="M8[10ms]")
    assert cw.Tokenizer(fields=["second"]).fit_transform(tens).ravel().tolist() == [0, 1, 2]
