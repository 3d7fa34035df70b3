"""The parts of scikit-learn that estimators need, or replacements if it is not installed."""

from __future__ import annotations

from typing import Any

__all__ = [
    "BaseEstimator", "NotFittedError", "TransformerMixin", "_check_feature_names",
    "_check_n_features", "validate_data",
]

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import _check_feature_names, _check_n_features, validate_data
except ImportError:
    validate_data = _check_feature_names = _check_n_features = None

    class NotFittedError(ValueError, AttributeError):
        """Raised by a tokenizer that has not been fitted."""

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
            return self.fit(X, y, **fit_params).transform(X)

    class BaseEstimator:
        @classmethod
        def _get_param_names(cls) -> list[str]:
            import inspect

            return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            return {name: getattr(self, name) for name in self._get_param_names()}

        def set_params(self, **params: Any) -> Any:
            for name, value in params.items():
                setattr(self, name, value)
            return self
