"""What TabularClassifier and TabularRegressor share: reading tables, fitting, predicting, state."""

from __future__ import annotations

import functools
import numbers
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._core import _find_weights, asarray
from ._core._models import _read_estimator
from ._core._models import _TabularEstimator as _Estimator
from ._progress import ProgressBar
from ._tables import estimator_table, frame_names, is_frame
from .importance import Importance
from .models import TabularTransformer, load_tabular, model_of

try:
    from sklearn.base import (  # noqa: F401
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.utils import _safe_indexing  # noqa: F401
    from sklearn.utils import assert_all_finite, check_consistent_length, check_random_state, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets  # noqa: F401
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as problem:
    raise ImportError(
        "TabularClassifier and TabularRegressor need scikit-learn; run: pip install 'causeway[sklearn]'"
    ) from problem


# Of the ensemble's members in turn.
TRANSFORMS = ("none", "power", "power", "components")
TARGET_TRANSFORMS = ("none", "power", "residual", "residual")
# As in C++: kAutomatic and kCalibrated.
TEMPERATURES = {"auto": -1.0, "calibrated": 0.0}


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


class TabularEstimator(BaseEstimator):
    _regression: bool

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
        device: str = "auto",
        verbose: bool = False,
    ) -> None:
        self.model = model
        self.n_estimators = n_estimators
        self.max_features = max_features
        self.max_rows = max_rows
        self.random_state = random_state
        self.transforms = transforms
        self.average = average
        self.temperature = temperature
        self.member_weights = member_weights
        self.precision = precision
        self.device = device
        self.verbose = verbose

    def _model(self) -> TabularTransformer:
        if isinstance(self.model, TabularTransformer):
            return self.model
        path = _packaged(self._regression) if self.model is None else Path(os.fspath(self.model))
        status = path.stat() if path.exists() else None
        # The inode too: a file may be replaced within the resolution of its times.
        version = status and (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
        return _load(str(path), version, self.device)

    def _new_estimator(self) -> _Estimator:
        model = self._model()
        if self._regression != (model.config["classes"] == 0):
            predicts = "numbers" if model.config["classes"] == 0 else "classes"
            raise ValueError(f"{type(self).__name__} got a model that predicts {predicts}")
        class_weight = getattr(self, "class_weight", None) or {}
        by_label = class_weight if isinstance(class_weight, dict) else {}
        return _Estimator(
            model, self._regression, *map(self._integer, ("n_estimators", "max_features", "max_rows")), self._seed,
            self._turns("transforms"), self._turns("target_transforms"), self.average,
            self._temperature(), self.member_weights, self.precision,
            {str(label): float(weight) for label, weight in by_label.items()}, class_weight == "balanced",
        )

    def _integer(self, name: str) -> int:
        value = getattr(self, name)
        if isinstance(value, numbers.Integral):
            return int(value)
        raise ValueError(f"{name}={value!r}: expected an integer, 1 or more")

    def _turns(self, name: str) -> list[str]:
        """The transforms that members have in turn; one may be given by its name."""
        value = getattr(self, name, TARGET_TRANSFORMS)
        names = [value] if isinstance(value, str) else value
        if isinstance(names, (Sequence, np.ndarray)) and all(isinstance(each, str) for each in names):
            return list(names)
        raise ValueError(f'{name}={value!r}: expected names, such as ("none", "power")')

    def _temperature(self) -> float:
        if isinstance(self.temperature, str) and self.temperature in TEMPERATURES:
            return TEMPERATURES[self.temperature]
        if isinstance(self.temperature, numbers.Real) and self.temperature > 0:
            return float(self.temperature)
        raise ValueError(f'temperature={self.temperature!r}: expected a positive number, "auto" or "calibrated"')

    def _draw_seed(self) -> int:
        """An integer random_state is the seed, as for `causeway predict` and in C++."""
        if isinstance(self.random_state, numbers.Integral) and self.random_state >= 0:
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
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
                if sample_weight is not None:
                    sample_weight = np.asarray(sample_weight)[have.to_numpy()]
                X, y = X.loc[have].drop(columns=[y]), X.loc[have, y].infer_objects()
            self._seed = self._draw_seed()
            if isinstance(y, str):
                if sample_weight is not None:
                    raise ValueError("sample_weight needs y as an array, or X as a pandas DataFrame")
                notes += self._fit_column(X, y)
            else:
                X, y = self._validated(X, y)
                weights = [] if sample_weight is None else _check_sample_weight(
                    sample_weight, X, dtype=np.float64, ensure_non_negative=True).tolist()
                codes, n_classes = self._encode_target(y)
                estimator = self._new_estimator()
                notes += estimator.fit(estimator_table(X), asarray(codes.astype(np.float64)), n_classes,
                                       weights, self._class_weights(y))
                self._estimator = estimator
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=3)

    def _class_weights(self, y: Any) -> list[float]:
        """The weight of each class by the model's codes; empty for none."""
        return []

    def _fit_column(self, X: Any, target: str) -> list[str]:
        """Fits to a table that has the target as a column; rows without a target are left out."""
        if not is_frame(X):
            raise ValueError(f"y={target!r} names a column, but X has no column names")
        table = estimator_table(X)
        estimator = self._new_estimator()
        labels, notes = estimator.fit_target(table, target, self._regression)
        if not self._regression:
            self._encode_column(labels, table.type_of(target))
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

    def _run(self, method: str, X: Any) -> Any:
        """The result of a method of the C++ estimator, which shows progress and may warn."""
        check_is_fitted(self)
        table = self._query_table(X)
        with ProgressBar(method.split("_")[0], always=bool(self.verbose)) as bar:
            result, notes = getattr(self._estimator, method)(table, bar)
        for note in notes:
            warnings.warn(note, UserWarning, stacklevel=4)
        return result

    def embed(self, X: Any) -> np.ndarray:
        """The model's last hidden vector of each row of X, shape (rows, width), mean over ensemble members.
        Rows of the context see their own target; cw.TabularEmbedding embeds them without it."""
        return self._run("embed", X).numpy()

    def importance(self, X: Any) -> Importance:
        """How much the predictions for X change if a column is missing, for each column. All columns run
        as one prediction of (columns + 1) times as many rows; a few hundred rows are enough."""
        values = self._run("importance", X).numpy()
        return Importance(list(self._names or map(str, range(self.n_features_in_))), values)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the fitted estimator to one safetensors file: the model, the context rows and the
        settings. load reads it, and in C++ TabularClassifier::load or TabularRegressor::load."""
        check_is_fitted(self)
        self._estimator.save(os.fspath(path), *self._saved_labels(), self._names is not None)

    @classmethod
    def load(cls, path: str | os.PathLike, device: str = "auto") -> Any:
        """Reads a file that save wrote. Needs no pickle, and no other file."""
        read = _read_estimator(os.fspath(path))
        if read["regression"] != cls._regression:
            raise ValueError(f'"{path}" is a {"regressor" if read["regression"] else "classifier"}, '
                             f"not for {cls.__name__}")
        options = dict(read["options"])
        for name in ("transforms", "target_transforms"):
            if name in options:
                options[name] = tuple(options[name])
        names = {number: name for name, number in TEMPERATURES.items()}
        options["temperature"] = names.get(options["temperature"], options["temperature"])
        made = cls(model_of(read["config"], read["weights"], device), **options, device=device)
        made._seed = options["random_state"]
        made._names = read["names"] if read["named_columns"] else None
        made.n_features_in_ = len(read["names"])
        if made._names is not None:
            made.feature_names_in_ = np.array(made._names, dtype=object)
        made._load_labels(read)
        made._estimator = made._new_estimator()
        made._estimator.restore(*read["state"])
        return made

    def export_onnx(self, path: str | os.PathLike) -> None:
        """Writes the fitted estimator as an ONNX graph with fixed context rows: see causeway.onnx_export.
        Needs the package onnx."""
        from .onnx_export import export_onnx

        check_is_fitted(self)
        export_onnx(self, path)

    def finetune(self, seconds: float = 60, *, learning_rate: float = 3e-5) -> tuple[float, float]:
        """Trains a copy of the model on the context rows for some seconds. `model` becomes the trained model
        if its log loss for a fifth of the rows, which are held out, is less by more than two standard errors.
        Returns that loss before and after; they are equal if the model stays. After a change the second is a
        little too small, as it decided: score the model on rows of your own."""
        check_is_fitted(self)
        with ProgressBar("finetune", always=bool(self.verbose)) as bar:
            weights, before, after = self._estimator.finetune(float(seconds), float(learning_rate), bar)
        if after < before:
            model = self._model()
            self.model = model_of(model._config, weights, model.device)
            state = self._estimator.state()
            self._estimator = self._new_estimator()
            self._estimator.restore(*state)
        return before, after

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        estimator = state.pop("_estimator", None)
        if estimator is not None:
            encoder, x, y, rows, *rest = estimator.state()
            state["_context"] = (encoder, x.numpy(), y.numpy(), rows.numpy(), *rest)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        context = state.get("_context")
        super().__setstate__({name: value for name, value in state.items() if name != "_context"})
        if context is not None:
            encoder, x, y, rows, *rest = context
            self._estimator = self._new_estimator()
            self._estimator.restore(encoder, asarray(x), asarray(y), asarray(rows), *rest)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_estimator")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        # Text is accepted too, but scikit-learn's string tag would include arbitrary objects.
        return tags
