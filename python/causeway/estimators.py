"""Predictions for tables without training, with scikit-learn's interface.

    clf = cw.TabularClassifier().fit(X, y)    # keeps the rows; nothing is trained
    clf.predict_proba(X_new)

X is an array, a list or a frame of pandas or polars: numbers, text, categories, booleans and times,
with missing cells. A frame's columns are found by name, in whatever order they come.
"""

from __future__ import annotations

import functools
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from ._core._models import _TabularPredictor
from .columns import Columns, is_frame
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


def _packaged(name: str) -> Path:
    """The weights that come with the package, or those in the folder that CAUSEWAY_WEIGHTS names."""
    folder = os.environ.get("CAUSEWAY_WEIGHTS") or Path(__file__).resolve().parent / "weights"
    path = Path(folder) / name
    if not path.exists():
        raise FileNotFoundError(
            f"there are no weights: no {name} in {folder}; pass model=, the path of a file that "
            "cw.models.save_tabular or `causeway pretrain` wrote, or set CAUSEWAY_WEIGHTS to a folder "
            "that has it"
        )
    return path


@functools.lru_cache(maxsize=4)
def _load(path: str, changed: float, device: str) -> TabularTransformer:
    return load_tabular(path, device=device)


class _TabularEstimator(BaseEstimator):
    _weights: str

    def __init__(
        self,
        model: Any = None,
        *,
        n_estimators: int = 4,
        max_features: int = 100,
        max_rows: int = 10_000,
        random_state: Any = 0,
        device: str = "auto",
    ) -> None:
        self.model = model
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_rows = max_rows
        self.random_state = random_state
        self.device = device

    def _model(self) -> TabularTransformer:
        if isinstance(self.model, TabularTransformer):
            return self.model
        path = _packaged(self._weights) if self.model is None else Path(os.fspath(self.model))
        changed = path.stat().st_mtime if path.exists() else 0.0
        return _load(str(path), changed, self.device)

    def _read(self, X: Any, y: Any = None) -> tuple[np.ndarray, Any]:
        """The table as numbers, and the target as one checked column; y comes with fit only."""
        reset = y is not None
        if is_frame(X):
            if X.shape[0] == 0:
                raise ValueError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of "
                                 "1 is required.")
            if reset:
                validate_data(self, X, reset=True, skip_check_array=True)
                y = column_or_1d(y, warn=True)
                assert_all_finite(y, input_name="y")
                check_consistent_length(X, y)
        else:
            how = {"reset": reset, "dtype": None, "ensure_all_finite": "allow-nan"}
            if reset:
                X, y = validate_data(self, X, y, **how)
            else:
                X = validate_data(self, X, **how)
        if reset:
            self._columns = Columns(X)
        return self._columns.numbers(X), y

    def _keep(self, x: np.ndarray, y: np.ndarray, n_classes: int) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._known = (x, y, n_classes, seed)
        for note in self._make_predictor():
            warnings.warn(note, UserWarning, stacklevel=3)

    def _make_predictor(self) -> list[str]:
        x, y, n_classes, seed = self._known
        model = self._model()
        wants_numbers = n_classes == 0
        if wants_numbers != (model.config["classes"] == 0):
            told = "numbers" if model.config["classes"] == 0 else "classes"
            raise ValueError(f"{type(self).__name__} got a model that tells {told}")
        self._predictor = _TabularPredictor(
            model, self.n_estimators, self.max_features, self.max_rows, seed, 4 << 30
        )
        return self._predictor.fit(x, y, n_classes, [str(name) for name in self._columns.names])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_predictor", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "_known" in state:
            self._make_predictor()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_predictor")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        # Text is taken too; scikit-learn's tag would promise that objects of any kind are.
        return tags


class TabularClassifier(ClassifierMixin, _TabularEstimator):
    """Tells classes by rows whose class is known, in one pass of a pretrained transformer.

    model: a file that cw.models.save_tabular wrote, or a TabularTransformer; otherwise the package's,
        or what lies in the folder that CAUSEWAY_WEIGHTS names.
    n_estimators: orders of columns and classes whose answers are averaged.
    max_features: of more columns that say something, fit raises. max_rows: of more rows, fit keeps a
        stratified sample and warns. device: "auto", "cpu", "cuda".
    """

    _weights = "tabular.safetensors"

    def fit(self, X: Any, y: Any) -> TabularClassifier:
        """Keeps the rows of X (rows, features) and their classes y."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        x, y = self._read(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._keep(x, codes.astype(np.float64), len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(rows, classes), in the order of classes_."""
        check_is_fitted(self)
        return self._predictor.probabilities(self._read(X)[0]).numpy()

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest class of each row."""
        check_is_fitted(self)
        return self.classes_[np.argmax(self.predict_proba(X), axis=1)]


class TabularRegressor(RegressorMixin, _TabularEstimator):
    """Tells numbers by rows whose number is known. Parameters are those of TabularClassifier."""

    _weights = "tabular_regression.safetensors"

    def fit(self, X: Any, y: Any) -> TabularRegressor:
        """Keeps the rows of X (rows, features) and their numbers y."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        x, y = self._read(X, y)
        self._keep(x, np.asarray(y).astype(np.float64), 0)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The mean of each row's distribution."""
        check_is_fitted(self)
        return self._predictor.numbers(self._read(X)[0]).numpy()
