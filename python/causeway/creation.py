"""Tensors from Python values under PyTorch's names."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import DType, Tensor

__all__ = ["as_tensor", "clone", "detach", "e", "inf", "logspace", "nan", "newaxis", "numel", "pi", "scalar_tensor",
           "tensor", "tril_indices", "triu_indices"]
pi, inf, nan, e, newaxis = math.pi, math.inf, math.nan, math.e, None


def tensor(data: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """A tensor with a copy of nested lists, numbers or an array. Python's floats become f32."""
    made = _core.array(_plain(data), dtype, device)
    return made.requires_grad_() if requires_grad else made


def _plain(data: Any) -> Any:
    """Lists of tensors as one tensor."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(entry, Tensor) for entry in data):
        return _core.stack([entry.detach() for entry in data])
    if isinstance(data, (list, tuple)) and not data:
        return _core.zeros((0,))
    return data.detach() if isinstance(data, Tensor) else data


def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor that shares memory with an array or tensor if it can, else a copy."""
    return _core.asarray(data, dtype, device)


def scalar_tensor(value: float, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of no dimensions."""
    return _core.full((), value, dtype or DType.f32, device)


def numel(x: Tensor) -> int:
    """The number of elements."""
    return x.numel()


def clone(x: Tensor) -> Tensor:
    """A contiguous copy."""
    return x.clone()


def detach(x: Tensor) -> Tensor:
    """A tensor that shares the memory and is not tracked."""
    return x.detach()


def logspace(start: float, end: float, steps: int, base: float = 10.0, *, dtype: Any = None,
             device: Any = None) -> Tensor:
    """Powers of the base, evenly spaced in the exponent."""
    exponents = _core.linspace(start, end, steps, dtype=DType.f64)
    return (exponents * math.log(base)).exp().to(dtype or DType.f32).to(device or "cpu")


def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Coordinates of the lower triangle of a matrix, (2, n)."""
    return _core.ones((row, col)).tril(offset).nonzero().transpose(0, 1)


def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Coordinates of the upper triangle of a matrix, (2, n)."""
    return _core.ones((row, col)).triu(offset).nonzero().transpose(0, 1)
