"""Trains a tiny tabular transformer for a few seconds on datasets generated on the fly, and predicts the
classes of a real table.

    python examples/pretrain.py [device]

Exits with an error if the accuracy is not above that of the majority class.
"""

import sys

import causeway as cw
import numpy as np
from sklearn.datasets import load_breast_cancer


def report(line):
    print(f"step {line['step']:4}  loss {line['loss']:.3f}  "
          f"{line['datasets_per_second']:.0f} datasets/s")


def split(seed=0):
    """Context rows and query rows of four columns of a table of tumours."""
    x, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(x))[:200]
    x, y = x[rows][:, [0, 1, 4, 6]].astype(np.float32), y[rows].astype(np.float32)
    return x[None, :100], y[None, :100], x[None, 100:], y[100:]


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    done = cw.pretrain(
        "simple", rows=32, features=4, classes=2, width=16, heads=2, hidden=32, layers=2,
        group=1, thinking=0, batch=8, steps=400, learning_rate=1e-2, warmup=10, log_steps=50,
        device=device, progress=report,
    )  # fmt: skip
    x, y, x_new, y_new = split()
    context = done.model.encode_context(x, y)
    predicted = done.model.predict_logits(context, x_new).numpy()[0].argmax(axis=1)
    accuracy = (predicted == y_new).mean()
    majority = max(y_new.mean(), 1 - y_new.mean())
    print(f"accuracy {accuracy:.0%} on 100 query rows; majority class: {majority:.0%}")
    if not accuracy > majority:
        sys.exit("the accuracy is not above that of the majority class")


if __name__ == "__main__":
    main()
