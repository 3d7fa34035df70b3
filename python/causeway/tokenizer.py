"""Tables to tokens and back, with scikit-learn's interface.

    tok = cw.Tokenizer(bins=256).fit(frame)   # pandas, polars, Arrow, NumPy, torch, CuPy, cw.Tensor
    ids = tok.transform(frame)                # uint8 or wider, where the table is
    tok.save("tok.json")                      # readable, exact, no pickle

Edges are exact quantiles of all rows, the same bits on every device. Everything the program
`causeway tokenizer` can do has the same name here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._core import Tensor, _PartialFit, _Table, _Tokenizer, asarray, from_dlpack

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data
except ImportError:  # the same words without scikit-learn
    validate_data = None

    class NotFittedError(ValueError, AttributeError):
        """Raised by a tokenizer that has not been fitted."""

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            return self.fit(X, y, **fit_params).transform(X)

    class BaseEstimator:
        @classmethod
        def _get_param_names(cls) -> list[str]:
            import inspect

            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Any:
            for name, value in params.items():
                setattr(self, name, value)
            return self


__all__ = ["PartialFit", "Tokenizer"]

_TIME_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


class _Input:
    """A table as it came, and how results go back to the library it came from."""

    def __init__(self, table: _Table, names: list[str] | None, back: Callable[[Tensor], Any]) -> None:
        self.table, self.names, self.back = table, names, back


def _is_device_array(x: Any) -> bool:
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
        unit = np.datetime_data(array.dtype)[0]
        if unit not in _TIME_UNITS:
            array, unit = array.astype("datetime64[s]"), "s"
        return name, asarray(np.ascontiguousarray(array).view("int64")), None, _TIME_UNITS[unit]
    if array.dtype.kind in "biuf":
        if array.dtype.kind == "u" and array.dtype.itemsize > 2:
            array = array.astype("int64")
        return name, asarray(array), None, 0
    items = [None if _is_absent(item) else item for item in array.tolist()]
    if all(item is None or isinstance(item, (bool, int, float)) for item in items):
        numbers = np.array([np.nan if item is None else float(item) for item in items])
        return name, asarray(numbers), None, 0
    return name, [None if item is None else str(item) for item in items], None, 0


def _is_absent(item: Any) -> bool:
    return item is None or item != item  # NaN, NaT, pandas.NA compare unlike themselves


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
            series = series.dt.tz_convert(None)
        columns.append(_series_column(name, series.to_numpy(dtype=None if dtype.kind != "O" else object)))
    return _Table.of_columns(columns, len(frame))


class Tokenizer(TransformerMixin, BaseEstimator):
    """Fits bins and vocabularies to a table's columns and turns rows into tokens.

    bins: how many bins a numeric column gets; a number, a list (by column) or a dict (by name).
    strategy: "quantile" (equally many rows a bin), "uniform", "kmeans" or "tree" (needs y).
    quantile: one of NumPy's nine definitions; "linear" is numpy.quantile's own.
    closed: "left" for [a, b), as scikit-learn bins; "right" for (a, b], as pandas.qcut does.
    duplicates: edges that fall together are dropped ("drop"), kept so that bins keep their numbers
        ("keep"), or an error ("error"); min_width: with "drop", narrower bins go too.
    missing: a token for missing values where there were some at fit ("auto"), "always" or "never".
    statistics: count every bin's values and find their medians.
    min_count, max_categories, unknown_buckets: what is in a vocabulary, and how many tokens share
        what is not. fields: parts of dates, such as ["year", "month", "weekday"].
    global_ids: one vocabulary for all columns, after special_tokens.
    columns: by name, {"age": {"kind": "numeric", "bins": 32}}: kind (numeric, categorical, boolean,
        datetime), bins, strategy, edges, levels, fields.
    output: what transform gives: "tokens", "onehot" or "ple" (piecewise-linear encoding).
    dtype: of tokens: "u8", "u16" or "i32"; the smallest that holds all.
    """

    def __init__(
        self,
        bins: int | Sequence[int] | Mapping[str, int] = 256,
        *,
        strategy: str = "quantile",
        quantile: str = "linear",
        closed: str = "left",
        duplicates: str = "drop",
        min_width: float = 0.0,
        missing: str = "auto",
        statistics: bool = True,
        min_count: int = 1,
        max_categories: int = 65536,
        unknown_buckets: int = 1,
        fields: Sequence[str] | None = None,
        global_ids: bool = False,
        special_tokens: Sequence[str] | None = None,
        columns: Mapping[str, Mapping[str, Any]] | None = None,
        output: str = "tokens",
        dtype: str | None = None,
    ) -> None:
        self.bins = bins
        self.strategy = strategy
        self.quantile = quantile
        self.closed = closed
        self.duplicates = duplicates
        self.min_width = min_width
        self.missing = missing
        self.statistics = statistics
        self.min_count = min_count
        self.max_categories = max_categories
        self.unknown_buckets = unknown_buckets
        self.fields = fields
        self.global_ids = global_ids
        self.special_tokens = special_tokens
        self.columns = columns
        self.output = output
        self.dtype = dtype

    # Reading tables.

    def _read(self, X: Any, reset: bool) -> _Input:
        if isinstance(X, (str, os.PathLike)):
            X = self._read_file(X)
        if isinstance(X, _Table):
            return _Input(X, None if X.is_matrix else X.names, lambda tokens: tokens.numpy())
        if _is_device_array(X):
            matrix = X if isinstance(X, Tensor) else asarray(X)
            if reset:
                self.n_features_in_ = matrix.shape[1] if len(matrix.shape) == 2 else 0
            return _Input(_Table.of_matrix(matrix, []), None, _back_like(X))
        if hasattr(X, "iloc") and hasattr(X, "dtypes"):
            return self._read_frame(X, reset)
        if hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__") or hasattr(
            X, "__arrow_c_device_array__"
        ):
            table = _Table.of_arrow(X)
            if reset:
                self.n_features_in_ = len(table.names)
                self.feature_names_in_ = np.array(table.names, dtype=object)
            return _Input(table, table.names, lambda tokens: tokens.numpy())
        return self._read_array(X, reset)

    def _read_frame(self, frame: Any, reset: bool) -> _Input:
        names = [str(name) for name in frame.columns]
        if validate_data is not None:
            _check_feature_names(self, frame, reset=reset)
            _check_n_features(self, frame, reset=reset)
        elif reset:
            self.n_features_in_ = len(names)
        return _Input(_frame_table(frame, names), names, lambda tokens: tokens.numpy())

    def _read_array(self, X: Any, reset: bool) -> _Input:
        if validate_data is not None:
            numeric = getattr(getattr(X, "dtype", None), "kind", "O") in "biufc"
            X = validate_data(
                self, X, reset=reset, dtype="numeric" if numeric else None,
                ensure_all_finite=False, ensure_min_samples=1, accept_sparse=False,
            )
        else:
            X = np.asarray(X)
            if reset:
                self.n_features_in_ = X.shape[1]
        if X.dtype.kind not in "biuf":
            names = [str(i) for i in range(X.shape[1])]
            columns = [_series_column(name, X[:, i]) for i, name in enumerate(names)]
            return _Input(_Table.of_columns(columns, len(X)), None, lambda tokens: tokens.numpy())
        if X.dtype.kind == "u" and X.dtype.itemsize > 2:
            X = X.astype("int64")
        elif X.dtype.kind == "f" and X.dtype.itemsize > 8:
            X = X.astype("float64")
        return _Input(_Table.of_matrix(asarray(X), []), None, lambda tokens: tokens.numpy())

    @staticmethod
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

    # Fitting.

    def _options(self, names: list[str]) -> dict[str, Any]:
        columns = {name: dict(own) for name, own in (self.columns or {}).items()}
        bins = self.bins
        if isinstance(bins, Mapping):
            for name, count in bins.items():
                columns.setdefault(name, {}).setdefault("bins", int(count))
            bins = 256
        elif not isinstance(bins, (int, np.integer)):
            if len(bins) != len(names):
                raise ValueError(f"{len(bins)} numbers of bins for {len(names)} columns")
            for name, count in zip(names, bins):
                columns.setdefault(name, {}).setdefault("bins", int(count))
            bins = 256
        return {
            "bins": int(bins), "strategy": self.strategy, "quantile": self.quantile,
            "closed": self.closed, "duplicates": self.duplicates, "min_width": float(self.min_width),
            "missing": self.missing, "statistics": bool(self.statistics),
            "min_count": int(self.min_count), "max_categories": int(self.max_categories),
            "unknown_buckets": int(self.unknown_buckets),
            "fields": None if self.fields is None else list(self.fields),
            "global_ids": bool(self.global_ids),
            "special_tokens": list(self.special_tokens or []), "columns": columns,
        }

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Tokenizer:
        """Finds edges and vocabularies. y is the target of the strategy "tree"."""
        if self.output not in ("tokens", "onehot", "ple"):
            raise ValueError(f'output is "tokens", "onehot" or "ple", not {self.output!r}')
        given = self._read(X, reset=True)
        weights = None if sample_weight is None else asarray(_weights(sample_weight))
        uses_target = self.strategy == "tree" or any(
            own.get("strategy") == "tree" for own in (self.columns or {}).values()
        )
        target = asarray(_target(y)) if uses_target and y is not None else None
        self._tokenizer = _Tokenizer.fit(given.table, self._options(given.table.names), weights, target)
        return self

    def fit_batches(
        self, batches: Callable[[], Iterable[Any]] | Sequence[Any], memory: int = 1 << 30
    ) -> Tokenizer:
        """The same fit over batches that need not be in memory together.

        batches: a sequence, or a function that begins to yield them anew. They are read twice, and
        only where what has to be kept exceeds `memory` bytes once more. The edges are those of a
        fit of everything at once.
        """
        produce = batches if callable(batches) else lambda: batches
        part = None
        while part is None or part.needs_another_pass:
            for batch in produce():
                table = self._read(batch, reset=part is None).table
                if part is None:
                    part = _PartialFit.begin(table, self._options(table.names))
                part.count(table)
            if part is None:
                raise ValueError("there are no batches to fit")
            part.plan(memory)
        for batch in produce():
            part.collect(self._read(batch, reset=False).table)
        self._tokenizer = part.finish()
        return self

    # Using.

    def _fitted(self) -> _Tokenizer:
        try:
            return self._tokenizer
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet; call fit first, or load one."
            ) from None

    def transform(self, X: Any) -> Any:
        """Tokens (rows, slots), or what `output` says; in the library that X is of."""
        fitted = self._fitted()
        given = self._read(X, reset=False)
        if self.output == "onehot":
            return given.back(fitted.one_hot(given.table))
        if self.output == "ple":
            return given.back(fitted.piecewise_linear(given.table))
        return given.back(fitted.encode(given.table, self.dtype))

    def inverse_transform(self, tokens: Any, how: str = "centre") -> Any:
        """Values from tokens: a bin's "centre", "median" or "range", a category, a date's field.

        An array where all columns are numeric; else a pandas DataFrame, or a dict without pandas.
        """
        fitted = self._fitted()
        source = tokens if isinstance(tokens, Tensor) else asarray(_token_array(tokens))
        decoded = fitted.decode(source, how)
        if all("high" not in c and isinstance(c["values"], Tensor) for c in decoded):
            return np.stack([c["values"].numpy() for c in decoded], axis=1) if decoded else None
        columns: dict[str, Any] = {}
        for column in decoded:
            values = column["values"]
            if "high" in column:
                columns[column["name"] + ".low"] = values.numpy()
                columns[column["name"] + ".high"] = column["high"].numpy()
            else:
                columns[column["name"]] = values.numpy() if isinstance(values, Tensor) else values
        try:
            import pandas
        except ImportError:
            return columns
        return pandas.DataFrame(columns)

    def drift(self, X: Any) -> list[dict[str, Any]]:
        """How X differs from the data at fit: counts a token, missing and unknown rates, PSI."""
        return self._fitted().drift(self._read(X, reset=False).table)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of what transform gives, one a column."""
        fitted = self._fitted()
        names = [column["name"] for column in fitted.columns]
        if input_features is not None:
            given = [str(name) for name in input_features]
            known = getattr(self, "feature_names_in_", None)
            if known is not None and list(known) != given:
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(given) != len(names):
                raise ValueError(
                    f"input_features should have length equal to number of features ({len(names)}), "
                    f"got {len(given)}"
                )
        elif all(name == str(i) for i, name in enumerate(names)):
            given = [f"x{name}" for name in names]
        else:
            given = names
        rename = dict(zip(names, given))
        outs = []
        for slot in fitted.slots:
            source = names[slot["column"]]
            stem = rename[source] + slot["name"][len(source):]
            if self.output == "tokens":
                outs.append(stem)
            elif self.output == "onehot":
                outs += [f"{stem}_{i}" for i in range(slot["n_tokens"])]
            elif fitted.columns[slot["column"]]["kind"] == "numeric":
                outs += [f"{stem}_{i}" for i in range(slot["n_values"])]
        return np.array(outs, dtype=object)

    @property
    def bin_edges_(self) -> list[np.ndarray]:
        """The edges of the numeric columns."""
        return [np.array(c["edges"]) for c in self._fitted().columns if c["kind"] == "numeric"]

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """What was fitted, by column."""
        return self._fitted().columns

    @property
    def slots_(self) -> list[dict[str, Any]]:
        """The columns of tokens: names, first tokens, counts."""
        return self._fitted().slots

    @property
    def n_tokens_(self) -> int:
        """Tokens are below this."""
        return self._fitted().n_tokens

    # Files.

    def to_json(self) -> str:
        return self._fitted().to_json()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the artefact: JSON, exact."""
        self._fitted().save(os.fspath(path))

    def export(self, format: str, path: str | os.PathLike | None = None) -> str:  # noqa: A002
        """For other libraries: "hugging-face", "lightgbm", "xgboost" or "scikit-learn"."""
        text = self._fitted().export(format)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    @classmethod
    def load(cls, path: str | os.PathLike) -> Tokenizer:
        """A tokenizer from its artefact."""
        return cls._of(_Tokenizer.load(os.fspath(path)))

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        return cls._of(_Tokenizer.from_json(text))

    @classmethod
    def _of(cls, fitted: _Tokenizer) -> Tokenizer:
        made = cls()
        made._tokenizer = fitted
        made.n_features_in_ = len(fitted.columns)
        return made

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__()) if hasattr(super(), "__getstate__") else dict(self.__dict__)
        if "_tokenizer" in state:
            state["_tokenizer"] = state["_tokenizer"].to_json()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        if "_tokenizer" in state:
            state["_tokenizer"] = _Tokenizer.from_json(state["_tokenizer"])
        if hasattr(super(), "__setstate__"):
            super().__setstate__(state)
        else:
            self.__dict__.update(state)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_tokenizer")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.transformer_tags.preserves_dtype = []
        return tags


class PartialFit:
    """A fit whose parts run apart, on threads or machines, and merge to the edges of the whole.

        parts = [cw.PartialFit.begin(sample, cw.Tokenizer(bins=64)).fresh() for _ in shards]
        ...each counts its batches; the counts are merged into one part, which plans...
    """

    def __init__(self, part: _PartialFit, tokenizer: Tokenizer) -> None:
        self._part, self._tokenizer = part, tokenizer

    @classmethod
    def begin(cls, sample: Any, tokenizer: Tokenizer) -> PartialFit:
        """Columns, kinds and splitters from some rows, which are not counted."""
        table = tokenizer._read(sample, reset=True).table
        return cls(_PartialFit.begin(table, tokenizer._options(table.names)), tokenizer)

    def fresh(self) -> PartialFit:
        """A part of the same fit that has seen nothing yet."""
        return PartialFit(self._part.fresh(), self._tokenizer)

    def count(self, batch: Any) -> None:
        self._part.count(self._tokenizer._read(batch, reset=False).table)

    def plan(self, memory: int = 1 << 30) -> bool:
        """Ends the counting; True where everything must be counted once more."""
        self._part.plan(memory)
        return self._part.needs_another_pass

    def collect(self, batch: Any) -> None:
        self._part.collect(self._tokenizer._read(batch, reset=False).table)

    def merge(self, other: PartialFit) -> None:
        """Adds what another part counted or collected."""
        self._part.merge(other._part)

    def finish(self) -> Tokenizer:
        """The exact tokenizer."""
        return Tokenizer._of(self._part.finish())

    def estimate(self) -> Tokenizer:
        """A tokenizer from one pass: its edges are off by at most rank_errors of the rows."""
        return Tokenizer._of(self._part.estimate())

    @property
    def rank_errors(self) -> list[float]:
        return self._part.rank_errors


def _weights(sample_weight: Any) -> np.ndarray:
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got {weights.ndim}D array.")
    return weights


def _target(y: Any) -> np.ndarray:
    """Classes as whole numbers, regression targets as floats."""
    array = np.asarray(y)
    if array.dtype.kind == "f":
        return array.astype(np.float64)
    return np.unique(array, return_inverse=True)[1].astype(np.int64)


def _token_array(tokens: Any) -> np.ndarray:
    if _is_device_array(tokens):
        return from_dlpack(tokens).to("cpu").numpy()
    array = np.asarray(tokens)
    if array.dtype.kind == "u" and array.dtype.itemsize > 2:
        return array.astype("int64")
    return array if array.dtype.kind in "iu" else array.astype("int64")
