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

from ._core import Tensor, _PartialFit, _Tokenizer, asarray
from ._estimator import BaseEstimator, NotFittedError, TransformerMixin
from ._tables import read_input, read_target, read_tokens, read_weights
from ._settings import to_json
from .partial_fit import PartialFit

__all__ = ["PartialFit", "Tokenizer"]


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
                raise ValueError(f"{len(bins)} numbers of bins for {len(names)} columns")
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
        """Finds edges and vocabularies. y is the target of the strategy "tree"."""
        if self.output not in ("tokens", "onehot", "ple"):
            raise ValueError(f'output is "tokens", "onehot" or "ple", not {self.output!r}')
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
        """The same fit over batches that need not be in memory together.

        batches: a sequence, or a function that begins to yield them anew. They are read twice, and
        only where what has to be kept exceeds `memory` bytes once more. The edges are those of a
        fit of everything at once.
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
                raise ValueError("there are no batches to fit")
            part.plan(memory)
        for batch in produce():
            part.collect(read_input(self, batch, reset=False).table)
        self._tokenizer = part.finish()
        return self

    def partial(self, X: Any) -> PartialFit:
        """The part of a fit that X is of: to be saved, sent and merged with others."""
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
        """Tokens (rows, slots), or what `output` says; in the library that X is of."""
        fitted = self._fitted()
        given = read_input(self, X, reset=False)
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
        """How X differs from the data at fit: counts a token, missing and unknown rates, PSI."""
        return self._fitted().drift(read_input(self, X, reset=False).table)

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
