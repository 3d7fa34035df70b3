"""Goodness-of-fit tests: each fails at a p-value below 1e-4."""

import numpy as np
import pytest

stats = pytest.importorskip("scipy.stats")

LEAST = 1e-4


def fits(sample, cdf):
    """Kolmogorov and Smirnov: one sample against a law, or against another sample."""
    test = stats.kstest if callable(cdf) else stats.ks_2samp
    result = test(np.asarray(sample, float), cdf)
    assert result.pvalue > LEAST, result


def counts_fit(observed, expected):
    """Chi-square; classes that are expected less than five times are put together."""
    observed, expected = np.asarray(observed, float), np.asarray(expected, float)
    expected = expected * observed.sum() / expected.sum()
    rare = expected < 5
    if rare.any():
        observed = np.append(observed[~rare], observed[rare].sum())
        expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    assert observed[~keep].sum() == 0
    result = stats.chisquare(observed[keep], expected[keep])
    assert result.pvalue > LEAST, (result, observed, expected)


def same_counts(ours, theirs):
    """Two samples of whole numbers come from one law."""
    top = int(max(ours.max(), theirs.max())) + 1
    table = np.stack([np.bincount(a.astype(int), minlength=top) for a in (ours, theirs)])
    rare = table.sum(0) < 10
    table = np.concatenate([table[:, ~rare], table[:, rare].sum(1, keepdims=True)], 1)
    table = table[:, table.sum(0) > 0]
    if table.shape[1] > 1:
        result = stats.chi2_contingency(table)
        assert result.pvalue > LEAST, (result.pvalue, table)


def rate_is(successes, n, p):
    result = stats.binomtest(int(successes), int(n), p)
    assert result.pvalue > LEAST, (successes / n, p)


def log_integer_shares(low, high):
    """Of floor(exp(U(ln low, ln high)))."""
    edges = np.log(np.arange(low, high + 1))
    return np.diff(edges) / (edges[-1] - edges[0])
