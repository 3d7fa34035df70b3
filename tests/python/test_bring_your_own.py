"""The code of docs/bring-your-own.md, with small models and few steps."""

import re
from pathlib import Path

import causeway as cw
import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "bring-your-own.md"
SMALL = {"width": 16, "heads": 2, "hidden": 24, "layers": 1, "thinking": 2}


def blocks(section):
    text = PAGE.read_text("utf-8").split(f"\n## {section}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def namespace(monkeypatch, tmp_path):
    """Runs are shortened; each is kept in `runs`."""
    runs = []
    full = cw.pretrain

    def short(*arguments, **options):
        small = {} if "model" in options else SMALL
        sizes = {} if "batches" in options else {"batch": 4}
        runs.append(full(*arguments, **options | small | sizes | {"steps": 2, "log_steps": 1, "device": "cpu"}))
        return runs[-1]

    monkeypatch.setattr(cw, "pretrain", short)
    monkeypatch.chdir(tmp_path)
    return {"cw": cw, "np": np, "runs": runs, "my_score": lambda model: 0.5}


def test_batches(namespace):
    for block in blocks("Batches"):
        exec(block, namespace)
    assert len(namespace["runs"]) == 1 and len(namespace["done"].log) == 2


def test_priors(namespace):
    for block in blocks("Priors"):
        exec(compile_with_source(block), namespace)
    families = [run.config["families"] for run in namespace["runs"]]
    assert families == ["circles=1", "circles=0.3", "rings=0.5"]
    assert set(namespace["circles"].dataset(7, rows=64, features=2, classes=2)[1]) == {0, 1}
    labels = cw.prior.family(namespace["rings"]).dataset(0, rows=64, features=3, classes=2)[1]
    assert set(labels) == {0, 1}


def compile_with_source(block):
    """Kernels are read from their source, which inspect finds in a file."""
    path = Path("block.py")
    path.write_text(block)
    return compile(block, str(path.resolve()), "exec")


def test_models_and_callbacks(namespace, tmp_path, capsys):
    exec(blocks("Priors")[0].split("cw.pretrain")[0], namespace)
    for block in blocks("Models") + blocks("Evaluation and callbacks"):
        exec(block, namespace)
    assert isinstance(namespace["runs"][0].model, namespace["Neighbours"])
    assert namespace["runs"][1].log[-1]["score"] == 0.5
    assert len(capsys.readouterr().out.splitlines()) == 2 and list((tmp_path / "events").iterdir())


class Dump:
    """What the page uses of a datasets.Dataset."""

    def __init__(self, table, first=0):
        self.table, self.first = table, first

    def skip(self, n):
        return Dump(self.table, self.first + n)

    def iter(self, size, drop_last_batch):
        for begin in range(self.first, len(self.table["X"]) - size + 1, size):
            yield {name: values[begin : begin + size] for name, values in self.table.items()}


def test_a_dump_is_a_source_of_batches(namespace):
    """The batches of the page are those of the prior that made the dump."""
    prior = cw.Prior("mlp", rows=(16, 24), features=(2, 4), classes=2)
    batch = prior.batch(64)
    table = {"X": batch.x.numpy(), "y": batch.y.numpy(), "single_eval_pos": batch.n_train, "num_classes": batch.n_classes,
             "num_datapoints": batch.n_rows, "num_features": batch.n_features}  # fmt: skip
    namespace["data"] = Dump(table)
    exec(blocks("Hugging Face")[1], namespace)
    found = namespace["runs"][0]
    expected = cw.pretrain(batches=(prior.batch(32, first=32 * k) for k in range(2)))
    assert [line["loss"] for line in found.log] == [line["loss"] for line in expected.log]
