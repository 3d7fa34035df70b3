"""In-context prediction for tables, with scikit-learn's interface.

    clf = cw.TabularClassifier().fit(X, y)    # stores the context rows; trains nothing
    clf.predict_proba(X_new)

X is an array, a list or a pandas, polars or Arrow table of numbers, text, categories, booleans and
times, with missing values. Columns of a table are matched by name. docs/tables.md has the rules for
columns.
"""

from __future__ import annotations

import functools
import numbers
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ._core import _find_weights, _ranks_of_names, asarray
from ._core._models import _TabularEstimator as _Estimator
from ._progress import ProgressBar
from ._tables import estimator_table, frame_names, is_frame
from .models import TabularTransformer, load_tabular

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as problem:
    raise ImportError(
        "TabularClassifier and TabularRegressor need scikit-learn; run: pip install 'causeway[sklearn]'"
    ) from problem

__all__ = ["TabularClassifier", "TabularRegressor"]


def _packaged(regression: bool) -> Path:
    """The weights that come with the package, or those in the folder that CAUSEWAY_WEIGHTS names."""
    name, path, folders = _find_weights(regression)
    if path is None:
        raise FileNotFoundError(
            f"no weights found: no {name} in {' or '.join(folders)}; pass model=, the path of a file "
            "written by cw.models.save_tabular or `causeway pretrain`, or set CAUSEWAY_WEIGHTS to the "
            "folder of the weights"
        )
    return Path(path)


@functools.lru_cache(maxsize=4)
def _load(path: str, version: tuple[int, int, int] | None, device: str) -> TabularTransformer:
    return load_tabular(path, device=device)


def _require_finite_target(y: Any) -> None:
    """Names the row, which scikit-learn's check does not."""
    values = np.asarray(y)
    if values.dtype.kind == "f" and np.isinf(values).any():
        row = int(np.argmax(np.isinf(values.ravel())))
        raise ValueError(f"target, row {row} (from 0): infinity; replace it by a finite number")


def _labels(names: list[str], kind: str) -> np.ndarray:
    """Class labels as values of the column's type."""
    if kind == "boolean":
        return np.array([name == "True" for name in names])
    if kind == "number":
        values = np.array([float(name) for name in names])
        whole = np.all(values == np.floor(values)) and np.all(np.abs(values) < 2**53)
        return values.astype(np.int64) if whole else values
    return np.array(names, dtype=object)


