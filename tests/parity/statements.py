"""Everyday PyTorch statements, in statements.txt: expressions of `torch`, `nn`, `F` and a few inputs. Each runs
with PyTorch and with the package; values, shapes, dtypes and gradients must agree. After "shape: " only shape and
dtype are compared, since the numbers are random."""

from pathlib import Path

import numpy as np


def inputs():
    """Arrays by name. x, y, w, v, p, z and b are tracked; the others are not floating."""
    rng = np.random.default_rng(3)
    return {
        "x": rng.normal(size=(3, 4)).astype("f4"),
        "y": rng.normal(size=(3, 4)).astype("f4"),
        "w": rng.normal(size=(5, 4)).astype("f4"),
        "v": rng.normal(size=(4,)).astype("f4"),
        "p": rng.uniform(0.1, 0.9, size=(3, 4)).astype("f4"),
        "z": rng.normal(size=(2, 3, 4)).astype("f4"),
        "s": rng.normal(size=(4, 4)).astype("f4"),
        "q": rng.normal(size=(2, 2, 5, 8)).astype("f4"),
        "k": rng.normal(size=(2, 2, 5, 8)).astype("f4"),
        "i": np.array([[0, 2, 1, 3], [3, 3, 0, 1], [1, 0, 2, 2]]),
        "j": np.array([2, 0, 1]),
        "n": np.array([5, -3, 7, 2]),
        "m": np.array([[True, False, True, True], [False, False, True, False], [True, True, False, True]]),
    }


def read():
    """The statements by group, from statements.txt."""
    groups = {}
    for line in (Path(__file__).parent / "statements.txt").read_text().splitlines():
        if line.startswith("## "):
            groups[line[3:]] = []
        elif line:
            groups[list(groups)[-1]].append(line)
    return groups


GROUPS = read()
