"""Rules that the packaged classifier learns from a context, on columns that it has never seen."""

import numpy as np
import pytest

import causeway as cw

metrics = pytest.importorskip("sklearn.metrics")

# Rows, columns and diagonals of a 3 x 3 board.
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


def parity(rng):
    x = rng.integers(0, 2, (800, 10))
    return x, x[:, :3].sum(axis=1) % 2


def xor_of_numbers(rng):
    x = rng.normal(size=(800, 10))
    return x, (x[:, 0] > 0) ^ (x[:, 1] > 0)


def xor_of_bits(rng):
    x = rng.integers(0, 2, (800, 10))
    return x, x[:, 0] ^ x[:, 1]


def lookup(rng):
    x = rng.integers(0, 4, (800, 10))
    return x, rng.permutation(16).reshape(4, 4)[x[:, 0], x[:, 1]] % 2


def lines(rng):
    x = rng.integers(0, 3, (800, 9))
    return x, np.any([(x[:, line] == 0).all(axis=1) for line in map(list, LINES)], axis=0)


@pytest.mark.parametrize("rule, least", [(parity, 0.95), (xor_of_numbers, 0.99), (xor_of_bits, 0.99),
                                         (lookup, 0.99), (lines, 0.9)])
def test_rules(rule, least):
    x, y = rule(np.random.default_rng(0))
    x, y = x.astype(float), y.astype(int)
    classifier = cw.TabularClassifier(n_estimators=1, device="cpu").fit(x[:400], y[:400])
    score = metrics.roc_auc_score(y[400:], classifier.predict_proba(x[400:])[:, 1])
    assert score >= least
