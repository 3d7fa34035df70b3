"""Scores of classifiers on scikit-learn's tables, with the same splits for all, and the confidence of each
prediction."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import causeway as cw

TABLES = {
    "iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits,
}  # fmt: skip
METRICS = ("roc_auc", "accuracy", "log_loss")
THIS_RUN, PACKAGED, FOREST = "this run", "packaged weights", "random forest"


def read(name, max_rows):
    """Features and classes of a table; a stratified sample if it has more than max_rows."""
    x, y = TABLES[name](return_X_y=True)
    if len(x) > max_rows:
        x, _, y, _ = train_test_split(x, y, train_size=max_rows, stratify=y, random_state=0)
    return x, y


def has_packaged_weights():
    try:
        cw.TabularClassifier(device="cpu").fit([[0.0], [1.0]], [0, 1])
    except FileNotFoundError:
        return False
    return True


def classifiers(model, device):
    """The classifiers to compare, by name; `model` is the file of this run."""
    found = {THIS_RUN: cw.TabularClassifier(model, device=device)}
    if has_packaged_weights():
        found[PACKAGED] = cw.TabularClassifier(device=device)
    found["logistic regression"] = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    found[FOREST] = RandomForestClassifier(random_state=0)
    return found


def score(y, probabilities):
    """Metrics of class probabilities (rows, classes) for the classes y."""
    binary = probabilities.shape[1] == 2
    return {
        "roc_auc": roc_auc_score(y, probabilities[:, 1] if binary else probabilities, multi_class="ovo"),
        "accuracy": accuracy_score(y, probabilities.argmax(axis=1)),
        "log_loss": log_loss(y, probabilities),
    }


def evaluate(classifier, x, y, splits):
    """Mean scores over random halves, and for each query row the probability of the predicted class and
    whether the prediction is correct."""
    halves = StratifiedShuffleSplit(n_splits=splits, test_size=0.5, random_state=0)
    scores, answers = [], []
    for context, query in halves.split(x, y):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*left out", UserWarning)  # constant pixels
            probabilities = classifier.fit(x[context], y[context]).predict_proba(x[query])
        scores.append(score(y[query], probabilities))
        correct = probabilities.argmax(axis=1) == y[query]
        answers += zip(probabilities.max(axis=1).tolist(), correct.tolist(), strict=True)
    return {metric: float(np.mean([one[metric] for one in scores])) for metric in METRICS}, answers


def compare(classifiers, *, max_rows, splits, report):
    """Scores all classifiers on all tables. `report` is called with each table's scores."""
    tables, scores, answers = {}, {}, {name: [] for name in classifiers}
    for table in TABLES:
        x, y = read(table, max_rows)
        tables[table] = {"rows": len(x), "features": x.shape[1], "classes": int(y.max()) + 1}
        scores[table] = {}
        for name, classifier in classifiers.items():
            scores[table][name], of_table = evaluate(classifier, x, y, splits)
            answers[name] += of_table
        report(table, scores[table])
    return {"tables": tables, "splits": splits, "scores": scores, "answers": answers}
