"""`causeway predict` and `causeway evaluate` on the command line.

Usage: predict_test.py build/causeway
"""

import csv
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import predict_runs
from predict_runs import causeway, write_model


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
            self.assertAlmostEqual(sum(shares.values()), 1, places=12)
            self.assertEqual(row["kind"], max(shares, key=shares.get))
        self.assertIn('rows without a value of the target "kind" are left out: 1\n', err)
        self.assertIn('column "city": values not seen in fit are treated as missing: "Rome"\n', err)
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

    def test_delimiters_and_compression(self):
        expected = self.predict("--quiet")[0]
        with (self.path / "train.csv").open(newline="") as file:
            train = list(csv.reader(file))
        with (self.path / "test.csv").open(newline="") as file:
            test = list(csv.reader(file))

        def written(name, rows, delimiter):
            text = io.StringIO(newline="")
            csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
            path = self.path / name
            content = text.getvalue().encode()
            path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
            return path

        for delimiter, end in ((",", ".csv.gz"), (";", ".csv"), ("\t", ".tsv"), (";", ".csv.gz")):
            train_file = written("other-train" + end, train, delimiter)
            test_file = written("other-test" + end, test, delimiter)
            out, _ = self.run_on("predict", train_file, test_file, "--target", "kind", "--quiet")
            self.assertEqual(out, expected, (delimiter, end))
        scores = [
            self.run_on("evaluate", path, "--target", "kind", "--splits", "2", "--json")[0]
            for path in (self.path / "train.csv", train_file)
        ]
        self.assertEqual(scores[0], scores[1])
        if shutil.which("zstd"):
            packed = self.path / "train.csv.zst"
            subprocess.run(["zstd", "-q", "-f", self.path / "train.csv", "-o", packed], check=True)
            out, _ = self.run_on("predict", packed, self.path / "test.csv", "--target", "kind", "--quiet")
            self.assertEqual(out, expected)
        # Members one after the other are one file; a cut one is damaged.
        content = (self.path / "train.csv").read_bytes()
        parts = self.path / "parts.csv.gz"
        parts.write_bytes(gzip.compress(content[:100]) + gzip.compress(content[100:]))
        out, _ = self.run_on("predict", parts, self.path / "test.csv", "--target", "kind", "--quiet")
        self.assertEqual(out, expected)
        parts.write_bytes(gzip.compress(content)[:-20])
        model = ["--model", self.path / "classes.safetensors", "--device", "cpu"]
        self.mistake("is damaged: it is incomplete", "evaluate", parts, "--target", "kind", *model)
        parquet = self.path / "a.parquet"
        parquet.write_bytes(b"PAR1" + bytes(100) + b"PAR1")
        self.mistake("the metadata is truncated", "evaluate", parquet, "--target", "kind", *model)

    def test_json(self):
        rows = list(csv.DictReader(io.StringIO(self.predict()[0])))
        found = json.loads(self.predict("--json")[0])
        self.assertEqual((found["target"], found["classes"]), ("kind", ["no", "yes"]))
        self.assertEqual(found["predictions"], [row["kind"] for row in rows])
        self.assertEqual(found["probabilities"], [[float(row["p_no"]), float(row["p_yes"])] for row in rows])
        test = self.path / "one.csv"
        test.write_text("kind,city,age\nyes,Kiel,30\n")
        words = ["predict", self.path / "train.csv", test, "--target", "size"]
        number = float(self.run_on(*words, model="numbers")[0].split()[1])
        out, _ = self.run_on(*words, "--json", model="numbers")
        self.assertEqual(json.loads(out), {"target": "size", "predictions": [number]})

    def test_numbers(self):
        test = self.path / "numbers.csv"
        test.write_text("kind,city,age\nyes,Kiel,30\n")
        out, _ = self.run_on("predict", self.path / "train.csv", test, "--target", "size",
                             model="numbers")
        title, value = out.split()
        self.assertEqual(title, "size")
        self.assertLess(abs(float(value)), 5)

    def test_int8(self):
        """A quantized model predicts nearly the same probabilities."""
        source, quantized = self.path / "classes.safetensors", self.path / "int8.safetensors"
        code, out, err = causeway("quantize", source, "--int8", "--out", quantized)
        self.assertEqual(code, 0, err)
        self.assertEqual(len(out.splitlines()), 2)
        self.assertLess(quantized.stat().st_size, source.stat().st_size)
        self.assertIn(b'"encoder":{"dtype":"I8"', quantized.read_bytes())
        words = ["predict", self.path / "train.csv", self.path / "test.csv", "--target", "kind"]
        found, expected = (self.run_on(*words, model=model)[0] for model in ("int8", "classes"))
        self.assertNotEqual(found, expected)
        for row, other in zip(csv.DictReader(io.StringIO(found)), csv.DictReader(io.StringIO(expected)), strict=True):
            self.assertAlmostEqual(float(row["p_yes"]), float(other["p_yes"]), delta=0.03)

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
        self.assertEqual(table.split()[:3], ["score", "mean", "std"])
        out, _ = self.run_on("evaluate", data, "--target", "size", "--json", model="numbers")
        self.assertEqual(len(json.loads(out)["r2"]), 5)

    def mistake(self, words, *arguments, **environment):
        code, out, err = causeway(*arguments, "--quiet", **environment)
        self.assertEqual((code, out), (3, ""), err)
        lines = err.splitlines()
        self.assertEqual(len(lines), 1, err)
        self.assertIn(words, lines[0])

    def test_limits_are_warnings(self):
        train, test = self.path / "train.csv", self.path / "test.csv"
        code, out, err = causeway("predict", train, test, "--target", "kind", "--model", self.path / "classes.safetensors",
                                  "--device", "cpu", "--max-features", "2", "--estimators", "1")
        self.assertEqual(code, 0, err)
        self.assertIn("3 features are more than max_features = 2: each of 2 ensemble members", err)
        self.assertTrue(out.startswith("kind,p_"))

    def test_ensembles_and_balance(self):
        lines = (self.path / "train.csv").read_text().splitlines()
        uneven = self.path / "uneven.csv"
        uneven.write_text("\n".join(line for i, line in enumerate(lines) if i < 30 or line.endswith("no")) + "\n")
        arguments = ["predict", uneven, self.path / "test.csv", "--target", "kind", "--model",
                     self.path / "classes.safetensors", "--device", "cpu"]
        _, plain, _ = causeway(*arguments)
        _, same, _ = causeway(*arguments, "--transforms", "none,power,power,components")
        self.assertEqual(same, plain)
        self.assertIn("[none,power,power,components]", causeway("predict", "--help")[1])
        for options in (["--transforms", "none"], ["--transforms", "power,quantile"], ["--average", "logits"], ["--temperature", "0.5"],
                        ["--member-weights", "fitted"], ["--balanced"]):
            code, out, err = causeway(*arguments, *options)
            self.assertEqual(code, 0, err)
            self.assertEqual(len(out.splitlines()), len(plain.splitlines()))
            self.assertNotEqual(out, plain, options)
        for options in (["--transforms", "log"], ["--average", "votes"], ["--temperature", "-1"],
                        ["--member-weights", "votes"], ["--precision", "f16"]):
            code, out, err = causeway(*arguments, *options)
            self.assertIn(code, (2, 3), options)
            self.assertEqual(out, "")

    def test_precision(self):
        arguments = ["predict", self.path / "train.csv", self.path / "test.csv", "--target", "kind", "--model",
                     self.path / "classes.safetensors", "--device", "cpu"]
        results = []
        for options in ([], ["--precision", "auto"], ["--precision", "f32"]):
            code, out, err = causeway(*arguments, *options)
            self.assertEqual(code, 0, err)
            results.append([float(line.rsplit(",", 1)[1]) for line in out.splitlines()[1:]])
        self.assertEqual(results[0], results[1])
        self.assertGreater(len(results[0]), 0)
        for rounded, precise in zip(results[0], results[2]):
            self.assertAlmostEqual(rounded, precise, delta=0.02)

    def test_quantiles(self):
        train = self.path / "sizes.csv"
        lines = (self.path / "train.csv").read_text().splitlines()
        train.write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in lines))
        arguments = ["predict", train, self.path / "test.csv", "--target", "size", "--model",
                     self.path / "numbers.safetensors", "--device", "cpu"]
        code, out, err = causeway(*arguments, "--output", "quantiles", "--quantiles", "0.1,0.9")
        self.assertEqual(code, 0, err)
        rows = list(csv.reader(io.StringIO(out)))
        self.assertEqual(rows[0], ["size_q0.1", "size_q0.9"])
        for low, high in rows[1:]:
            self.assertLess(float(low), float(high))
        _, text, _ = causeway(*arguments, "--output", "quantiles", "--quantiles", "0.1,0.9", "--json")
        read = json.loads(text)
        self.assertEqual(read["quantiles"], [0.1, 0.9])
        self.assertEqual([[str(v) for v in row] for row in read["predictions"]], rows[1:])
        outputs = {name: causeway(*arguments, "--output", name)[1] for name in ("mean", "median", "mode")}
        self.assertEqual(len(set(outputs.values())), 3)
        self.assertEqual(outputs["mean"], causeway(*arguments)[1])

    def test_mistakes(self):
        train, test = self.path / "train.csv", self.path / "test.csv"
        model = ["--model", self.path / "classes.safetensors", "--device", "cpu"]
        self.mistake('has no column "sort" for the target; it has: age, city', "predict", train, test,
                     "--target", "sort", *model)
        self.mistake('the table has no column "kind"; all 3 columns of fit', "predict", train, test,
                     "--target", "city", *model)
        self.mistake("absent.csv", "predict", self.path / "absent.csv", test, "--target", "kind", *model)
        bad = self.path / "bad.csv"
        bad.write_text("age,city,size\nmany,Kiel,1\n")
        self.mistake('column "age", row 0 (from 0): expected a number, as in fit, got "many"; while predicting', "predict", train, bad, "--target", "kind", *model)
        self.mistake("safetensors", "predict", train, test, "--target", "kind", "--model", train)


