#!/usr/bin/env python3
"""The pages of runs and predictions: `causeway pretrain` writes report.html, `causeway report` compares
runs, `causeway predict --html`.

    report_test.py PROGRAM
"""

import json
import os
import shlex
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import pretrain_runs  # noqa: E402
from pretrain_runs import Folder, finish, log_of, losses_of, pretrain, start  # noqa: E402


def page(path):
    """The root of a page, which is well-formed XML."""
    return ElementTree.fromstring(path.read_text().split("\n", 1)[1])


def sections(root):
    return [section.get("id") for section in root.iter("section")]


def shown(root, section):
    """The texts that the charts of a section show."""
    found = next(part for part in root.iter("section") if part.get("id") == section)
    return [[value[2] for value in json.loads(chart.get("data-values"))]
            for chart in found.iter() if chart.get("data-values")]


def rows(root, section):
    """The rows of a section's table: name to values."""
    found = next(part for part in root.iter("section") if part.get("id") == section)
    return {"".join(row.find("th").itertext()): ["".join(cell.itertext()) for cell in row.findall("td")]
            for row in found.find(".//table/tbody").iter("tr")}


class RunReport(Folder):
    def table(self):
        path = self.folder / "flowers.csv"
        lines = [f"{i % 7},{i % 3},{'ab'[i % 2]}" for i in range(40)]
        path.write_text("\n".join(["x,z,what", *lines]) + "\n")
        return path

    def test_scores_and_calibration_on_tables(self):
        run = self.folder / "run"
        code, out, err = pretrain(out=run, steps=4, evaluate=self.table(), target="what",
                                  evaluate_steps=2)
        self.assertEqual(code, 0, err)
        self.assertIn("report.html", out)
        root = page(run / "report.html")
        self.assertEqual(sections(root), ["loss", "scores", "score-curve", "calibration", "throughput",
                                          "memory", "reproduce"])
        last = log_of(run)[-1]
        scores = rows(root, "scores")["flowers.csv40 rows, 2 features, 2 classes"]
        self.assertEqual(scores[0], f"{last['score']:.3f}")  # one table: the mean is its ROC AUC
        self.assertEqual(shown(root, "score-curve")[0][-1], f"step 4: {last['score']:.4g}")
        self.assertEqual(len(shown(root, "loss")[0]), 4)
        predicted = [int(text.split()[0]) for text in shown(root, "calibration")[0]]
        self.assertEqual(sum(predicted), 20)  # half of the rows
        self.assertGreater(last["peak_memory"], 0)

    def test_calibration_on_new_datasets(self):
        for regression, metrics in (True, ["R²"]), (False, ["ROC AUC", "accuracy", "log loss"]):
            run = self.folder / f"run-{regression}"
            code, _, err = pretrain(out=run, steps=3, regression=regression or None,
                                    classes=None if regression else "2:3")
            self.assertEqual(code, 0, err)
            root = page(run / "report.html")
            head = [cell.text for cell in root.findall(".//section[@id='scores']//thead//th")]
            self.assertEqual(head, metrics)
            self.assertEqual(len(shown(root, "calibration")), 1 if regression else 2)
            evaluation = json.loads((run / "evaluation.json").read_text())
            probabilities = evaluation["tables"][0]["probabilities"]
            self.assertGreater(len(probabilities), 10)
            self.assertTrue(all(0 <= p <= 1 for p in probabilities))

    def test_page_at_each_evaluation(self):
        run = self.folder / "run"
        process = start(pretrain_runs.command(out=run, steps=100000, evaluate=self.table(), target="what",
                                              evaluate_steps=2))
        try:
            pretrain_runs.wait_until(lambda: (run / "report.html").exists())
        finally:
            process.kill()
            process.communicate()
        self.assertIn("scores", sections(page(run / "report.html")))
        self.assertFalse((run / "model.safetensors").exists())

    def test_command_repeats_the_run(self):
        run = self.train("a run", steps=3)
        root = page(run / "report.html")
        command = shlex.split("".join(root.find(".//section[@id='reproduce']//code").itertext()))
        self.assertEqual(command[:2], ["causeway", "pretrain"])
        self.assertEqual(command[-1], "a run-repeated")
        code, _, err = finish(start([*command[1:-1], str(self.folder / "again"), "--device", "cpu"]))
        self.assertEqual(code, 0, err)
        self.assertEqual(losses_of(self.folder / "again"), losses_of(run))

    def test_comparison(self):
        a, b = self.train("a", steps=3), self.train("b", steps=5, width=32)
        out = self.folder / "both.html"
        code, text, err = finish(start(["report", str(a), str(b), "--out", str(out)]))
        self.assertEqual((code, text.strip()), (0, str(out)), err)
        root = page(out)
        self.assertEqual(rows(root, "settings"), {"run.steps": ["3", "5"], "model.width": ["16", "32"]})
        self.assertEqual(rows(root, "results")["steps"], ["3", "5"])
        texts = shown(root, "loss")[0]
        self.assertEqual(len(texts), 3 + 5)
        self.assertIn(f"b, step 5: {losses_of(b)[5]:.4g}", texts)
        code, _, err = finish(start(["report", str(a), str(self.folder / "none"), "--out", str(out)]))
        self.assertEqual(code, 3, err)
        self.assertEqual(len(sections(page(out))), len(sections(root)))  # the old page

    def test_damaged_lines_of_a_log_are_named(self):
        run = self.train("run", steps=5)
        log = run / "log.jsonl"
        lines = log.read_text().splitlines()
        log.write_text("\n".join([lines[0], lines[1][:20], "12", *lines[2:]]) + "\n")
        out = self.folder / "page.html"
        code, _, err = finish(start(["report", str(run), "--out", str(out)]))
        self.assertEqual(code, 0, err)
        self.assertIn('log.jsonl": line 2 is not a JSON object; left out', err)
        self.assertIn('log.jsonl": line 3 is not a JSON object; left out', err)
        self.assertEqual(len(shown(page(out), "loss")[0]), 4)


