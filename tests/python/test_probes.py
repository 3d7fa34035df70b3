"""Rules that the packaged classifier learns from a context, on columns that it has never seen."""

import sys

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


def scores_of(rule, model=None):
    """The ROC AUC of four draws."""
    scores = []
    for seed in range(4):
        x, y = rule(np.random.default_rng(seed))
        x, y = x.astype(float), y.astype(int)
        classifier = cw.TabularClassifier(model=model, device="cpu").fit(x[:400], y[:400])
        scores.append(metrics.roc_auc_score(y[400:], classifier.predict_proba(x[400:])[:, 1]))
    return scores


@pytest.mark.parametrize("rule, least", [(parity, 0.95), (xor_of_numbers, 0.99), (xor_of_bits, 0.99),
                                         (lookup, 0.99), (lines, 0.95)])
def test_rules(rule, least):
    scores = scores_of(rule)
    assert np.mean(scores) >= least, scores


if __name__ == "__main__":  # python3 tests/python/test_probes.py [model.safetensors]
    for each in (parity, xor_of_numbers, xor_of_bits, lookup, lines):
        found = scores_of(each, *sys.argv[1:])
        print(f"{each.__name__:15s} {np.mean(found):.3f}  " + " ".join(f"{score:.3f}" for score in found))
