"""The program, Python and C++ give the same probabilities for the same CSV files, bit for bit.

Usage: front_ends_test.py CAUSEWAY PREDICT_CSV [--weights FOLDER] [--folder FOLDER]

CAUSEWAY is the program and PREDICT_CSV the C++ program of predict_csv.cpp; the Python package must be
importable. Tables with columns of every type are made here. With --folder the CSV files in it are used
instead: the last column is the target, every other row is a query row.
"""

import argparse
import csv
import io
import os
import random
import subprocess
import sys
import tempfile
import unittest
import warnings
from pathlib import Path

import causeway as cw
import numpy as np
import pandas as pd
from causeway import tables

OPTIONS = argparse.Namespace()


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False,
                          env={**os.environ, "CAUSEWAY_WEIGHTS": str(OPTIONS.weights)})
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout


def by_program(train, test, target, task):
    rows = list(csv.reader(io.StringIO(run(OPTIONS.program, "predict", train, test, "--target", target,
                                           "--task", task, "--device", "cpu", "--quiet"))))
    first = 1 if task == "classification" else 0
    labels = [name.removeprefix("p_") for name in rows[0][1:]]
    return labels, np.array([[float(value) for value in row[first:]] for row in rows[1:]])


def by_library(train, test, target, task):
    name = "tabular.safetensors" if task == "classification" else "tabular_regression.safetensors"
    text = run(OPTIONS.library, task, train, test, target, OPTIONS.weights / name)
    return np.array([[float(value) for value in line.split(",")] for line in text.splitlines()])


def by_python(read, train, test, target, task):
    made = cw.TabularClassifier if task == "classification" else cw.TabularRegressor
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator = made(device="cpu").fit(read(train), target)
        query = read(test)
        if task == "regression":
            return [], estimator.predict(query)[:, None]
        return [str(label) for label in estimator.classes_], estimator.predict_proba(query)


def read_pandas(path):
    return pd.read_csv(path, float_precision="round_trip")


class FrontEnds(unittest.TestCase):
    def agree(self, train, test, target, task):
        labels, want = by_program(train, test, target, task)
        self.assertGreater(len(want), 0)
        self.assertTrue(np.isfinite(want).all())
        results = {"C++": (None, by_library(train, test, target, task))}
        for name, read in {"pandas": read_pandas, "read_csv": tables.read_csv}.items():
            results[name] = by_python(read, train, test, target, task)
        for name, (found, got) in results.items():
            with self.subTest(front_end=name, task=task):
                if found:
                    self.assertEqual(found, labels)
                self.assertEqual(got.shape, want.shape)
                self.assertEqual(got.tobytes(), want.tobytes(),
                                 f"{np.abs(got - want).max()} apart in {(got != want).any(axis=1).sum()} rows")
        return want


MISSING = ["", "NA", "n/a", "<NA>", "NULL", "nan", "None"]


