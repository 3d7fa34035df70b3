"""Columns of any kind as numbers: what an estimator does to a table before a model reads it.

Numbers, booleans and times stay what they are; text and categories become their places in sorted
order; what is missing becomes NaN.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np


def is_frame(x: Any) -> bool:
    """Whether a table has columns with names: pandas, polars."""
    return hasattr(x, "columns") and hasattr(x, "__getitem__") and hasattr(x, "shape")


def is_absent(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)
    except TypeError:  # pandas.NA
        return True


def without_zone(times: Any) -> Any:
    """pandas' times in UTC; those without a zone as they are."""
    return times if times.dt.tz is None else times.dt.tz_convert(None)


def column_of(frame: Any, place: int) -> Any:
    """One column as NumPy has it, objects for what it has not; categories apart from their codes."""
    series = frame.iloc[:, place] if hasattr(frame, "iloc") else frame[:, place]
    if hasattr(series, "cat") and hasattr(getattr(series, "dtype", None), "categories"):
        return series.astype(object).to_numpy()
    dtype = getattr(series, "dtype", None)
    if hasattr(series, "isna") and not isinstance(dtype, np.dtype):  # pandas' own types
        if getattr(dtype, "kind", "O") in "iufb":
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        if getattr(dtype, "kind", "O") == "M":
            return without_zone(series).to_numpy()
        return series.to_numpy(dtype=object)
    return series.to_numpy()


class Column:
    """How one column becomes numbers, learned from the rows that are known."""

    def __init__(self, name: Any, values: np.ndarray, categories: Any = None) -> None:
        self.name = name
        self.codes: dict[Any, float] | None = None
        if values.dtype.kind in "biufM":
            return
        if values.dtype.kind not in "OUS":
            raise ValueError(f"column {name!r} is of type {values.dtype}; expected numbers, text, "
                             "categories, booleans or times")
        if categories is not None:
            self.codes = {value: float(i) for i, value in enumerate(categories)}
            return
        known = {value for value in map(self._plain, values.tolist()) if value is not None}
        if all(isinstance(value, (bool, int, float, np.number)) for value in known):
            return
        order = sorted(known, key=lambda value: (isinstance(value, str), value))
        self.codes = {value: float(i) for i, value in enumerate(order)}

    def _plain(self, value: Any) -> Any:
        """A value, or None where it is missing; raises where it is neither text nor a number."""
        if is_absent(value):
            return None
        if not isinstance(value, (str, bytes, bool, int, float, np.number, np.bool_)):
            raise TypeError(f"column {self.name!r}: the argument must be a string or a real number, "
                            f"not {type(value).__name__!r}")
        return value

    def numbers(self, values: np.ndarray) -> np.ndarray:
        if self.codes is not None:
            return self._coded(values)
        if values.dtype.kind == "M":
            micros = values.astype("datetime64[us]")
            return np.where(np.isnat(micros), np.nan, micros.astype(np.int64).astype(np.float64))
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
        try:
            return np.array([np.nan if self._plain(value) is None else float(value)
                             for value in values.tolist()], dtype=np.float64)
        except ValueError as problem:
            raise ValueError(f"column {self.name!r} held numbers when fit saw it; now: {problem}"
                             ) from None

    def _coded(self, values: np.ndarray) -> np.ndarray:
        unseen: dict[Any, None] = {}
        out = np.full(len(values), np.nan)
        for i, value in enumerate(values.tolist()):
            if is_absent(value):
                continue
            code = self.codes.get(value)
            if code is None:
                unseen[value] = None
            else:
                out[i] = code
        if unseen:
            some = ", ".join(repr(value) for value in list(unseen)[:3])
            if len(unseen) > 3:
                some += f" and {len(unseen) - 3} more"
            warnings.warn(f"column {self.name!r}: values that fit did not see are taken as missing: "
                          f"{some}", UserWarning, stacklevel=6)
        return out


class Columns:
    """All columns of a table. A frame's are found again by name, an array's by place."""

    def __init__(self, table: Any) -> None:
        self.named = is_frame(table)
        n = table.shape[1]
        self.names = list(table.columns) if self.named else list(range(n))
        repeated = {name for name in self.names if self.names.count(name) > 1}
        if repeated:
            raise ValueError(f"the table has several columns called {sorted(map(str, repeated))[0]!r}")
        self.columns = [
            Column(name, self._values(table, place), self._categories(table, place))
            for place, name in enumerate(self.names)
        ]

    def _values(self, table: Any, place: int) -> np.ndarray:
        return column_of(table, place) if is_frame(table) else table[:, place]

    def _categories(self, table: Any, place: int) -> Any:
        """Of a pandas column of ordered categories."""
        if not hasattr(table, "iloc"):
            return None
        dtype = table.dtypes.iloc[place]
        return list(dtype.categories) if getattr(dtype, "ordered", False) else None

    def numbers(self, table: Any) -> np.ndarray:
        """(rows, columns) f64, NaN where a cell is missing."""
        places = range(len(self.names))
        if self.named and is_frame(table):
            have = {name: place for place, name in enumerate(table.columns)}
            absent = [name for name in self.names if name not in have]
            if absent:
                raise ValueError(f"the table has no column {', '.join(map(repr, absent))}; fit saw "
                                 f"{len(self.names)} columns, and all are needed")
            places = [have[name] for name in self.names]
        elif table.shape[1] != len(self.names):
            raise ValueError(f"the table has {table.shape[1]} columns; fit saw {len(self.names)}")
        out = np.empty((table.shape[0], len(self.names)))
        for i, (column, place) in enumerate(zip(self.columns, places, strict=True)):
            out[:, i] = column.numbers(self._values(table, place))
            if np.isinf(out[:, i]).any():
                raise ValueError(f"column {column.name!r} holds infinity; make it missing or finite")
        return out
