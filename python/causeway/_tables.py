"""Converts input to tables: pandas, polars, Arrow, NumPy, files."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import Tensor, _Table, asarray, from_dlpack
from ._estimator import _check_feature_names, _check_n_features, validate_data

_TIME_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_absent(value: Any) -> bool:
    """Whether a Python object is a missing value: None, NaN, NaT, pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def without_zone(times: Any) -> Any:
    """Converts a pandas series of times to UTC; naive times stay unchanged."""
    return times if times.dt.tz is None else times.dt.tz_convert(None)


class Input:
    """A table, and the conversion of results to the library of the input."""

    def __init__(self, table: _Table, names: list[str] | None, back: Callable[[Tensor], Any]) -> None:
        self.table, self.names, self.back = table, names, back


def is_device_array(x: Any) -> bool:
    return isinstance(x, Tensor) or (
        not isinstance(x, np.ndarray)
        and (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"))
        and not hasattr(x, "__arrow_c_stream__")
    )


def _back_like(x: Any) -> Callable[[Tensor], Any]:
    """Converts tokens to the library of `x`: torch, CuPy or causeway, else NumPy."""
    if isinstance(x, Tensor):
        return lambda tokens: tokens
    module = type(x).__module__.split(".")[0]
    if module == "torch":
        return lambda tokens: tokens.torch()
    if module == "cupy":
        return lambda tokens: __import__("cupy").from_dlpack(tokens)
    return lambda tokens: tokens.numpy()


def _time_column(name: str, array: np.ndarray) -> tuple[str, Any, Any, int]:
    unit, multiple = np.datetime_data(array.dtype)
    if unit not in _TIME_UNITS:
        array, unit = array.astype("datetime64[s]"), "s"
    elif multiple != 1:
        array = array.astype(f"datetime64[{unit}]")
    return name, asarray(np.ascontiguousarray(array).view("int64")), None, _TIME_UNITS[unit]


def _series_column(name: str, values: Any) -> tuple[str, Any, Any, int]:
    """Converts one column of NumPy values, datetimes, or objects that are text or None."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return _time_column(name, array)
    if array.dtype.kind in "biuf":
        return name, asarray(_signed(array)), None, 0
    items = [None if is_absent(item) else item for item in array.tolist()]
    if all(item is None or isinstance(item, (bool, int, float, np.number)) for item in items):
        numbers = np.array([np.nan if item is None else float(item) for item in items])
        return name, asarray(numbers), None, 0
    return name, [None if item is None else str(item) for item in items], None, 0


def _signed(array: np.ndarray) -> np.ndarray:
    """Converts unsigned integers of more than two bytes to i64; raises if one does not fit."""
    if array.dtype.kind != "u" or array.dtype.itemsize <= 2:
        return array
    if array.dtype.itemsize == 8 and array.size and array.max() >= 2**63:
        raise ValueError(f"{array.max()} exceeds 2^63 - 1; convert the column to floats")
    return array.astype("int64")


def _frame_table(frame: Any, names: list[str]) -> _Table:
    kinds = {np.dtype(t).kind if isinstance(t, np.dtype) else "?" for t in frame.dtypes}
    if len(set(map(str, frame.dtypes))) == 1 and kinds <= {"f", "i", "b"} and len(frame.columns):
        return _Table.of_matrix(asarray(frame.to_numpy()), names)  # one block, no copy
    columns = []
    for place, name in enumerate(names):
        series = frame.iloc[:, place]
        if hasattr(series, "cat"):
            series = series.astype(object)
        dtype = series.dtype
        if not isinstance(dtype, np.dtype) and dtype.kind in "biuf":  # nullable numbers
            mask = series.isna().to_numpy()
            filled = series.fillna(0) if dtype.kind != "b" else series.fillna(False)
            values = _series_column(name, filled.to_numpy(dtype=dtype.numpy_dtype))[1]
            columns.append((name, values, asarray(mask) if mask.any() else None, 0))
            continue
        if not isinstance(dtype, np.dtype) and dtype.kind == "M":
            series = without_zone(series)
        columns.append(_series_column(name, series.to_numpy(dtype=None if dtype.kind != "O" else object)))
    return _Table.of_columns(columns, len(frame))


def read_input(estimator: Any, X: Any, reset: bool, least_rows: int = 1) -> Input:
    """Converts X to a table; with `reset`, the estimator stores the column names."""
    if isinstance(X, (str, os.PathLike)):
        X = _read_file(X)
    if isinstance(X, _Table):
        return Input(X, None if X.is_matrix else X.names, lambda tokens: tokens.numpy())
    if is_device_array(X):
        matrix = X if isinstance(X, Tensor) else asarray(X)
        if reset:
            estimator.n_features_in_ = matrix.shape[1] if len(matrix.shape) == 2 else 0
        return Input(_Table.of_matrix(matrix, []), None, _back_like(X))
    if hasattr(X, "iloc") and hasattr(X, "dtypes"):
        return _read_frame(estimator, X, reset)
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__") or hasattr(
        X, "__arrow_c_device_array__"
    ):
        table = _Table.of_arrow(X)
        if reset:
            estimator.n_features_in_ = len(table.names)
            estimator.feature_names_in_ = np.array(table.names, dtype=object)
        return Input(table, table.names, lambda tokens: tokens.numpy())
    return _read_array(estimator, X, reset, least_rows)


def _read_frame(estimator: Any, frame: Any, reset: bool) -> Input:
    names = [str(name) for name in frame.columns]
    if validate_data is not None:
        _check_feature_names(estimator, frame, reset=reset)
        _check_n_features(estimator, frame, reset=reset)
    elif reset:
        estimator.n_features_in_ = len(names)
    return Input(_frame_table(frame, names), names, lambda tokens: tokens.numpy())


def _read_array(estimator: Any, X: Any, reset: bool, least_rows: int) -> Input:
    if validate_data is not None:
        numeric = getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
        X = validate_data(
            estimator, X, reset=reset, dtype="numeric" if numeric else None,
            ensure_all_finite=False, ensure_min_samples=least_rows, accept_sparse=False,
        )
    else:
        X = np.asarray(X)
        if reset:
            estimator.n_features_in_ = X.shape[1]
    if X.dtype.kind not in "biuf":
        names = [str(i) for i in range(X.shape[1])]
        columns = [_series_column(name, X[:, i]) for i, name in enumerate(names)]
        return Input(_Table.of_columns(columns, len(X)), None, lambda tokens: tokens.numpy())
    if X.dtype.kind == "f" and X.dtype.itemsize > 8:
        X = X.astype("float64")
    X = _signed(X)
    return Input(_Table.of_matrix(asarray(X), []), None, lambda tokens: tokens.numpy())


def _read_file(path: str | os.PathLike) -> Any:
    name = os.fspath(path)
    if name.endswith(".parquet"):
        import pyarrow.parquet

        return pyarrow.parquet.read_table(name)
    if name.endswith(".npy"):
        from ._core import load_npy

        return load_npy(name)
    from ._core import _read_csv

    return _read_csv(name)


def read_weights(sample_weight: Any) -> np.ndarray:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    return weights


def read_target(y: Any) -> np.ndarray:
    """Class codes as integers, regression targets as floats."""
    array = np.asarray(y)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def read_tokens(tokens: Any) -> np.ndarray:
    if is_device_array(tokens):
        return from_dlpack(tokens).to("cpu").numpy()
    array = np.asarray(tokens)
    return _signed(array) if array.dtype.kind in "iu" else array.astype("int64")


# Estimators: objects become text as in a CSV file, which the encoder parses.


def is_frame(x: Any) -> bool:
    """Whether a table has named columns: pandas, polars, Arrow."""
    return isinstance(x, _Table) or hasattr(x, "iloc") or hasattr(x, "__arrow_c_stream__")


def frame_names(frame: Any) -> list[Any]:
    if isinstance(frame, _Table):
        return frame.names
    return list(frame.columns if hasattr(frame, "columns") and not hasattr(frame, "column_names")
                else frame.column_names)


def estimator_table(x: Any) -> _Table:
    """Converts a frame or a validated array to a table."""
    if isinstance(x, _Table):
        return x
    if hasattr(x, "iloc"):
        columns = [_estimator_column(str(name), x.iloc[:, i]) for i, name in enumerate(x.columns)]
        return _Table.of_columns(columns, x.shape[0])
    if hasattr(x, "__arrow_c_stream__"):
        return _Table.of_arrow(x)
    if x.dtype.kind in "bif" and x.dtype.itemsize <= 8:
        return _Table.of_matrix(asarray(x), [])
    return _Table.of_columns([_estimator_column(str(i), x[:, i]) for i in range(x.shape[1])], len(x))


def column_table(name: str, values: Any) -> _Table:
    """A table of one column: pandas, NumPy or a list."""
    values = values if hasattr(values, "iloc") else np.asarray(values)
    return _Table.of_columns([_estimator_column(name, values)], len(values))


def _estimator_column(name: str, values: Any) -> tuple[Any, ...]:
    """Converts one column of pandas or NumPy: numbers, times, categories or text."""
    dtype = values.dtype
    if not isinstance(dtype, np.dtype):  # pandas' own types
        if hasattr(dtype, "categories"):
            codes = asarray(values.cat.codes.to_numpy().astype(np.int64))
            return name, codes, None, 0, [_as_text(name, item) for item in dtype.categories], bool(dtype.ordered)
        kind = getattr(dtype, "kind", "O")
        if kind == "b":
            mask = values.isna().to_numpy()
            return name, asarray(values.fillna(False).to_numpy(dtype=bool)), asarray(mask), 0
        if kind in "iuf":
            return name, asarray(values.to_numpy(dtype=np.float64, na_value=np.nan)), None, 0
        values = without_zone(values).to_numpy() if kind == "M" else values.to_numpy(dtype=object)
    array = np.asarray(values)
    if array.dtype.kind == "M":
        return _time_column(name, array)
    if array.dtype.kind in "biuf":
        as_is = array.dtype.kind in "bif" and array.dtype.itemsize <= 8
        return name, asarray(np.ascontiguousarray(array if as_is else array.astype(np.float64))), None, 0
    if array.dtype.kind not in "OUS":
        raise ValueError(f'column "{name}" has dtype {array.dtype}; expected numbers, text, '
                         "categories, booleans or times")
    return _object_column(name, array.tolist())


def _object_column(name: str, items: list[Any]) -> tuple[Any, ...]:
    items = [None if is_absent(item) else item for item in items]
    present = [item for item in items if item is not None]
    if present and all(isinstance(item, (bool, np.bool_)) for item in present):
        mask = np.array([item is None for item in items])
        return name, asarray(np.array([bool(item) for item in items])), asarray(mask), 0
    if all(isinstance(item, (bool, int, float, np.number, np.bool_)) for item in present):
        return name, asarray(np.array([np.nan if item is None else float(item) for item in items])), None, 0
    return name, [None if item is None else _as_text(name, item) for item in items], None, 0


def _as_text(name: str, item: Any) -> str:
    """The value as text in a CSV file."""
    if isinstance(item, str):
        return str(item)
    if isinstance(item, bytes):
        return item.decode()
    if isinstance(item, (bool, np.bool_)):
        return str(bool(item))
    if isinstance(item, (int, np.integer)):
        return str(int(item))
    if isinstance(item, (float, np.floating)):
        return str(int(item)) if float(item).is_integer() else repr(float(item))
    if isinstance(item, (datetime.date, datetime.datetime)):
        if getattr(item, "tzinfo", None) is not None:
            item = item.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return item.isoformat()
    raise TypeError(f'column "{name}": the argument must be a string or a real number, '
                    f"not {type(item).__name__!r}")
