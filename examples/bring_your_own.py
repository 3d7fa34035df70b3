"""Custom batches, prior family, model and callbacks in cw.pretrain, in seconds on a CPU.

    python examples/bring_your_own.py [device]

Exits with an error if a run does not learn.
"""

import sys
import tempfile
from pathlib import Path

import causeway as cw
import numpy as np

SMALL = {
    "classes": 2, "width": 16, "heads": 2, "hidden": 32, "layers": 2, "group": 1, "thinking": 0,
    "learning_rate": 1e-2, "warmup": 10, "log_steps": 20,
}  # fmt: skip
SIZES = {"rows": 32, "features": 2, "classes": 2, "batch": 8}


def batch(k):
    """Eight tables whose labels are the sign of the first column."""
    x = np.random.default_rng(k).normal(size=(8, 32, 2)).astype(np.float32)
    return {"x": x, "y": (x[:, :, 0] > 0).astype(np.int64), "n_context": 16}


def batches_from(first):
    """The batches of the steps after `first`."""
    return map(batch, range(first, 220))


@cw.prior.family
def circles(rng, rows, features, classes):
    """Classes are rings around the origin."""
    x = rng.normal(size=(rows, features))
    radius = np.linalg.norm(x, axis=1)
    return x, np.digitize(radius, np.quantile(radius, np.arange(1, classes) / classes))


@cw.kernel
def halves(seeds: cw.array(dtype=int), classes: cw.array(dtype=int), x: cw.array(dtype=float, ndim=3),
           y: cw.array(dtype=float, ndim=2)):  # fmt: skip
    k, i = cw.tid()
    state = cw.rand_init(seeds[k], i)
    for j in range(x.shape[2]):
        x[k, i, j] = cw.randn(state)
    y[k, i] = 0.0
    if x[k, i, 0] > 0.0:
        y[k, i] = 1.0


class Neighbours(cw.nn.Module):
    """Softmax attention from query rows to context rows, whose labels are the values."""

    def __init__(self, features, classes, width=16):
        super().__init__()
        self.embed = cw.nn.Linear(features, width)
        self.classes = classes

    def forward(self, x, y, n_context):
        h = self.embed(x)
        weights = (h[:, n_context:] @ h[:, :n_context].transpose(1, 2)).softmax(dim=-1)
        labels = cw.nn.functional.one_hot(y.to("i64"), self.classes).to("f32")
        return (weights @ labels + 1e-3).log()


class Collect:
    """A callback that keeps what it is called with."""

    def __init__(self):
        self.losses, self.scores, self.checkpoints = [], [], []

    def on_step(self, line):
        self.losses.append(line["loss"])

    def on_evaluate(self, line):
        self.scores.append(line["score"])

    def on_checkpoint(self, step, path):
        self.checkpoints.append(path.name)


def accuracy(model):
    """On tables that are not among the batches."""
    held_out = batch(1_000_000)
    logits = model.logits(held_out["x"], held_out["y"], held_out["n_context"]).to("cpu").numpy()[:, 16:]
    return float((logits.argmax(axis=2) == held_out["y"][:, 16:]).mean())


def show(what, done):
    first, last = done.log[0]["loss"], done.log[-1]["loss"]
    print(f"{what:32} loss {first:.3f} -> {last:.3f}")
    if not last < 0.9 * first:
        sys.exit(f"{what}: the loss did not fall")


def main():
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    options = {"device": device, "steps": 200}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        seen = Collect()
        done = cw.pretrain(batches=batches_from, evaluate=accuracy, evaluate_steps=100, out=out,
                           callbacks=[seen, cw.callbacks.TensorBoard(Path(folder) / "events")], **SMALL, **options)
        show("batches", done)
        print(f"  accuracy {seen.scores}, checkpoints {seen.checkpoints}")
        resumed = cw.pretrain(batches=batches_from, out=out, resume=True, steps=220, device=device)
        print(f"  resumed at step 200, continued to step {resumed.log[-1]['step']}")
        done.model.save_pretrained(Path(folder) / "model", run=done)
        loaded = cw.models.TabularTransformer.from_pretrained(Path(folder) / "model", device=device)
        print(f"  saved and loaded: accuracy {accuracy(loaded):.2f}")
    show("a function", cw.pretrain(circles, **SMALL | SIZES, **options | {"steps": 400}))
    show("a kernel and a built-in family", cw.pretrain({halves: 3, "linear": 1}, **SMALL | SIZES, **options))
    show("a model", cw.pretrain({halves: 1}, model=Neighbours(2, 2), train_share=0.5, learning_rate=3e-2, log_steps=20,
                                **SIZES, **options))


if __name__ == "__main__":
    main()