def mixed_row(rng, query):
    """A row of every type; query rows have values that context rows have not."""

    def maybe(value):
        return rng.choice(MISSING) if rng.random() < 0.15 else value

    size = rng.gauss(0, 1)
    return {
        "long number": maybe(repr(size * 1e-7 / 3)),
        "count": maybe(str(rng.randint(0, 40))),
        "big": str(2**60 + rng.randint(0, 2**50)),
        "colour": maybe(rng.choice(["red", "green", "Blue", "é"] + (["violet", "7"] if query else []))),
        "grade": rng.choice(["10", "9", "2", "unknown"]) if not query else rng.choice(["10", "9.0", "2"]),
        "member": maybe(rng.choice(["True", "False"])),
        "day": maybe(f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"),
        "seen": f"2026-01-31T{rng.randint(0, 23):02}:15:30.25",
        "empty": rng.choice(MISSING) if not query else rng.choice(["text", "1", ""]),
        "quoted": rng.choice(["a, b", 'say "hi"', "two\nlines"]),
        "size": repr(size),
    }


def write_table(path, rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


class MixedTables(FrontEnds):
    def make(self, folder, seed, label):
        rng = random.Random(seed)
        train = [mixed_row(rng, False) for _ in range(70)]
        for row in train:
            row["target"] = label(rng, float(row.pop("size")))
        if seed % 2 == 0:  # a row without a target: it is no context row
            train.append({**train[0], "count": "not a number", "target": ""})
        test = [mixed_row(rng, True) for _ in range(40)]
        for row in test:
            del row["size"]
        rng.shuffle(names := list(test[0]))
        write_table(folder / "train.csv", train)
        write_table(folder / "test.csv", [{name: row[name] for name in names} for row in test])
        return folder / "train.csv", folder / "test.csv"

    def test_mixed_tables(self):
        labels = [
            lambda rng, size: "large" if size > 0 else "small, or so",
            lambda rng, size: rng.choice(["10", "9", "2"]),
            lambda rng, size: rng.choice(["True", "False"]),
            lambda rng, size: rng.choice(["a", "10", "9"]),
        ]
        with tempfile.TemporaryDirectory() as folder:
            for seed, label in enumerate(labels):
                with self.subTest(seed=seed):
                    self.agree(*self.make(Path(folder), seed, label), "target", "classification")
            self.agree(*self.make(Path(folder), 10, lambda rng, size: repr(size)), "target", "regression")


class FittedEstimators(unittest.TestCase):
    """The program predicts by a file that save wrote."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model, self.test = Path(folder.name) / "fitted.safetensors", Path(folder.name) / "test.csv"
        rng = np.random.default_rng(3)
        self.x = pd.DataFrame(rng.normal(size=(40, 3)), columns=list("abc"))
        self.y = np.where(self.x["b"] > 0, "yes", "no")
        self.x[["c", "a", "b"]].to_csv(self.test, index=False)

    def predict(self, *arguments):
        return list(csv.reader(io.StringIO(run(OPTIONS.program, "predict", "--fitted", self.model, self.test,
                                               "--device", "cpu", *arguments))))

    def values(self, rows, first):
        return np.array([[float(value) for value in row[first:]] for row in rows[1:]])

    def test_classifier(self):
        fitted = cw.TabularClassifier(device="cpu", class_weight={"yes": 2.0}).fit(self.x, self.y)
        fitted.save(self.model)
        rows = self.predict("--target", "kind")
        self.assertEqual(rows[0], ["kind", "p_no", "p_yes"])
        np.testing.assert_array_equal(self.values(rows, 1), fitted.predict_proba(self.x))

    def test_regressor(self):
        fitted = cw.TabularRegressor(device="cpu").fit(self.x, self.x["a"])
        fitted.save(self.model)
        rows = self.predict()
        self.assertEqual(rows[0], ["prediction"])
        np.testing.assert_array_equal(self.values(rows, 0)[:, 0], fitted.predict(self.x))
        rows = self.predict("--output", "quantiles", "--quantiles", "0.5")
        np.testing.assert_array_equal(self.values(rows, 0)[:, 0], fitted.predict(self.x, output="median"))

    def test_arrays(self):
        fitted = cw.TabularClassifier(device="cpu").fit(self.x.to_numpy(), self.y)
        fitted.save(self.model)
        self.x.to_csv(self.test, index=False)
        np.testing.assert_array_equal(self.values(self.predict(), 1), fitted.predict_proba(self.x.to_numpy()))
        self.x[["a", "b"]].to_csv(self.test, index=False)
        with self.assertRaisesRegex(AssertionError, "has 2 columns; .* was fitted to an array of 3"):
            self.predict()

    def test_usage(self):
        cw.TabularClassifier(device="cpu").fit(self.x, self.y).save(self.model)
        for arguments, expected in [(["--estimators", "2"], "--fitted: has the settings of its fit; leave out --estimators"),
                                    ([self.test], "pass the query rows only")]:
            with self.assertRaisesRegex(AssertionError, expected):
                self.predict(*arguments)


class Folder(FrontEnds):
    def test_folder(self):
        for path in sorted(OPTIONS.folder.glob("*.csv")):
            with tempfile.TemporaryDirectory() as folder, path.open(newline="") as file:
                names, *rows = list(csv.reader(file))
                train, test = Path(folder) / "train.csv", Path(folder) / "test.csv"
                write_table(train, [dict(zip(names, row, strict=True)) for row in rows[::2]])
                write_table(test, [dict(zip(names[:-1], row[:-1], strict=True)) for row in rows[1::2]])
                with self.subTest(table=path.name):
                    shares = self.agree(train, test, names[-1], "classification")
                    print(f"{path.name}: {shares.shape[0]} x {shares.shape[1]}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program", type=Path)
    parser.add_argument("library", type=Path)
    parser.add_argument("--weights", type=Path, default=Path(cw.__file__).parent / "weights")
    parser.add_argument("--folder", type=Path)
    OPTIONS, rest = parser.parse_known_args(namespace=OPTIONS)
    os.environ["CAUSEWAY_WEIGHTS"] = str(OPTIONS.weights)
    cases = [Folder] if OPTIONS.folder else [MixedTables, FittedEstimators]
    suite = unittest.TestSuite(map(unittest.defaultTestLoader.loadTestsFromTestCase, cases))
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())
