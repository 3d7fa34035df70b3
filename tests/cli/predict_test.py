"""`causeway predict` and `causeway evaluate` as a user meets them.

Usage: predict_test.py build/causeway
"""

import csv
import io
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = ""


def causeway(*arguments, **environment):
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def write_model(path, classes):
    """A small model with random weights, written without the library."""
    config = {
        "width": 8, "heads": 1, "hidden": 8, "layers": 1, "group": 1, "thinking": 0,
        "classes": classes, "bins": 8, "pre_norm": True, "projection": False,
        "residual_decay": 1.0, "class_as_number": False, "mean_readout": False,
    }  # fmt: skip
    outputs = classes or 8
    inputs = (3 + (classes or 1) + 2 + 7) // 8 * 8
    shapes = {"encoder": [8, inputs], "norm.weight": [8]}
    for part in ("columns", "rows"):
        shapes |= {f"layers.0.{part}.qkv.weight": [24, 8], f"layers.0.{part}.qkv.bias": [24]}
    for part in ("layers.0.mlp", "decoder"):
        width = outputs if part == "decoder" else 8
        shapes |= {f"{part}.in.weight": [8, 8], f"{part}.in.bias": [8],
                   f"{part}.out.weight": [width, 8], f"{part}.out.bias": [width]}
    shapes |= {f"layers.0.norm{i}.weight": [8] for i in (1, 2, 3)}
    if not classes:
        shapes["borders"] = [7]
    rng = random.Random(1)
    header, data = {"__metadata__": {"model": "causeway.tabular.1", "config": json.dumps(config)}}, b""
    for name, shape in sorted(shapes.items()):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [rng.uniform(-1, 1) for _ in range(count)]
        if name == "borders":
            values = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
        piece = struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


class Predict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        write_model(cls.path / "classes.safetensors", 3)
        write_model(cls.path / "numbers.safetensors", 0)
        rng = random.Random(2)
        with (cls.path / "train.csv").open("w") as file:
            file.write('age,city,size,kind\n')
            for i in range(60):
                city = rng.choice(["Bonn", "Kiel", '"Ulm, am See"', ""])
                file.write(f'{rng.randint(18, 90)},{city},{rng.gauss(0, 1):.3f},{["no", "yes"][i % 2]}\n')
            file.write("20,Bonn,1,\n")
        (cls.path / "test.csv").write_text("size,more,city,age\n0.5,x,Kiel,30\n,y,Rome,40\n-1,z,,NA\n")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_on(self, command, *arguments, model="classes"):
        code, out, err = causeway(command, *arguments, "--model", self.path / f"{model}.safetensors",
                                  "--device", "cpu")
        self.assertEqual(code, 0, err)
        return out, err

    def predict(self, *arguments):
        return self.run_on("predict", self.path / "train.csv", self.path / "test.csv",
                           "--target", "kind", *arguments)

    def test_classes(self):
        out, err = self.predict()
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual(list(rows[0]), ["kind", "p_no", "p_yes"])
        self.assertEqual(len(rows), 3)
        for row in rows:
            shares = {name: float(row[f"p_{name}"]) for name in ("no", "yes")}
            self.assertAlmostEqual(sum(shares.values()), 1, places=4)
            self.assertEqual(row["kind"], max(shares, key=shares.get))
        self.assertIn('rows without a value in "kind" are left out: 1\n', err)
        self.assertIn('column "city": words not seen before are taken as missing: "Rome"\n', err)
        self.assertEqual(self.predict("--quiet"), (out, ""))
        written = self.path / "out.csv"
        self.assertEqual(self.predict("--quiet", "--out", written)[0], "")
        self.assertEqual(written.read_text(), out)

    def test_order_of_columns(self):
        rows = [line.split(",") for line in (self.path / "test.csv").read_text().splitlines()]
        turned = self.path / "turned.csv"
        turned.write_text("".join(",".join(reversed(row)) + "\n" for row in rows))
        out, _ = self.run_on("predict", self.path / "train.csv", turned, "--target", "kind")
        self.assertEqual(out, self.predict()[0])

    def test_numbers(self):
        test = self.path / "numbers.csv"
        test.write_text("kind,city,age\nyes,Kiel,30\n")
        out, _ = self.run_on("predict", self.path / "train.csv", test, "--target", "size",
                             model="numbers")
        title, value = out.split()
        self.assertEqual(title, "size")
        self.assertLess(abs(float(value)), 5)

    def test_evaluate(self):
        data = self.path / "train.csv"
        out, _ = self.run_on("evaluate", data, "--target", "kind", "--splits", "3", "--json")
        scores = json.loads(out)
        self.assertEqual((scores["rows"], scores["features"], len(scores["roc_auc"])), (60, 3, 3))
        self.assertTrue(all(0 <= value <= 1 for value in scores["roc_auc"] + scores["accuracy"]))
        self.assertEqual(self.run_on("evaluate", data, "--target", "kind", "--splits", "3", "--json")[0], out)
        other = self.run_on("evaluate", data, "--target", "kind", "--splits", "3", "--json", "--seed", "1")
        self.assertNotEqual(other[0], out)
        table, _ = self.run_on("evaluate", data, "--target", "kind")
        self.assertEqual(table.split()[:3], ["score", "mean", "deviation"])
        out, _ = self.run_on("evaluate", data, "--target", "size", "--json", model="numbers")
        self.assertEqual(len(json.loads(out)["r2"]), 5)

    def mistake(self, words, *arguments, **environment):
        code, out, err = causeway(*arguments, "--quiet", **environment)
        self.assertEqual((code, out), (3, ""), err)
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertIn(words, lines[0])

    def test_mistakes(self):
        train, test = self.path / "train.csv", self.path / "test.csv"
        model = ["--model", self.path / "classes.safetensors", "--device", "cpu"]
        self.mistake("there is no model: pass --model", "predict", train, test, "--target", "kind",
                     CAUSEWAY_TABULAR_MODEL="")
        self.mistake('has no column "sort"; --target names one of: age, city', "predict", train, test,
                     "--target", "sort", *model)
        self.mistake('lacks columns of the table to learn from: "kind"', "predict", train, test,
                     "--target", "age", *model)
        self.mistake("classes; the model tells at most 3: join classes", "evaluate", train,
                     "--target", "age", *model)
        self.mistake("3 features are more than 2", "predict", train, test, "--target", "kind", *model,
                     "--max-features", "2")
        self.mistake("absent.csv", "predict", self.path / "absent.csv", test, "--target", "kind", *model)
        bad = self.path / "bad.csv"
        bad.write_text("age,city,size\nmany,Kiel,1\n")
        self.mistake('line 2, column 1 "age"', "predict", train, bad, "--target", "kind", *model)
        self.mistake("safetensors", "predict", train, test, "--target", "kind", "--model", train)


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
