"""Tables of other libraries on their way into a tokenizer: pandas, polars, Arrow, NumPy, files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ._core import Tensor, _Table, asarray, from_dlpack
from ._estimator import _check_feature_names, _check_n_features, validate_data
from .columns import is_absent, without_zone

_TIME_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class Input:
    """A table as it came, and how results go back to the library it came from."""

    def __init__(self, table: _Table, names: list[str] | None, back: Callable[[Tensor], Any]) -> None:
        self.table, self.names, self.back = table, names, back


def is_device_array(x: Any) -> bool:
    return isinstance(x, Tensor) or (
        not isinstance(x, np.ndarray)
        and (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__"))
        and not hasattr(x, "__arrow_c_stream__")
    )


def _back_like(x: Any) -> Callable[[Tensor], Any]:
    """Tokens in the library that `x` is of: torch, CuPy or ours; NumPy for the rest."""
    if isinstance(x, Tensor):
        return lambda tokens: tokens
    module = type(x).__module__.split(".")[0]
    if module == "torch":
        return lambda tokens: tokens.torch()
    if module == "cupy":
        return lambda tokens: __import__("cupy").from_dlpack(tokens)
    return lambda tokens: tokens.numpy()


def _series_column(name: str, values: Any) -> tuple[str, Any, Any, int]:
    """One column without Arrow: NumPy values, dates, or objects that are text or None."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        unit, multiple = np.datetime_data(array.dtype)
        if unit not in _TIME_UNITS:
            array, unit = array.astype("datetime64[s]"), "s"
        elif multiple != 1:
            array = array.astype(f"datetime64[{unit}]")
        return name, asarray(np.ascontiguousarray(array).view("int64")), None, _TIME_UNITS[unit]
    if array.dtype.kind in "biuf":
        return name, asarray(_signed(array)), None, 0
    items = [None if is_absent(item) else item for item in array.tolist()]
    if all(item is None or isinstance(item, (bool, int, float, np.number)) for item in items):
        numbers = np.array([np.nan if item is None else float(item) for item in items])
        return name, asarray(numbers), None, 0
    return name, [None if item is None else str(item) for item in items], None, 0


def _signed(array: np.ndarray) -> np.ndarray:
    """Unsigned integers of more than two bytes as i64, which holds all but the largest."""
    if array.dtype.kind != "u" or array.dtype.itemsize <= 2:
        return array
    if array.dtype.itemsize == 8 and array.size and array.max() >= 2**63:
        raise ValueError(f"{array.max()} is above 2^63 - 1; convert the column to floats")
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
    """X as a table; with `reset`, the estimator remembers what columns there are."""
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
    """Classes as whole numbers, regression targets as floats."""
    array = np.asarray(y)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def read_tokens(tokens: Any) -> np.ndarray:
    if is_device_array(tokens):
        return from_dlpack(tokens).to("cpu").numpy()
    array = np.asarray(tokens)
    return _signed(array) if array.dtype.kind in "iu" else array.astype("int64")
