"""Gradient clipping and flat vectors of parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .. import _core
from .._core import DType, Tensor
from ..autograd import no_grad

__all__ = ["clip_grad_norm_", "clip_grad_value_", "parameters_to_vector", "vector_to_parameters"]


def _gradients(parameters: Any) -> list[Tensor]:
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    return [tensor.grad for tensor in tensors if tensor.grad is not None]


@no_grad
def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0,
                    error_if_nonfinite: bool = False) -> Tensor:
    """Scales all gradients together so that their norm is at most max_norm; returns the norm before.
    Does not synchronise. An optimizer's max_norm does the same within its step."""
    gradients = _gradients(parameters)
    if not gradients:
        return _core.zeros(())
    wide = DType.f64 if any(gradient.dtype == DType.f64 for gradient in gradients) else DType.f32
    norms = _core.stack([gradient.to(wide).norm(norm_type) for gradient in gradients])
    total = norms.norm(norm_type)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError("clip_grad_norm_: the gradient norm is not finite")
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factor.to(gradient.dtype))
    return total


@no_grad
def clip_grad_value_(parameters: Any, clip_value: float) -> None:
    """Clips every element of the gradients to [-clip_value, clip_value]."""
    for gradient in _gradients(parameters):
        gradient.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """All parameters as one vector."""
    return _core.cat([parameter.flatten() for parameter in parameters])


@no_grad
def vector_to_parameters(vector: Tensor, parameters: Iterable[Tensor]) -> None:
    """Copies a vector into parameters."""
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.copy_from(vector[start : start + count].reshape(parameter.shape))
        start += count
