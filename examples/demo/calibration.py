"""How far what a classifier said can be relied on: of the rows it was 80 % sure of, were 80 % right?"""

from dataclasses import dataclass

import numpy as np


@dataclass
class Bin:
    """Rows to whose likeliest class a share from low to high was given."""

    low: float
    high: float
    count: int
    said: float  # the mean share
    right: float  # how many of them were right, as a share


def reliability(said, n_bins=10):
    """Bins of equal width, those without rows left out; `said` has a share and a verdict a row."""
    shares, right = np.array(said, dtype=float).T
    places = np.minimum((shares * n_bins).astype(int), n_bins - 1)
    bins = []
    for k in np.unique(places):
        here = places == k
        bins.append(Bin(k / n_bins, (k + 1) / n_bins, int(here.sum()), shares[here].mean(), right[here].mean()))
    return bins


def calibration_error(bins):
    """The mean distance between said and right, over rows."""
    return sum(b.count * abs(b.said - b.right) for b in bins) / sum(b.count for b in bins)
