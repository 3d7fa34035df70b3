"""In-context prediction for tables, with scikit-learn's interface.

    clf = cw.TabularClassifier().fit(X, y)    # stores the context rows; trains nothing
    clf.predict_proba(X_new)

X is an array, a list or a pandas, polars or Arrow table of numbers, text, categories, booleans and
times, with missing values. Columns of a table are matched by name. docs/tables.md has the rules for
columns.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._core import _ranks_of_names
from ._tables import column_table, estimator_table, is_frame
from ._tabular_estimator import (
    TARGET_TRANSFORMS,
    TRANSFORMS,
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    RegressorMixin,
    TabularEstimator,
    TransformerMixin,
    _safe_indexing,
    check_classification_targets,
    check_is_fitted,
    clone,
)

__all__ = ["TabularEmbedding", "TabularClassifier", "TabularRegressor", "TargetDistribution"]


def _labels(names: list[str], kind: str) -> np.ndarray:
    """Class labels as values of the column's type: "boolean", "number" or "text", and after a colon the dtype."""
    kind, _, dtype = kind.partition(":")
    if kind == "boolean":
        return np.array([name == "True" for name in names], dtype=dtype or bool)
    if kind == "number" and dtype:
        return np.array([ast.literal_eval(name) for name in names], dtype=dtype)
    if kind == "number":
        values = np.array([float(name) for name in names])
        whole = np.all(values == np.floor(values)) and np.all(np.abs(values) < 2**53)
        return values.astype(np.int64) if whole else values
    return np.array(names, dtype=dtype or object)


