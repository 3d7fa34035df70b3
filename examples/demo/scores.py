"""Scores of classifiers on the tables that come with scikit-learn, all on the same halves of the same
rows, and how sure they were of what they said."""

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
METRICS = {"roc_auc": "ROC AUC", "accuracy": "accuracy", "log_loss": "log loss"}
LOWER_IS_BETTER = {"log_loss"}
THIS_RUN, PACKAGED, FOREST = "this run", "packaged weights", "random forest"


def read(name, max_rows):
    """A table's features and classes; of more than max_rows, a stratified sample."""
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
    """Those to compare, by name; `model` is the file of this run's."""
    found = {THIS_RUN: cw.TabularClassifier(model, device=device)}
    if has_packaged_weights():
        found[PACKAGED] = cw.TabularClassifier(device=device)
    found["logistic regression"] = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    found[FOREST] = RandomForestClassifier(random_state=0)
    return found


def score(y, shares):
    """The metrics of what was said (rows, classes) of rows of the classes y."""
    binary = shares.shape[1] == 2
    return {
        "roc_auc": roc_auc_score(y, shares[:, 1] if binary else shares, multi_class="ovo"),
        "accuracy": accuracy_score(y, shares.argmax(axis=1)),
        "log_loss": log_loss(y, shares),
    }


def ask(classifier, x, y, splits):
    """Halves the rows some times: the mean scores, and for every row that was asked about the share of
    the likeliest class and whether that was right."""
    halves = StratifiedShuffleSplit(n_splits=splits, test_size=0.5, random_state=0)
    scores, said = [], []
    for known, asked in halves.split(x, y):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*left out", UserWarning)  # pixels that are always white
            shares = classifier.fit(x[known], y[known]).predict_proba(x[asked])
        scores.append(score(y[asked], shares))
        right = shares.argmax(axis=1) == y[asked]
        said += zip(shares.max(axis=1).tolist(), right.tolist(), strict=True)
    return {metric: float(np.mean([one[metric] for one in scores])) for metric in METRICS}, said


def compare(classifiers, *, max_rows, splits, tell):
    """All classifiers on all tables, as plain data. `tell` hears of each table."""
    tables, scores, said = {}, {}, {name: [] for name in classifiers}
    for table in TABLES:
        x, y = read(table, max_rows)
        tables[table] = {"rows": len(x), "features": x.shape[1], "classes": int(y.max()) + 1}
        scores[table] = {}
        for name, classifier in classifiers.items():
            scores[table][name], answers = ask(classifier, x, y, splits)
            said[name] += answers
        tell(table, scores[table])
    return {"tables": tables, "splits": splits, "scores": scores, "said": said}
