"""`causeway predict` on Parquet files, as pyarrow and pandas write them: the same predictions as from CSV."""

import csv
import datetime
import decimal
import random
import subprocess
from pathlib import Path

import causeway as cw
import pytest

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
PROGRAM = Path(cw.__file__).parents[2] / "causeway"  # a build folder has it beside the package
TYPES = {"real": pa.float64(), "single": pa.float32(), "small": pa.int32(), "large": pa.int64(), "count": pa.uint32(),
         "huge": pa.uint64(), "flag": pa.bool_(), "city": pa.string(), "at": pa.timestamp("us"),
         "late": pa.timestamp("ns"), "day": pa.date32(), "price": pa.decimal128(9, 2), "empty": pa.float64(),
         "kind": pa.string()}  # fmt: skip


def row(rng):
    at = datetime.datetime(2024, 1, 1) + datetime.timedelta(microseconds=rng.randrange(10**13))
    values = {
        "real": rng.gauss(0, 1), "single": rng.randrange(1000) / 8, "small": rng.randrange(-9, 9),
        "large": rng.randrange(-(2**40), 2**40), "count": rng.choice([1, 2, 2**32 - 1]),
        "huge": rng.choice([5, 2**63 + 2048]), "flag": rng.random() < 0.5,
        "city": rng.choice(["Bonn", "Köln", "Ulm, am See"]),
        "at": at, "late": at, "day": at.date(), "price": decimal.Decimal(rng.randrange(-9999, 9999)) / 100,
    }  # fmt: skip
    for name in values:
        if name not in ("small", "large") and rng.random() < 0.2:
            values[name] = None
    return values | {"empty": None, "kind": rng.choice(["no", "yes"])}


def text(value):
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime.date) else "" if value is None else value


def predict(*files):
    done = subprocess.run([PROGRAM, "predict", *files, "--target", "kind", "--estimators", "1", "--device", "cpu",
                           "--quiet"], capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def write(table, path, **options):
    """Decimals as integers: those of pyarrow's default are not supported."""
    pq.write_table(table, path, store_decimal_as_integer=True, **options)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """(folder, training table, test table, predictions from CSV)"""
    folder = tmp_path_factory.mktemp("parquet")
    rng = random.Random(3)
    made = []
    for name, n in (("train", 90), ("test", 25)):
        rows = [row(rng) for _ in range(n)]
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(TYPES)
            writer.writerows([text(value) for value in line.values()] for line in rows)
        made.append(pa.Table.from_pylist(rows, schema=pa.schema(TYPES.items())))
    return folder, *made, predict(folder / "train.csv", folder / "test.csv")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"compression": "none", "use_dictionary": False},
        {"compression": "gzip", "data_page_version": "2.0"},
        {"compression": "zstd", "row_group_size": 13},
        {"data_page_version": "2.0", "data_page_size": 64, "use_dictionary": ["city"]},
        {"use_deprecated_int96_timestamps": True},
        {"version": "1.0", "coerce_timestamps": "us", "allow_truncated_timestamps": True},
    ],
)
def test_predictions_are_those_of_csv(tables, options):
    folder, train, test, expected = tables
    for name, table in (("train", train), ("test", test)):
        write(table, folder / f"{name}.parquet", **options)
    assert predict(folder / "train.parquet", folder / "test.parquet") == expected
    assert predict(folder / "train.parquet", folder / "test.csv") == expected


def test_pandas_index_is_no_feature(tables):
    folder, train, test, expected = tables
    write(train, folder / "train.parquet")
    write(test.append_column("__index_level_0__", pa.array(range(test.num_rows))), folder / "index.parquet")
    assert predict(folder / "train.parquet", folder / "index.parquet") == expected
    with_index = train.append_column("__index_level_0__", pa.array(range(train.num_rows)))
    write(with_index, folder / "index.parquet")
    assert predict(folder / "index.parquet", folder / "test.csv") == expected


@pytest.mark.parametrize(
    ("column", "options", "message"),
    [
        ([[1, 2], [3]], {}, 'column "a" is nested'),
        ([1, 2], {"compression": "brotli"}, "is compressed with Brotli"),
        ([b"\xff", b"\xfe"], {}, "holds binary data"),
        ([decimal.Decimal("1.5"), decimal.Decimal("2.5")], {}, "bytes of a fixed size"),
        ([1, 2], {"use_dictionary": False, "column_encoding": "DELTA_BINARY_PACKED"}, "has encoding 5"),
    ],
)
def test_what_is_not_supported(tmp_path, column, options, message):
    pq.write_table(pa.table({"a": column, "kind": [1, 2]}), tmp_path / "a.parquet", **options)
    refused(tmp_path / "a.parquet", message)


def refused(path, message):
    done = subprocess.run([PROGRAM, "evaluate", path, "--target", "kind", "--device", "cpu"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    assert done.returncode == 3 and message in done.stderr, (done.returncode, done.stderr)
    assert len(done.stderr.splitlines()) == 1


def test_damaged_files_are_refused(tables, tmp_path):
    """Every byte of a file may be wrong: the program ends with a message, or the values differ."""
    _, train, _, _ = tables
    write(train, tmp_path / "a.parquet")
    whole = (tmp_path / "a.parquet").read_bytes()
    bad = tmp_path / "bad.parquet"
    for size in (5, 12, 100, len(whole) - 1):
        bad.write_bytes(whole[:size])
        refused(bad, "Parquet")
    rng = random.Random(1)
    for _ in range(30):
        content = bytearray(whole)
        for _ in range(3):
            content[rng.randrange(4, len(content) - 4)] = rng.randrange(256)
        bad.write_bytes(content)
        done = subprocess.run([PROGRAM, "evaluate", bad, "--target", "kind", "--device", "cpu", "--splits", "1",
                               "--estimators", "1"], capture_output=True, text=True, check=False, errors="replace",
                              timeout=60)  # fmt: skip
        assert done.returncode in (0, 3), (done.returncode, done.stderr)
