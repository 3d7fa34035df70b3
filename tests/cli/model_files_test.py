"""Which model files `causeway predict` and `causeway evaluate` use, and files that someone else made.

Usage: model_files_test.py build/causeway
"""

import json
import os
import pty
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import predict_runs
from predict_runs import causeway, write_model


class PackagedWeights(unittest.TestCase):
    """Without --model, the target says which of two models is wanted, and folders where it is."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        (cls.path / "none").mkdir()
        cls.weights = cls.path / "weights"
        cls.weights.mkdir()
        for name, flags in {"tabular": [], "tabular_regression": ["--regression"]}.items():
            code, _, err = causeway(
                "pretrain", "--out", cls.path / name, "--prior", "mlp", "--rows", 16, "--features", "1:4",
                "--width", 8, "--heads", 1, "--hidden", 8, "--layers", 1, "--batch", 2, "--steps", 2,
                "--device", "cpu", *flags
            )  # fmt: skip
            assert code == 0, err
            shutil.copy(cls.path / name / "model.safetensors", cls.weights / f"{name}.safetensors")
        rng = random.Random(3)
        rows = [f'{rng.gauss(0, 1):.3f},{"ab"[i % 2]},{i % 10},{i % 11},{i % 3 / 2}\n' for i in range(44)]
        (cls.path / "data.csv").write_text("x,word,ten,eleven,halves\n" + "".join(rows))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def evaluate(self, *arguments, program=None, **environment):
        """What was scored: roc_auc of classes or r2 of numbers."""
        words = ["evaluate", self.path / "data.csv", "--splits", 1, "--json", "--device", "cpu", *arguments]
        code, out, err = causeway(*words, program=program, **environment)
        self.assertEqual(code, 0, err)
        scores = json.loads(out)
        return next(name for name in ("roc_auc", "r2") if name in scores)

    def test_target_decides_the_task(self):
        here = {"CAUSEWAY_WEIGHTS": str(self.weights)}
        for target, score in {"word": "roc_auc", "ten": "roc_auc", "eleven": "r2", "halves": "r2"}.items():
            self.assertEqual(self.evaluate("--target", target, **here), score, target)
        self.assertEqual(self.evaluate("--target", "ten", "--task", "regression", **here), "r2")
        self.assertEqual(self.evaluate("--target", "halves", "--task", "classification", **here), "roc_auc")

    def test_predict(self):
        test = self.path / "asked.csv"
        test.write_text("x,ten,eleven,halves\n0.5,1,2,0.5\n")
        words = ["predict", self.path / "data.csv", test, "--target", "word", "--device", "cpu"]
        code, out, err = causeway(*words, CAUSEWAY_WEIGHTS=str(self.weights))
        self.assertEqual((code, out.splitlines()[0]), (0, "word,p_a,p_b"), err)
        with_model = causeway(*words, "--model", self.weights / "tabular.safetensors")
        self.assertEqual(with_model[1], out)

    def test_weights_next_to_the_program(self):
        for place in ("bin/python/causeway/weights", "share/causeway/weights"):
            root = self.path / place.split("/")[0]
            root.mkdir()
            (self.path / "bin").mkdir(exist_ok=True)
            program = shutil.copy(predict_runs.PROGRAM, self.path / "bin" / "causeway")
            shutil.copytree(self.weights, self.path / place)
            self.assertEqual(self.evaluate("--target", "word", program=program, CAUSEWAY_WEIGHTS=""), "roc_auc")
            shutil.rmtree(root)

    def test_none(self):
        none = self.path / "none"
        for target, name in {"word": "tabular", "halves": "tabular_regression"}.items():
            code, out, err = causeway("evaluate", self.path / "data.csv", "--target", target,
                                      CAUSEWAY_WEIGHTS=str(none))
            self.assertEqual((code, out), (3, ""))
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertIn(f'no weights found: no {name}.safetensors in "{none}"; pass --model', err)
        code, _, err = causeway("evaluate", self.path / "data.csv", "--target", "word", "--task", "classification",
                                "--model", self.weights / "tabular.safetensors")
        self.assertEqual(code, 2, err)


class Strangers(unittest.TestCase):
    """Files that someone else made."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.model = self.path / "model.safetensors"
        write_model(self.model, 3)

    def write_table(self, one):
        table = self.path / "table.csv"
        table.write_text("x,kind\n" + "".join(f"{i},{one if i % 2 else 'b'}\n" for i in range(20)))
        return table

    def on_a_terminal(self, *arguments):
        """What the program prints on a terminal."""
        ours, theirs = pty.openpty()
        done = subprocess.run([predict_runs.PROGRAM, *arguments], stdout=theirs, stderr=subprocess.PIPE, check=False)
        os.close(theirs)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = os.read(ours, 1 << 16)
        os.close(ours)
        return seen

    def test_terminal_escapes(self):
        """Text of files is escaped on a terminal, and as it is in a file."""
        table = self.write_table("\x1b[31mred\x9b")
        arguments = ["predict", str(table), str(table), "--target", "kind", "--model", str(self.model)]
        seen = self.on_a_terminal(*arguments)
        self.assertIn(b"\\x1b[31mred", seen)
        self.assertNotIn(b"\x1b", seen)
        self.assertIn("\x1b[31mred", causeway(*arguments)[1])
        # One character that is an escape sequence, and one that reverses the text after it.
        name = "\u009b31mred\u202e"
        self.write_table(name)
        named = self.path / "named.csv"
        named.write_text(f"{name}\n1\n2\n")
        fit = ["tokenizer", "fit", str(named), "--out", str(self.path / "tokenizer.json")]
        for command in ([*fit, "--json"], [*arguments, "--json"]):
            seen = self.on_a_terminal(*command)
            self.assertIn(b"\\xc2\\x9b31mred\\xe2\\x80\\xae", seen)
            self.assertNotIn(name.encode(), seen)
            self.assertIn(name, causeway(*command)[1])
        _, _, err = causeway("predict", table, table, "--target", "\x1b]0;title\x07", "--model", self.model)
        self.assertNotRegex(err, "[\x07\x1b]")

    def test_weights_that_are_not_finite(self):
        table = self.write_table("a")
        content = self.model.read_bytes()
        for bad in (float("nan"), float("inf")):
            self.model.write_bytes(content[:-8] + struct.pack("<f", bad) + content[-4:])
            for command in (["predict", table, table], ["evaluate", table]):
                code, out, err = causeway(*command, "--target", "kind", "--model", self.model)
                self.assertEqual((code, out), (3, ""))
                self.assertIn("not finite", err)


if __name__ == "__main__":
    predict_runs.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
