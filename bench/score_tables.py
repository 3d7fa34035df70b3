"""Scores a model on a folder of CSV tables with an index, in the same way as the index's baselines: mean
ROC AUC (one-vs-one for more than two classes) over five stratified splits into halves by scikit-learn
(random_state 0), then over the tables.

    python3 bench/score_tables.py FOLDER --model model.safetensors [--estimators 4] [--device auto] [--json]

The folder's index.json lists the tables ("datasets": name, auc_ovo by baseline); the last column of
each <name>.csv is the target.
"""

import argparse
import json
import time
from pathlib import Path

import numpy
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import causeway as cw


def read(path):
    table = numpy.genfromtxt(path, delimiter=",", skip_header=1, dtype=numpy.float64)
    return table[:, :-1], table[:, -1].astype(int)


def score(classifier, x, y):
    splits = StratifiedShuffleSplit(n_splits=5, test_size=0.5, random_state=0)
    values = []
    for context, query in splits.split(x, y):
        probabilities = classifier.fit(x[context], y[context]).predict_proba(x[query])
        binary = probabilities.shape[1] == 2
        values.append(roc_auc_score(y[query], probabilities[:, 1] if binary else probabilities,
                                    multi_class="ovo"))
    return float(numpy.mean(values))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--estimators", type=int, default=4)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    index = json.loads((given.folder / "index.json").read_text())
    classifier = cw.TabularClassifier(model=given.model, n_estimators=given.estimators,
                                      device=given.device)
    scores = {}
    start = time.perf_counter()
    for table in index["datasets"]:
        x, y = read(given.folder / f"{table['name']}.csv")
        scores[table["name"]] = score(classifier, x, y)
        if not given.json:
            baselines = "  ".join(f"{name} {value:.4f}" for name, value in table["auc_ovo"].items())
            print(f"{table['name']:34s} {scores[table['name']]:.4f}   {baselines}", flush=True)
    mean = float(numpy.mean(list(scores.values())))
    if given.json:
        print(json.dumps({"mean": mean, "tables": scores}))
    else:
        baselines = "  ".join(f"{name} {value:.4f}" for name, value in index["mean_auc_ovo"].items())
        print(f"{'mean':34s} {mean:.4f}   {baselines}   ({time.perf_counter() - start:.1f} s)")


if __name__ == "__main__":
    main()
