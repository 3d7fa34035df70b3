"""Scores a model on a folder of CSV tables with an index, in the same way as the index's baselines: mean
ROC AUC (one-vs-one for more than two classes), or R\u00b2 floored at -1 for regression, over splits into halves by
scikit-learn (random_state 0), then over the tables.

    python3 bench/score_tables.py FOLDER [--task classification] [--only NAME,...] [--splits N]
        [--model model.safetensors] [--estimators 4] [--set NAME=VALUE]... [--device auto]
        [--json | --markdown]

--set sets any parameter of the estimator: --set transforms=none,power,quantile --set average=logits
--set temperature=calibrated. Several values with | are compared: --set 'average=probabilities|logits'.
The folder's index.json lists the tables ("datasets": name, task, categorical, baseline scores); the last column
of each <name>.csv, or <task>/<name>.csv, is the target. The log loss of classifiers is printed too. --json adds the
calibration over all query rows: accuracy by confidence in ten bins, or the coverage of ten prediction intervals, as
[predicted, observed, rows].
"""

import argparse
import ast
import itertools
import json
import time
import warnings
from pathlib import Path

import numpy
import pandas
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

import causeway as cw


def read(folder, table):
    """Features and target; columns that the index calls categorical are categories."""
    path = folder / f"{table['name']}.csv"
    if not path.exists():
        path = folder / table["task"] / f"{table['name']}.csv"
    frame = pandas.read_csv(path)
    names = table.get("categorical", [])
    for name in names if isinstance(names, list) else []:  # some indexes give their number only
        frame[name] = frame[name].astype("category")
    return frame.iloc[:, :-1], frame.iloc[:, -1]


class Reliability:
    """Which predictions hold, by the probability that was predicted for it."""

    def __init__(self):
        self._parts = []

    def add(self, predicted, holds):
        self._parts.append(numpy.stack(numpy.broadcast_arrays(predicted, holds), axis=-1).astype(float))

    def points(self):
        """[mean predicted probability, share that holds, count] of each tenth of the probabilities."""
        predicted, holds = numpy.concatenate(self._parts).T
        bins = numpy.minimum((predicted * 10).astype(int), 9)
        return [[predicted[bins == i].mean(), holds[bins == i].mean(), int((bins == i).sum())]
                for i in numpy.unique(bins)]


def score_classes(classifier, x, y, n_splits, reliability):
    splits = StratifiedShuffleSplit(n_splits=n_splits, test_size=0.5, random_state=0)
    values = []
    for context, query in splits.split(x, y):
        probabilities = classifier.fit(x.iloc[context], y.iloc[context]).predict_proba(x.iloc[query])
        binary = probabilities.shape[1] == 2
        truth = y.iloc[query]
        guess = classifier.classes_[probabilities.argmax(axis=1)]
        reliability.add(probabilities.max(axis=1), guess == truth.to_numpy())
        values.append((roc_auc_score(truth, probabilities[:, 1] if binary else probabilities, multi_class="ovo"),
                       log_loss(truth, probabilities, labels=classifier.classes_)))
    return numpy.mean(values, axis=0).tolist()


def score_numbers(regressor, x, y, n_splits, reliability):
    splits = ShuffleSplit(n_splits=n_splits, test_size=0.5, random_state=0)
    values = []
    for context, query in splits.split(x):
        regressor.fit(x.iloc[context], y.iloc[context])
        values.append(max(r2_score(y.iloc[query], regressor.predict(x.iloc[query])), -1))
        edges, probabilities = regressor.predict_distribution(x.iloc[query])
        below = numpy.pad(numpy.cumsum(probabilities, axis=1), ((0, 0), (1, 0)))
        quantile = numpy.array([numpy.interp(*row) for row in zip(y.iloc[query], itertools.repeat(edges), below)])
        for coverage in numpy.arange(0.05, 1, 0.1):  # of the central interval
            reliability.add(coverage, numpy.abs(2 * quantile - 1) <= coverage)
    return [float(numpy.mean(values))]


def parse(text):
    """A value of --set: a number, None, names separated by commas, or text."""
    if "," in text:
        return tuple(parse(part) for part in text.split(",") if part)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def settings(given):
    """Every combination of the values of --set, as (label, parameters)."""
    names = [item.split("=", 1)[0] for item in given]
    choices = [item.split("=", 1)[1].split("|") for item in given]
    for chosen in itertools.product(*choices):
        yield (" ".join(f"{name}={text}" for name, text in zip(names, chosen)) or "defaults",
               {name: parse(text) for name, text in zip(names, chosen)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--task", choices=("classification", "regression"), default="classification")
    parser.add_argument("--only", default="", help="names of tables, separated by commas")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--estimators", type=int, default=4)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--markdown", action="store_true", help="print the scores as a table in Markdown")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    index = json.loads((given.folder / "index.json").read_text())
    names = set(filter(None, given.only.split(",")))
    tables = [table for table in index["datasets"] if table.setdefault("task", "classification") == given.task
              and (not names or table["name"] in names)]
    regression = given.task == "regression"
    kind, score = (cw.TabularRegressor, score_numbers) if regression else (cw.TabularClassifier, score_classes)
    results = {}
    for label, values in settings(given.set):
        estimator = kind(model=given.model, n_estimators=given.estimators, device=given.device).set_params(**values)
        start = time.perf_counter()
        scores = {}
        reliability = Reliability()
        for table in tables:
            scores[table["name"]] = score(estimator, *read(given.folder, table), given.splits, reliability)
            others = table.get("scores", table.get("auc_ovo", {}))
            if given.markdown:
                if len(scores) == 1:
                    print("| table | rows x columns | these weights |", *(f"{name} |" for name in others))
                    print("|---" * (3 + len(others)) + "|")
                print(f"| {table['name']} | {table['rows']} x {table['columns']} | {scores[table['name']][0]:.3f} |",
                      *(f"{value:.3f} |" for value in others.values()), flush=True)
            elif not given.json:
                baselines = "  ".join(f"{name} {value:.4f}" for name, value in others.items())
                ours = "  ".join(f"{value:.4f}" for value in scores[table["name"]])
                print(f"{table['name']:34s} {ours}   {baselines}", flush=True)
        seconds = time.perf_counter() - start
        means = numpy.mean(list(scores.values()), axis=0).tolist()
        results[label] = {"mean": means[0], "seconds": seconds, "tables": {k: v[0] for k, v in scores.items()},
                          "calibration": reliability.points()}
        if not regression:
            results[label]["log_loss"] = means[1]
    if given.json:
        print(json.dumps(results))
        return
    for label, result in results.items():
        loss = "" if regression else f"  log loss {result['log_loss']:.4f}"
        print(f"mean {result['mean']:.4f}{loss}  {result['seconds']:6.1f} s  {label}")


if __name__ == "__main__":
    main()