class Rules(unittest.TestCase):
    """The rules for columns of docs/tables.md, as the program keeps them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = Path(cls.folder.name)
        write_model(cls.path / "classes.safetensors", 3)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def predict_rows(self, train, test):
        (self.path / "a.csv").write_text(train)
        (self.path / "b.csv").write_text(test)
        return causeway("predict", self.path / "a.csv", self.path / "b.csv", "--target", "y", "--model",
                        self.path / "classes.safetensors", "--device", "cpu")

    def refused(self, words, train, test):
        code, out, err = self.predict_rows(train, test)
        self.assertEqual((code, out), (3, ""), err)
        self.assertIn(words, err)

    def test_infinity(self):
        self.refused('[fit] column "x", row 1 (from 0): infinity', "x,y\n1,a\ninf,b\n", "x\n1\n")
        self.refused('[predict] column "x", row 0 (from 0): infinity', "x,y\n1,a\n2,b\n", "x\n-inf\n")

    def test_empty_columns(self):
        train = "x,none,y\n1,,a\n2,NA,b\n3,n/a,a\n"
        code, out, err = self.predict_rows(train, "x,none\n1,\n2,\n")
        self.assertEqual(code, 0, err)
        self.assertIn('columns without a value in any context row are left out: "none"', err)
        self.assertEqual(self.predict_rows(train, "x,none\n1,words\n2,inf\n")[1], out)

    def test_unseen_categories(self):
        train = "x,y\nred,a\nblue,b\n5,a\n"
        code, out, err = self.predict_rows(train, "x\nviolet\npink\nviolet\ngrey\nblack\nred\n")
        self.assertEqual(code, 0, err)
        self.assertIn('column "x": values not seen in fit are treated as missing: "violet", "pink", "grey" '
                      "and 1 more", err)
        lines = out.splitlines()
        self.assertEqual(lines[1], lines[2])
        self.assertEqual(self.predict_rows(train, "x\n5\n")[1], self.predict_rows(train, "x\n5.0\n")[1])

    def test_changed_types(self):
        self.refused('column "x", row 1 (from 0): expected a number, as in fit, got "many"',
                     "x,y\n1,a\n2,b\n", "x\n3\nmany\n")
        self.refused('expected a time such as 2026-01-31T12:00, as in fit, got "12"',
                     "x,y\n2026-01-01,a\n2026-01-02,b\n", "x\n12\n")

    def test_probabilities_read_back(self):
        out = self.predict_rows("x,y\n1,a\n2,b\n3,a\n", "x\n1\n2.5\n")[1]
        for row in csv.DictReader(io.StringIO(out)):
            for text in (row["p_a"], row["p_b"]):
                self.assertEqual(repr(float(text)), text)


if __name__ == "__main__":
    predict_runs.PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
