"""The importance of columns for an estimator's predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Importance"]


@dataclass(frozen=True)
class Importance:
    """How much predictions change without each column: the mean Kullback-Leibler divergence, in nats, of
    the prediction with all columns from the one in which the column is missing in the query rows."""

    names: list[str]
    values: np.ndarray

    def ranked(self) -> list[tuple[str, float]]:
        """Names and values, greatest first."""
        return [(self.names[i], float(self.values[i])) for i in np.argsort(-self.values, kind="stable")]

    def plot(self, ax: Any = None, most: int = 20) -> Any:
        """Draws the greatest values as horizontal bars; returns matplotlib's axes."""
        if ax is None:
            from matplotlib import pyplot

            _, ax = pyplot.subplots(layout="constrained")
        shown = self.ranked()[:most][::-1]
        ax.barh([name for name, _ in shown], [value for _, value in shown])
        ax.set_xlabel("change of the prediction without the column (nats)")
        return ax