class _TabularEstimator(BaseEstimator):
    _regression: bool

    def __init__(
        self,
        model: Any = None,
        *,
        n_estimators: int = 4,
        max_features: int = 100,
        max_rows: int = 10_000,
        random_state: Any = 0,
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_rows = max_rows
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def _model(self) -> TabularTransformer:
        if isinstance(self.model, TabularTransformer):
            return self.model
        path = _packaged(self._regression) if self.model is None else Path(os.fspath(self.model))
        status = path.stat() if path.exists() else None
        # The inode too: a file may be replaced within the resolution of its time.
        version = status and (status.st_mtime_ns, status.st_size, status.st_ino)
        return _load(str(path), version, self.device)

    def _new_estimator(self) -> _Estimator:
        model = self._model()
        if self._regression != (model.config["classes"] == 0):
            predicts = "numbers" if model.config["classes"] == 0 else "classes"
            raise ValueError(f"{type(self).__name__} got a model that predicts {predicts}")
        return _Estimator(
            model, self._regression, self.n_estimators, self.max_features, self.max_rows, self._seed
        )

    def _draw_seed(self) -> int:
        """An integer random_state is the seed, as for `causeway predict` and in C++."""
        if isinstance(self.random_state, numbers.Integral) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fit(self, X: Any, y: Any) -> None:
        """Fits; a failed fit leaves the estimator unchanged."""
        before = dict(self.__dict__)
        try:
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
            notes: list[str] = []
            if isinstance(y, str) and hasattr(X, "iloc"):
                have = X[y].notna()
                if not have.all():
                    notes.append(f'rows without a value of the target "{y}" are left out: {(~have).sum()}')
                X, y = X.loc[have].drop(columns=[y]), X.loc[have, y].infer_objects()
            self._seed = self._draw_seed()
            if isinstance(y, str):
                notes += self._fit_column(X, y)
            else:
                X, y = self._validated(X, y)
                codes, n_classes = self._encode_target(y)
                estimator = self._new_estimator()
                notes += estimator.fit(estimator_table(X), asarray(codes.astype(np.float64)), n_classes)
                self._estimator = estimator
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)

    def _fit_column(self, X: Any, target: str) -> list[str]:
        """Fits to a table that has the target as a column; rows without a target are left out."""
        if not is_frame(X):
            raise ValueError(f"y={target!r} names a column, but X has no column names")
        table = estimator_table(X)
        estimator = self._new_estimator()
        labels, notes = estimator.fit_target(table, target, self._regression)
        if not self._regression:
            self.classes_ = _labels(labels, table.type_of(target))
            self._ranks = np.arange(len(labels))
        self._names = [name for name in table.names if name != target]
        self.n_features_in_ = len(self._names)
        self.feature_names_in_ = np.array(self._names, dtype=object)
        self._estimator = estimator
        return notes

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        _require_finite_target(y)
        if not is_frame(X):
            X, y = validate_data(self, X, y, dtype=None, ensure_all_finite=False)
            self._names = None
            return X, y
        n_rows = X.n_rows if hasattr(X, "n_rows") else X.shape[0]
        if n_rows == 0:
            raise ValueError(f"Found array with 0 sample(s) (shape=({n_rows}, ...)) while a minimum of "
                             "1 is required.")
        names = frame_names(X)
        self._names = [str(name) for name in names]
        if hasattr(X, "shape"):
            validate_data(self, X, reset=True, skip_check_array=True)
            check_consistent_length(X, y)
        else:
            self.n_features_in_ = len(names)
            self.feature_names_in_ = np.array(names, dtype=object)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        return X, y

    def _query_table(self, X: Any) -> Any:
        if is_frame(X):
            n_rows = X.n_rows if hasattr(X, "n_rows") else X.shape[0]
            if n_rows == 0:
                raise ValueError(f"Found array with 0 sample(s) (shape=({n_rows}, ...)) while a minimum "
                                 "of 1 is required.")
        else:
            X = validate_data(self, X, reset=False, dtype=None, ensure_all_finite=False)
        table = estimator_table(X)
        if self._names is not None and is_frame(X):
            return table  # columns are matched by name
        if len(table.names) != self.n_features_in_:
            raise ValueError(f"X has {len(table.names)} columns, but fit had {self.n_features_in_}")
        return table.renamed(self._names or [str(i) for i in range(self.n_features_in_)])

    def _predict(self, method: str, X: Any) -> np.ndarray:
        check_is_fitted(self)
        table = self._query_table(X)
        with ProgressBar("predict", always=bool(self.verbose)) as bar:
            result, notes = getattr(self._estimator, method)(table, bar)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=4)
        return result.numpy()

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        estimator = state.pop("_estimator", None)
        if estimator is not None:
            encoder, x, y, n_classes = estimator.state()
            state["_context"] = (encoder, x.numpy(), y.numpy(), n_classes)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        context = state.get("_context")
        super().__setstate__({name: value for name, value in state.items() if name != "_context"})
        if context is not None:
            encoder, x, y, n_classes = context
            self._estimator = self._new_estimator()
            self._estimator.restore(encoder, asarray(x), asarray(y), n_classes)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_estimator")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        # Text is accepted too, but scikit-learn's string tag would include arbitrary objects.
        return tags


class TabularClassifier(ClassifierMixin, _TabularEstimator):
    """Predicts classes from labelled context rows, in one forward pass of a pretrained transformer.

    model: a file written by cw.models.save_tabular, or a TabularTransformer. Default: the packaged
        weights, or those in the folder CAUSEWAY_WEIGHTS.
    n_estimators: ensemble size; members differ in the order of columns and classes.
    max_features: maximum number of columns that are not constant; fit raises if there are more.
    max_rows: maximum number of context rows; fit takes a stratified sample of more, and warns.
    random_state: seed of the ensemble and of the sample. device: "auto", "cpu" or "cuda".
    verbose: always show a progress bar. Otherwise one is shown if stderr is a terminal and a
        prediction takes longer than a few seconds.
    """

    _regression = False

    def fit(self, X: Any, y: Any) -> TabularClassifier:
        """Stores the rows of X (rows, features) as context. y holds their classes, or is the name of
        a column of X. The model runs at the first prediction."""
        self._fit(X, y)
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

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities for each row of X, shape (rows, classes), in the order of classes_."""
        return self._predict("predict_proba", X)[:, self._ranks]

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self._predict("predict_proba", X)[:, self._ranks], axis=1)]


class TabularRegressor(RegressorMixin, _TabularEstimator):
    """Predicts a numeric target from labelled context rows. Parameters as for TabularClassifier."""

    _regression = True

    def fit(self, X: Any, y: Any) -> TabularRegressor:
        """Stores the rows of X (rows, features) as context. y holds their targets, or is the name of
        a column of X. The model runs at the first prediction."""
        self._fit(X, y)
        return self

    def _encode_target(self, y: Any) -> tuple[np.ndarray, int]:
        return np.asarray(y), 0

    def predict(self, X: Any) -> np.ndarray:
        """The mean of each row's predicted distribution."""
        return self._predict("predict_mean", X)
