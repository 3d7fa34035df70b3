"""Typed tables for the estimators.

    train = cw.tables.read_csv("train.csv")
    clf = cw.TabularClassifier().fit(train, "species")
    clf.predict_proba(cw.tables.read_csv("test.csv"))

The program `causeway predict` and C++ read files the same way and give the same probabilities.
"""

from __future__ import annotations

import os

from ._core import _read_csv_table
from ._core import _Table as Table

__all__ = ["Table", "read_csv"]


def read_csv(path: str | os.PathLike[str]) -> Table:
    """Reads a CSV file. A column is numeric if every cell that is not missing is a number, else
    boolean (true, false), else datetime (ISO 8601), else text. Missing-value markers are those of
    pandas.read_csv."""
    return _read_csv_table(os.fspath(path))
