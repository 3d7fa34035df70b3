"""Losses as modules."""

from __future__ import annotations

from typing import Any

from .. import functional
from .._core import Tensor
from .module import Module


class _Loss(Module):
    """A loss of an input and a target; keywords are those of the function."""

    _function: Any = None
    _names: tuple[str, ...] = ()
    _weights: tuple[str, ...] = ()

    def __init__(self, *, reduction: str = "mean", **options: Any) -> None:
        super().__init__()
        unknown = set(options) - set(self._names) - set(self._weights)
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option {', '.join(sorted(unknown))}")
        self.reduction = reduction
        for name in self._weights:
            self.register_buffer(name, options.pop(name, None))
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        weights = {name: getattr(self, name) for name in self._weights if getattr(self, name) is not None}
        return type(self)._function(input, target, reduction=self.reduction, **weights, **self.options)


def _loss(name: str, function: Any, doc: str, options: tuple[str, ...] = (),
          weights: tuple[str, ...] = ()) -> type[_Loss]:
    return type(name, (_Loss,), {"__doc__": doc, "__module__": __name__, "_function": staticmethod(function),
                                 "_names": options, "_weights": weights})


class CrossEntropyLoss(_Loss):
    """Cross entropy of logits and classes: functional.cross_entropy."""

    _function = staticmethod(functional.cross_entropy)
    _names = ("ignore_index", "label_smoothing")
    _weights = ("weight",)

    def __init__(self, weight: Tensor | None = None, **options: Any) -> None:
        super().__init__(weight=weight, **options)


class NLLLoss(CrossEntropyLoss):
    """The negative of log-probabilities: functional.nll_loss."""

    _function = staticmethod(functional.nll_loss)
    _names = ("ignore_index",)


MSELoss = _loss("MSELoss", functional.mse_loss, "Squared error.")
L1Loss = _loss("L1Loss", functional.l1_loss, "Absolute error.")
SmoothL1Loss = _loss("SmoothL1Loss", functional.smooth_l1_loss, "Smooth absolute error.", ("beta",))
HuberLoss = _loss("HuberLoss", functional.huber_loss, "Huber loss.", ("delta",))
KLDivLoss = _loss("KLDivLoss", functional.kl_div, "Kullback-Leibler divergence.", ("log_target",))
BCELoss = _loss("BCELoss", functional.binary_cross_entropy, "Cross entropy of probabilities.", (), ("weight",))
BCEWithLogitsLoss = _loss("BCEWithLogitsLoss", functional.binary_cross_entropy_with_logits,
                          "Cross entropy of sigmoids of logits.", (), ("weight", "pos_weight"))


class GaussianNLLLoss(Module):
    """The negative log-likelihood of normal distributions: functional.gaussian_nll_loss."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__()
        self.full, self.eps, self.reduction = full, eps, reduction

    def forward(self, input: Tensor, target: Tensor, var: Tensor) -> Tensor:
        return functional.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "MSELoss", "NLLLoss", "SmoothL1Loss",
]  # fmt: skip
