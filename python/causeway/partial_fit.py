"""Distributed fits of a tokenizer."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._core import _PartialFit
from ._estimator import BaseEstimator
from ._tables import read_input

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

__all__ = ["PartialFit"]


class PartialFit:
    """One part of a distributed fit; merged parts give the same tokenizer as one fit of all rows.

    On each machine, with its rows:
        cw.Tokenizer(bins=64).partial(rows).save("a.cwp")
    On one machine:
        plan = cw.PartialFit.merged(["a.cwp", "b.cwp"])
        plan.plan()                    # True (rare): another counting pass is needed
        plan.save("plan.cwp")
    On each machine:
        cw.PartialFit.load("plan.cwp").partial(rows).save("a.cwp")
    On one machine:
        tok = cw.PartialFit.merged(["a.cwp", "b.cwp"]).finish()

    estimate() gives an approximate tokenizer after one pass, with edges whose rank error is at most
    rank_errors, as a fraction of the rows.
    """

    def __init__(self, part: _PartialFit) -> None:
        self._part = part

    @classmethod
    def begin(cls, sample: Any, tokenizer: Tokenizer) -> PartialFit:
        """Starts a fit: columns, kinds and splitters from a sample, whose rows are not counted."""
        table = _table(sample)
        return cls(_PartialFit.begin(table, tokenizer._options(table.names)))

    @classmethod
    def merged(cls, parts: Iterable[PartialFit | str | os.PathLike]) -> PartialFit:
        """Merges parts, or their files, in any order."""
        whole = None
        for part in parts:
            part = part if isinstance(part, PartialFit) else cls.load(part)
            if whole is None:
                whole = part.fresh()
            whole.merge(part)
        if whole is None:
            raise ValueError("no parts to merge")
        return whole

    def fresh(self) -> PartialFit:
        """An empty part of the same fit."""
        return PartialFit(self._part.fresh())

    def partial(self, rows: Any) -> PartialFit:
        """An empty part to which the rows are added: counted, or collected if there is a plan."""
        part = self.fresh()
        (part.collect if self.has_plan else part.count)(rows)
        return part

    def count(self, batch: Any) -> None:
        """Counts the rows of a batch (first pass)."""
        self._part.count(_table(batch))

    def plan(self, memory: int = 1 << 30) -> bool:
        """Plans the second pass; returns whether another counting pass is needed first."""
        self._part.plan(memory)
        return self._part.needs_another_pass

    def collect(self, batch: Any) -> None:
        """Collects the values of a batch that the plan needs (second pass)."""
        self._part.collect(_table(batch))

    def merge(self, other: PartialFit) -> None:
        """Adds the counts or values of another part."""
        self._part.merge(other._part)

    def finish(self) -> Tokenizer:
        """The exact tokenizer."""
        return _tokenizer_of(self._part.finish())

    def estimate(self) -> Tokenizer:
        """An approximate tokenizer after one pass; see rank_errors."""
        return _tokenizer_of(self._part.estimate())

    @property
    def rank_errors(self) -> list[float]:
        """Bound of the rank error of estimate()'s edges, by column, as a fraction of the rows."""
        return self._part.rank_errors

    @property
    def has_plan(self) -> bool:
        """Whether the next pass collects values instead of counting."""
        return self._part.has_plan

    @property
    def n_rows(self) -> int:
        """Number of rows counted in the first pass."""
        return self._part.n_rows

    def save(self, path: str | os.PathLike) -> None:
        """Writes the part or plan to a safetensors file."""
        self._part.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike) -> PartialFit:
        return cls(_PartialFit.load(os.fspath(path)))

    def __reduce__(self) -> tuple[Any, ...]:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "part.cwp")
            self.save(file)
            return _restore, (file.read_bytes(),)


def _restore(data: bytes) -> PartialFit:
    """A part from the bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "part.cwp")
        file.write_bytes(data)
        return PartialFit.load(file)


def _table(rows: Any) -> Any:
    return read_input(BaseEstimator(), rows, reset=True, least_rows=0).table


def _tokenizer_of(fitted: Any) -> Tokenizer:
    from .tokenizer import Tokenizer

    return Tokenizer._of(fitted)
