"""Turns tables into tokens and back, with scikit-learn's interface.

    tok = cw.Tokenizer(bins=256).fit(frame)   # pandas, polars, Arrow, NumPy, torch, CuPy, cw.Tensor
    ids = tok.transform(frame)                # uint8 or wider, on the table's device
    tok.save("tok.json")                      # JSON, exact

Edges are exact quantiles of all rows, the same bits on every device. Options have the same names as
those of `causeway tokenizer`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ._core import Tensor, _PartialFit, _Tokenizer, asarray
from ._estimator import BaseEstimator, NotFittedError, TransformerMixin
from ._tables import read_input, read_target, read_tokens, read_weights
from ._settings import to_json
from .partial_fit import PartialFit

__all__ = ["PartialFit", "Tokenizer"]


class Tokenizer(TransformerMixin, BaseEstimator):
    """Fits bins and vocabularies to a table's columns and turns rows into tokens.

    bins: number of bins of numeric columns: an int, a list (by column) or a dict (by name).
    strategy: "quantile" (equal counts), "uniform", "kmeans" or "tree" (needs y).
    quantile: one of NumPy's nine methods; "linear" is the default of numpy.quantile.
    closed: "left" for [a, b), as in scikit-learn; "right" for (a, b], as in pandas.qcut.
    duplicates: duplicate edges are dropped ("drop"), kept so that bin numbers do not change
        ("keep"), or an error ("error"). min_width: with "drop", the minimum width of a bin.
    missing: a token for missing values if the fit has some ("auto"), "always" or "never".
    statistics: compute the counts and medians of bins.
    min_count, max_categories: limits of a vocabulary. unknown_buckets: number of tokens for
        categories outside it. fields: parts of dates, such as ["year", "month", "weekday"].
    global_ids: one vocabulary for all columns, after special_tokens.
    columns: by name, {"age": {"kind": "numeric", "bins": 32}}: kind (numeric, categorical, boolean,
        datetime), bins, strategy, edges, levels, fields.
    output: the result of transform: "tokens", "onehot" or "ple" (piecewise-linear encoding).
    dtype: of tokens: "u8", "u16" or "i32"; default: the smallest that fits.
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

    # Fitting.

    def _options(self, names: list[str]) -> str:
        columns = {name: dict(own) for name, own in (self.columns or {}).items()}
        bins = self.bins
        if isinstance(bins, Mapping):
            for name, count in bins.items():
                columns.setdefault(name, {}).setdefault("bins", int(count))
            bins = 256
        elif not isinstance(bins, (int, np.integer)):
            if len(bins) != len(names):
                raise ValueError(f"bins has {len(bins)} entries, but the table has {len(names)} columns")
            for name, count in zip(names, bins):
                columns.setdefault(name, {}).setdefault("bins", int(count))
            bins = 256
        names_of_settings = (
            "strategy", "quantile", "closed", "duplicates", "min_width", "missing", "statistics",
            "min_count", "max_categories", "unknown_buckets", "fields", "special_tokens",
        )
        settings = {name: getattr(self, name) for name in names_of_settings}
        settings |= {"bins": bins, "global": self.global_ids, "columns": columns}
        return to_json(settings)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Tokenizer:
        """Fits edges and vocabularies. y is the target of the strategy "tree"."""
        if self.output not in ("tokens", "onehot", "ple"):
            raise ValueError(f'output {self.output!r}: expected "tokens", "onehot" or "ple"')
        given = read_input(self, X, reset=True)
        weights = None if sample_weight is None else asarray(read_weights(sample_weight))
        uses_target = self.strategy == "tree" or any(
            own.get("strategy") == "tree" for own in (self.columns or {}).values()
        )
        target = asarray(read_target(y)) if uses_target and y is not None else None
        self._tokenizer = _Tokenizer.fit(given.table, self._options(given.table.names), weights, target)
        return self

    def fit_batches(
        self, batches: Callable[[], Iterable[Any]] | Sequence[Any], memory: int = 1 << 30
    ) -> Tokenizer:
        """Fits to batches that need not fit in memory together; the result is that of one fit.

        batches: a sequence, or a function that returns a new iterator. They are read twice, or three
        times if the second pass would need more than `memory` bytes.
        """
        produce = batches if callable(batches) else lambda: batches
        part = None
        while part is None or part.needs_another_pass:
            for batch in produce():
                table = read_input(self, batch, reset=part is None).table
                if part is None:
                    part = _PartialFit.begin(table, self._options(table.names))
                part.count(table)
            if part is None:
                raise ValueError("no batches to fit")
            part.plan(memory)
        for batch in produce():
            part.collect(read_input(self, batch, reset=False).table)
        self._tokenizer = part.finish()
        return self

    def partial(self, X: Any) -> PartialFit:
        """One part of a distributed fit, over the rows X: save it and merge it with others."""
        part = PartialFit.begin(X, self)
        part.count(X)
        return part

    # Using.

    def _fitted(self) -> _Tokenizer:
        try:
            return self._tokenizer
        except AttributeError:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet; call fit first, or load one."
            ) from None

    def transform(self, X: Any) -> Any:
        """Tokens (rows, slots), or the encoding named by `output`, as an array of X's library."""
        fitted = self._fitted()
        given = read_input(self, X, reset=False)
        if self.output == "onehot":
            return given.back(fitted.one_hot(given.table))
        if self.output == "ple":
            return given.back(fitted.piecewise_linear(given.table))
        return given.back(fitted.encode(given.table, self.dtype))

    def inverse_transform(self, tokens: Any, how: str = "centre") -> Any:
        """Decodes tokens: the "centre", "median" or "range" of a bin, a category, a field of a date.

        Returns an array if all columns are numeric, else a pandas DataFrame, or a dict without pandas.
        """
        fitted = self._fitted()
        source = tokens if isinstance(tokens, Tensor) else asarray(read_tokens(tokens))
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
        """Drift of X from the data of the fit: counts per token, rates of missing values and unseen
        categories, population stability index."""
        return self._fitted().drift(read_input(self, X, reset=False).table)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns that transform returns."""
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
        """Edges of the numeric columns."""
        return [np.array(c["edges"]) for c in self._fitted().columns if c["kind"] == "numeric"]

    @property
    def columns_(self) -> list[dict[str, Any]]:
        """The fitted columns."""
        return self._fitted().columns

    @property
    def slots_(self) -> list[dict[str, Any]]:
        """The token columns: names, first tokens, counts."""
        return self._fitted().slots

    @property
    def n_tokens_(self) -> int:
        """Upper bound of the tokens (exclusive)."""
        return self._fitted().n_tokens

    # Files.

    def to_json(self) -> str:
        return self._fitted().to_json()

    def save(self, path: str | os.PathLike) -> None:
        """Writes the artefact, a JSON file."""
        self._fitted().save(os.fspath(path))

    def export(self, format: str, path: str | os.PathLike | None = None) -> str:  # noqa: A002
        """Exports to the format of "hugging-face", "lightgbm", "xgboost" or "scikit-learn"."""
        text = self._fitted().export(format)
        if path is not None:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return text

    @classmethod
    def load(cls, path: str | os.PathLike) -> Tokenizer:
        """Reads an artefact."""
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
