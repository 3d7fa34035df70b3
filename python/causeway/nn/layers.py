"""Layers written in Python on top of the compiled ones: activations, pooling, normalisation, Conv1d."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, functional, init
from .._core import Tensor
from .._core._nn import BatchNorm2d, _Pool2d
from .module import Module, Parameter

class MaxPool2d(_Pool2d):
    """Max pooling."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(True, kernel_size, stride, padding)


class AvgPool2d(_Pool2d):
    """Average pooling; padding counts as 0."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(False, kernel_size, stride, padding)


def _activation(name: str, function: Any, doc: str) -> type[Module]:
    def forward(self: Module, x: Tensor) -> Tensor:
        return function(x)

    return type(name, (Module,), {"__doc__": doc, "forward": forward, "__module__": __name__})


Identity = _activation("Identity", lambda x: x, "Returns its input.")
Hardswish = _activation("Hardswish", functional.hardswish, "x * hardsigmoid(x).")
Hardsigmoid = _activation("Hardsigmoid", functional.hardsigmoid, "x / 6 + 1/2, clipped to [0, 1].")
LogSigmoid = _activation("LogSigmoid", functional.logsigmoid, "log(sigmoid(x)).")
Mish = _activation("Mish", functional.mish, "x * tanh(softplus(x)).")
ReLU6 = _activation("ReLU6", functional.relu6, "x clipped to [0, 6].")
Tanh = _activation("Tanh", _core.tanh, "The hyperbolic tangent.")
Sigmoid = _activation("Sigmoid", _core.sigmoid, "1 / (1 + exp(-x)).")
SELU = _activation("SELU", functional.selu, "Scaled ELU, which preserves mean 0 and variance 1.")
Softplus = _activation("Softplus", functional.softplus, "log(1 + exp(x)).")


class LeakyReLU(Module):
    """x for x > 0, else negative_slope * x."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return functional.leaky_relu(x, self.negative_slope)


class ELU(Module):
    """x for x > 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return functional.elu(x, self.alpha)


class _InPlace(Module):
    """An activation that PyTorch can write into its input; here the result is a new tensor, which is the
    same for code that uses the result."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()


class ReLU(_InPlace):
    """max(x, 0)."""

    def forward(self, x: Tensor) -> Tensor:
        return _core.relu(x)


class SiLU(_InPlace):
    """x * sigmoid(x)."""

    def forward(self, x: Tensor) -> Tensor:
        return _core.silu(x)


class GELU(Module):
    """x times the standard normal CDF of x, or its tanh approximation."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, x: Tensor) -> Tensor:
        return functional.gelu(x, self.approximate)


class Softmax(Module):
    """exp(x) divided by its sum along a dimension."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        return functional.softmax(x, self.dim)


class LogSoftmax(Softmax):
    """The logarithm of softmax."""

    def forward(self, x: Tensor) -> Tensor:
        return functional.log_softmax(x, self.dim)


class Unflatten(Module):
    """Splits a dimension into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        super().__init__()
        self.dim, self.unflattened_size = dim, unflattened_size

    def forward(self, x: Tensor) -> Tensor:
        return x.unflatten(self.dim, self.unflattened_size)


class BatchNorm1d(BatchNorm2d):
    """Batch normalisation of (n, features) or (n, channels, length)."""

    def forward(self, x: Tensor) -> Tensor:
        if x.ndim not in (2, 3):
            raise _core.ShapeMismatch(f"[BatchNorm1d] expected 2 or 3 dimensions, got shape {x.shape}")
        return super().forward(x)


class GroupNorm(Module):
    """Normalises groups of the channels of (n, channels, ...)."""

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels {num_channels} is not divisible by num_groups {num_groups}")
        self.num_groups, self.num_channels, self.eps = num_groups, num_channels, eps
        placed = {"device": device, "dtype": dtype}
        self.weight = Parameter(_core.ones(num_channels, **placed)) if affine else None
        self.bias = Parameter(_core.zeros(num_channels, **placed)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        return functional.group_norm(x, self.num_groups, self.weight, self.bias, self.eps)


class Conv1d(Module):
    """Convolution of (n, channels, length)."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        size = kernel_size if isinstance(kernel_size, int) else kernel_size[0]
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, (size,)
        self.stride, self.padding, self.dilation, self.groups = stride, padding, dilation, groups
        placed = {"device": device, "dtype": dtype}
        self.weight = Parameter(_core.empty((out_channels, in_channels // groups, size), **placed))
        bound = 1 / math.sqrt(in_channels // groups * size)
        init.uniform_(self.weight, -bound, bound)
        self.bias = Parameter(_core.empty(out_channels, **placed)) if bias else None
        if bias:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, x: Tensor) -> Tensor:
        return functional.conv1d(x, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


__all__ = [
    "ELU", "GELU", "SELU", "AvgPool2d", "BatchNorm1d", "Conv1d", "GroupNorm", "Hardsigmoid", "Hardswish",
    "Identity", "LeakyReLU", "LogSigmoid", "LogSoftmax", "MaxPool2d", "Mish", "ReLU", "ReLU6", "SiLU",
    "Sigmoid", "Softmax", "Softplus", "Tanh", "Unflatten",
]  # fmt: skip
