"""Fits in parts that run apart and merge."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ._core import _PartialFit
from ._estimator import BaseEstimator
from ._tables import read_input

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["PartialFit"]


class PartialFit:
    """A fit whose parts run apart, on threads or machines, and merge to the edges of the whole.

    On each machine, over its own rows:
        cw.Tokenizer(bins=64).partial(rows).save("a.cwp")
    on one of them:
        plan = cw.PartialFit.merged(["a.cwp", "b.cwp"])
        plan.plan()                    # True, rarely: count against this plan, and plan again
        plan.save("plan.cwp")
    on each machine again:
        cw.PartialFit.load("plan.cwp").partial(rows).save("a.cwp")
    and at last:
        tok = cw.PartialFit.merged(["a.cwp", "b.cwp"]).finish()

    The tokenizer is that of one fit of all rows. After one pass there is estimate(), whose edges
    are off by at most rank_errors of the rows.
    """

    def __init__(self, part: _PartialFit) -> None:
        self._part = part

    @classmethod
    def begin(cls, sample: Any, tokenizer: Tokenizer) -> PartialFit:
        """Columns, kinds and splitters from some rows, which are not counted."""
        table = _table(sample)
        return cls(_PartialFit.begin(table, tokenizer._options(table.names)))

    @classmethod
    def merged(cls, parts: Iterable[PartialFit | str | os.PathLike]) -> PartialFit:
        """One part of many, or of their files, in any order."""
        whole = None
        for part in parts:
            part = part if isinstance(part, PartialFit) else cls.load(part)
            if whole is None:
                whole = part.fresh()
            whole.merge(part)
        if whole is None:
            raise ValueError("there are no parts to merge")
        return whole

    def fresh(self) -> PartialFit:
        """A part of the same fit that has seen nothing yet."""
        return PartialFit(self._part.fresh())

    def partial(self, rows: Any) -> PartialFit:
        """A fresh part that has counted the rows, or collected them where there is a plan."""
        part = self.fresh()
        (part.collect if self.has_plan else part.count)(rows)
        return part

    def count(self, batch: Any) -> None:
        self._part.count(_table(batch))

    def plan(self, memory: int = 1 << 30) -> bool:
        """Ends the counting; True where everything must be counted once more."""
        self._part.plan(memory)
        return self._part.needs_another_pass

    def collect(self, batch: Any) -> None:
        self._part.collect(_table(batch))

    def merge(self, other: PartialFit) -> None:
        """Adds what another part counted or collected."""
        self._part.merge(other._part)

    def finish(self) -> Tokenizer:
        """The exact tokenizer."""
        return _tokenizer_of(self._part.finish())

    def estimate(self) -> Tokenizer:
        """A tokenizer from one pass: its edges are off by at most rank_errors of the rows."""
        return _tokenizer_of(self._part.estimate())

    @property
    def rank_errors(self) -> list[float]:
        return self._part.rank_errors

    @property
    def has_plan(self) -> bool:
        """Whether rows are to be collected now, and not counted."""
        return self._part.has_plan

    @property
    def n_rows(self) -> int:
        """Rows of the first pass."""
        return self._part.n_rows

    def save(self, path: str | os.PathLike) -> None:
        """Writes the part, or the plan: a safetensors file with a hash."""
        self._part.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike) -> PartialFit:
        return cls(_PartialFit.load(os.fspath(path)))


def _table(rows: Any) -> Any:
    return read_input(BaseEstimator(), rows, reset=True, least_rows=0).table


def _tokenizer_of(fitted: Any) -> Tokenizer:
    from .tokenizer import Tokenizer

    return Tokenizer._of(fitted)