class PredictPage(Folder):
    def predict(self, target, n_labelled, *more):
        """x decides the target, `noise` does not; the packaged model predicts 12 rows."""
        lines = [f"{i * 7 % 40},{i * 11 % 13},{target(i * 7 % 40)}\n" for i in range(n_labelled)]
        return self.predict_text("x,noise,what\n" + "".join(lines),
                                 "x,noise\n" + "".join(f"{3 * i},{i % 5}\n" for i in range(12)), *more)

    def predict_text(self, train_text, test_text, *more):
        train, test = self.folder / "train.csv", self.folder / "test <a>.csv"
        train.write_text(train_text)
        test.write_text(test_text)
        weights = Path(__file__).resolve().parents[2] / "python/causeway/weights"
        out = self.folder / "page.html"
        code, text, err = finish(start(
            ["predict", str(train), str(test), "--target", "what", "--html", str(out), "--device", "cpu",
             *more], os.environ | {"CAUSEWAY_WEIGHTS": str(weights)}))
        self.assertEqual(code, 0, err)
        return page(out), text

    def test_classes(self):
        root, text = self.predict(lambda x: "low" if x < 20 else "<high>", 60, "--seed", "3")
        self.assertEqual(text.strip(), str(self.folder / "page.html"))
        self.assertEqual(sections(root), ["predictions", "scores", "calibration", "importance", "rows",
                                          "reproduce"])
        self.assertEqual(rows(root, "predictions"), {"<high>": ["", "5 (42%)"], "low": ["", "7 (58%)"]})
        lead = root.find(".//section[@id='scores']/p").text
        self.assertIn("15 of the 60 labelled rows were held back", lead)
        model, frequencies = rows(root, "scores")["accuracy"]
        self.assertGreater(float(model), 0.9)
        self.assertLess(float(frequencies), 0.7)
        answered = [int(text.split()[0]) for text in shown(root, "calibration")[0]]
        self.assertEqual(sum(answered), 15)
        importance = {name: float(cells[1]) for name, cells in rows(root, "importance").items()}
        self.assertEqual(list(importance), ["x", "noise"])  # sorted
        self.assertGreater(importance["x"], 10 * importance["noise"])
        self.assertGreaterEqual(importance["noise"], 0)
        self.assertIn("Kullback-Leibler", root.find(".//section[@id='importance']/p").text)
        by_row = rows(root, "rows")
        self.assertEqual(len(by_row), 12)
        self.assertEqual((by_row["1"][0], by_row["1"][2:]), ("low", ["0", "0"]))
        command = shlex.split("".join(root.find(".//section[@id='reproduce']//code").itertext()))
        self.assertEqual(command[:4], ["causeway", "predict", str(self.folder / "train.csv"),
                                       str(self.folder / "test <a>.csv")])
        self.assertEqual(command[4:8], ["--target", "what", "--seed", "3"])

    def test_numbers(self):
        out = self.folder / "predictions.csv"
        root, text = self.predict(lambda x: 10 * x + 0.5, 60, "--out", str(out))
        self.assertEqual(text, "")
        predicted = [float(line) for line in out.read_text().splitlines()[1:]]
        self.assertEqual(rows(root, "rows")["12"][0], f"{predicted[11]:.6g}")
        counts = [int(cells[1].split()[0]) for cells in rows(root, "predictions").values()]
        self.assertEqual(sum(counts), 12)
        self.assertGreater(float(rows(root, "scores")["R²"][0]), 0.9)
        self.assertEqual(len(shown(root, "calibration")[0]), 21)

    def test_a_date_is_one_column(self):
        """The model reads several features of a date; its importance is that of all of them."""
        dates = [f"2024-{1 + i % 12:02}-{1 + i * 7 % 28:02}" for i in range(40)]
        lines = [f"{date},{i % 3},{'late' if date > '2024-06' else 'early'}\n" for i, date in enumerate(dates)]
        root, _ = self.predict_text("when,noise,what\n" + "".join(lines), "when,noise\n2024-09-01,1\n")
        bars = root.findall(".//section[@id='importance']//tbody/tr")
        self.assertEqual([bar.find("th").text for bar in bars], ["when", "noise"])

    def test_the_command_has_all_options(self):
        options = ["--transforms", "none,power", "--average", "logits", "--temperature", "calibrated",
                   "--member-weights", "fitted", "--precision", "f32"]
        root, _ = self.predict(lambda x: "ab"[x % 2], 20, *options, "--balanced")
        command = shlex.split("".join(root.find(".//section[@id='reproduce']//code").itertext()))
        self.assertEqual(command[6:-2], [*options, "--balanced"])
        root, _ = self.predict(lambda x: x + 0.5, 20, "--output", "median", "--temperature", "0.8",
                               "--target-transforms", "power")
        command = shlex.split("".join(root.find(".//section[@id='reproduce']//code").itertext()))
        self.assertEqual(command[6:-2], ["--target-transforms", "power", "--temperature", "0.8", "--output", "median"])

    def test_too_few_rows_to_hold_back(self):
        root, _ = self.predict(lambda x: "ab"[x % 2], 7)
        self.assertEqual(sections(root), ["predictions", "scores", "rows", "reproduce"])
        self.assertIn("7 rows", root.find(".//section[@id='scores']/p").text)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    pretrain_runs.main()
