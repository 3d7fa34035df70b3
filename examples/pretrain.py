"""Trains a tiny tabular transformer for some seconds on datasets that a prior makes meanwhile, and asks
it about a table it has never seen.

    python examples/pretrain.py [device]

Ends with an error where it is no better than always saying the likelier class.
"""

import sys

import causeway as cw
import numpy as np
from sklearn.datasets import load_breast_cancer


def tell(line):
    print(f"step {line['step']:4}  loss {line['loss']:.3f}  "
          f"{line['datasets_per_second']:.0f} datasets/s")


def two_halves(seed=0):
    """Four columns of a table of tumours: rows to know, and rows to tell."""
    x, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(x))[:200]
    x, y = x[rows][:, [0, 1, 4, 6]].astype(np.float32), y[rows].astype(np.float32)
    return x[None, :100], y[None, :100], x[None, 100:], y[100:]


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    done = cw.pretrain(
        "simple", rows=32, features=4, classes=2, width=16, heads=2, hidden=32, layers=2,
        group=1, thinking=0, batch=8, steps=400, learning_rate=1e-2, warmup=10, log_steps=50,
        device=device, progress=tell,
    )  # fmt: skip
    x, y, x_new, y_new = two_halves()
    context = done.model.encode_context(x, y)
    said = done.model.predict_logits(context, x_new).numpy()[0].argmax(axis=1)
    right = (said == y_new).mean()
    likelier = max(y_new.mean(), 1 - y_new.mean())
    print(f"right about {right:.0%} of 100 tumours; always the likelier kind: {likelier:.0%}")
    if not right > likelier:
        sys.exit("it learned nothing")


if __name__ == "__main__":
    main()