class TabularClassifier(ClassifierMixin, TabularEstimator):
    """Predicts classes from labelled context rows by an ensemble of forward passes of a pretrained transformer.

    model: a file written by cw.models.save_tabular, or a TabularTransformer. Default: the packaged
        weights, or those in the folder CAUSEWAY_WEIGHTS.
    n_estimators: ensemble size; members differ in the order of columns and classes. There are more
        where that is needed to read all columns, or to predict more classes than the model has.
    max_features: maximum number of columns that a member reads, without constant ones. Of more, each
        member reads a random subset, with a warning.
    max_rows: maximum number of context rows that a member reads. Of more, each member reads another
        sample (stratified by class, random for regression), with a warning.
    random_state: seed of the ensemble and of samples.
    transforms: "none", "power" (Yeo-Johnson), "quantile" (normal scores of ranks) or "components"
        (whitened principal components of the columns, with categories one-hot encoded) for the
        ensemble's members in turn, or one of them for all.
    average: whether "probabilities" or "logits" of members are averaged.
    temperature: divides the logits. "auto": 0.9 for classes and 0.8 for numbers, since an average of
        members is less sure than each of them. "calibrated": fit chooses it by the log loss of held-back
        context rows, which takes about as long as a prediction.
    member_weights: "equal", or "fitted": fit weights the members by their predictions for held-back
        context rows, which takes as long as a prediction from 1,000 rows. "auto": "fitted" for
        regression, where a linear fit whose residuals members read has a weight too.
    precision: "auto" rounds the operands of matrix products to bf16 where the CPU has instructions for
        it (AMX, AVX-512 BF16, Arm BF16); "f32" does not. Sums are f32. On a GPU the model's dtype decides.
    class_weight: "balanced", or weights by class: probabilities are multiplied by the weights and
        normalised. "balanced" weights are inverse to the classes' frequencies.
    device: "auto", "cpu" or "cuda".
    verbose: always show a progress bar. Otherwise one is shown if stderr is a terminal and a
        prediction takes longer than a few seconds.
    """

    _regression = False

    def __init__(
        self,
        model: Any = None,
        *,
        n_estimators: int = 4,
        max_features: int = 100,
        max_rows: int = 10_000,
        random_state: Any = 0,
        transforms: Sequence[str] | str = TRANSFORMS,
        average: str = "probabilities",
        temperature: float | str = "auto",
        member_weights: str = "auto",
        precision: str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            model, n_estimators=n_estimators, max_features=max_features, max_rows=max_rows,
            random_state=random_state, transforms=transforms, average=average, temperature=temperature,
            member_weights=member_weights, precision=precision, device=device, verbose=verbose,
        )  # fmt: skip
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TabularClassifier:
        """Stores the rows of X (rows, features) as context. y holds their classes, or is the name of
        a column of X. The model runs at the first prediction, and in fit only for temperature="calibrated"
        and member_weights="fitted".

        With sample_weight, each ensemble member reads rows drawn in proportion to the weights: as many
        as have a positive weight, so that heavy rows occur several times. Equal weights change
        nothing, and a weight of 0 leaves a row out."""
        self._fit(X, y, sample_weight)
        return self

    def _encode_target(self, y: Any) -> tuple[np.ndarray, int]:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        # The model orders numeric text by value, classes_ alphabetically.
        is_text = all(isinstance(label, str) for label in self.classes_)
        n_classes = len(self.classes_)
        self._ranks = np.array(_ranks_of_names([str(label) for label in self.classes_])) if is_text else (
            np.arange(n_classes))
        return self._ranks[codes.ravel()], n_classes

    def _encode_column(self, labels: list[str], kind: str) -> None:
        self.classes_ = _labels(labels, kind)
        self._ranks = np.arange(len(labels))

    def _saved_labels(self) -> tuple[list[str], str]:
        by_code = self.classes_[np.argsort(self._ranks)].tolist()
        kinds = {bool: "boolean", int: "number", float: "number"}
        kind = kinds.get(type(by_code[0]), "text")
        names = [repr(label) if kind == "number" else str(label) for label in by_code]
        return names, f"{kind}:{self.classes_.dtype.str}"

    def _load_labels(self, read: dict[str, Any]) -> None:
        labels = _labels(read["classes"], read["label_type"])
        order = np.argsort(labels)
        self.classes_, self._ranks = labels[order], order
        _, _, _, _, _, weights, *_ = read["state"]
        if isinstance(self.class_weight, dict):  # the file has the text of labels
            value = str if read["label_type"].startswith("text") else ast.literal_eval
            self.class_weight = {value(text): weight for text, weight in self.class_weight.items()}
        elif self.class_weight is None and weights:  # files of version 0.2
            self.class_weight = dict(zip(labels.tolist(), weights))

    def _class_weights(self, y: Any) -> list[float]:
        if self.class_weight is None:
            return []
        if isinstance(self.class_weight, dict):
            unknown = set(self.class_weight) - set(self.classes_.tolist())
            if unknown:
                raise ValueError(f"class_weight has classes that y lacks: {sorted(map(str, unknown))}")
            weights = np.array([self.class_weight.get(label, 1.0) for label in self.classes_.tolist()])
        elif self.class_weight == "balanced":
            counts = np.unique(y, return_counts=True)[1]
            weights = counts.sum() / (len(counts) * counts)
        else:
            raise ValueError(f'class_weight={self.class_weight!r}: expected a dict, "balanced" or None')
        by_code = np.empty(len(weights))
        by_code[self._ranks] = weights
        return by_code.tolist()

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities for each row of X, shape (rows, classes), in the order of classes_."""
        return self._run("predict_proba", X).numpy()[:, self._ranks]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self._run("predict_proba", X).numpy()[:, self._ranks], axis=1)]


class TargetDistribution(NamedTuple):
    """Predicted histograms of a numeric target."""

    edges: np.ndarray  # of the bins, (bins + 1,), ascending, in units of the target
    probabilities: np.ndarray  # (rows, bins)


class TabularRegressor(RegressorMixin, TabularEstimator):
    """Predicts a numeric target from labelled context rows. Parameters as for TabularClassifier,
    without class_weight, and:

    target_transforms: "none", "power" (Yeo-Johnson) or "residual" (of a ridge regression) for the target
        that the ensemble's members read, in turn. Their predictions are mapped back and averaged. Logits
        are averaged over the members with the same transform. "residual" is skipped where the regression
        explains little, below 100 rows and above 500 columns.
    """

    _regression = True

    def __init__(
        self,
        model: Any = None,
        *,
        n_estimators: int = 4,
        max_features: int = 100,
        max_rows: int = 10_000,
        random_state: Any = 0,
        transforms: Sequence[str] | str = TRANSFORMS,
        target_transforms: Sequence[str] | str = TARGET_TRANSFORMS,
        average: str = "probabilities",
        temperature: float | str = "auto",
        member_weights: str = "auto",
        precision: str = "auto",
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        super().__init__(
            model, n_estimators=n_estimators, max_features=max_features, max_rows=max_rows,
            random_state=random_state, transforms=transforms, average=average, temperature=temperature,
            member_weights=member_weights, precision=precision, device=device, verbose=verbose,
        )  # fmt: skip
        self.target_transforms = target_transforms

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> TabularRegressor:
        """Stores the rows of X (rows, features) as context. y holds their targets, or is the name of
        a column of X. The model runs here only to fit member_weights and a calibrated temperature.
        sample_weight as for TabularClassifier."""
        self._fit(X, y, sample_weight)
        return self

    def _encode_target(self, y: Any) -> tuple[np.ndarray, int]:
        return np.asarray(y), 0

    def _saved_labels(self) -> tuple[list[str], str]:
        return [], "number"

    def _load_labels(self, read: dict[str, Any]) -> None:
        pass

    def predict(self, X: Any, output: str = "mean", quantiles: Sequence[float] | float | None = None) -> np.ndarray:
        """The "mean", "median" or "mode" of each row's predicted distribution, shape (rows,), or its
        "quantiles" (rows, quantiles), by default 0.05, 0.5 and 0.95; of one number, (rows,)."""
        if output not in ("mean", "median", "mode", "quantiles"):
            raise ValueError(f'output={output!r}: expected "mean", "median", "mode" or "quantiles"')
        if quantiles is not None and output != "quantiles":
            raise ValueError(f'quantiles are for output="quantiles", not for output={output!r}')
        shares = np.asarray([0.05, 0.5, 0.95] if quantiles is None else quantiles)
        if shares.ndim > 1 or shares.dtype.kind not in "fiu":
            raise ValueError(f"quantiles={quantiles!r}: expected a number from 0 to 1, or a list of them")
        predicted = self._run("predict_distribution", X)
        if output == "quantiles":
            made = predicted.quantiles(shares.ravel().tolist()).numpy()
            return made if shares.ndim else made[:, 0]
        return getattr(predicted, output)().numpy()

    def predict_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """The quantiles between which each row's target is with probability `coverage`, (rows, 2)."""
        return self._run("predict_distribution", X).interval(coverage).numpy()

    def predict_distribution(self, X: Any) -> TargetDistribution:
        """The whole predicted distribution of each row."""
        predicted = self._run("predict_distribution", X)
        return TargetDistribution(np.array(predicted.edges), predicted.probabilities.numpy())


class TabularEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A scikit-learn transformer: the hidden vectors that an estimator's model computes for each row.

    estimator: a TabularClassifier or TabularRegressor. Default: a classifier for a target of text, booleans,
        categories or at most ten distinct integers, else a regressor.
    n_folds: fit_transform embeds each row from the rows of the other folds, so that its own target does
        not leak into it.
    """

    def __init__(self, estimator: Any = None, *, n_folds: int = 5) -> None:
        self.estimator = estimator
        self.n_folds = n_folds

    def _new_estimator(self, X: Any, y: Any) -> Any:
        if self.estimator is not None:
            return clone(self.estimator)
        is_column = isinstance(y, str) and is_frame(X)
        table, name = (estimator_table(X), y) if is_column else (column_table("target", y), "target")
        return TabularRegressor(member_weights="equal") if table.is_regression_target(name) else TabularClassifier()

    def fit(self, X: Any, y: Any) -> TabularEmbedding:
        """Fits the estimator to the rows of X (rows, features). y holds their targets, or is the name of a
        column of X."""
        self.estimator_ = self._new_estimator(X, y).fit(X, y)
        self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    @property
    def _n_features_out(self) -> int:
        return self.estimator_._model().config["width"]

    def transform(self, X: Any) -> np.ndarray:
        """(rows, width) for rows that fit has not seen."""
        check_is_fitted(self)
        return self.estimator_.embed(X)

    def _folds(self, labels: Any) -> np.ndarray:
        """The fold of each row, stratified by class."""
        values = np.asarray(labels)
        order = np.arange(len(values))
        if not self.estimator_._regression:
            order = np.argsort(values.astype(str), kind="stable")
        fold = np.empty(len(values), dtype=int)
        fold[order] = np.arange(len(values)) % self.n_folds
        return fold

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """(rows, width) for the rows themselves, by cross-fitting."""
        self.fit(X, y)
        is_column = isinstance(y, str)
        fold = self._folds(X[y] if is_column else y)
        embedded = np.empty((len(fold), self._n_features_out))
        for k in np.unique(fold):
            inside, outside = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            target = y if is_column else _safe_indexing(y, outside)
            part = clone(self.estimator_).fit(_safe_indexing(X, outside), target)
            embedded[inside] = part.embed(_safe_indexing(X, inside))
        return embedded
