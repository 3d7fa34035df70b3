"""Arithmetic, norms, products and in-place operations under PyTorch's names."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import DType, Tensor, where
from .functions import METHODS, method

__all__ = [
    "add", "addcdiv", "addcmul", "addmm", "allclose", "amax", "amin", "baddbmm", "cdist",
    "clamp_max", "clamp_min", "cosh", "cumprod", "div", "dot", "exp2", "floor_divide",
    "fmod", "frac", "isclose", "lerp", "log10", "log_softmax", "logsumexp", "nan_to_num", "nanmean",
    "nansum", "norm", "outer", "sinh", "softmax", "sub", "trace",
]  # fmt: skip


@method
def equal(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors have the same shape and elements. The function causeway.equal compares
    elementwise; this is the method."""
    return a.shape == b.shape and bool((a == b).all())


@method
def add(a: Any, b: Any, *, alpha: float = 1) -> Tensor:
    """a + alpha * b."""
    return _core.add(a, b if alpha == 1 else b * alpha)


@method
def sub(a: Any, b: Any, *, alpha: float = 1) -> Tensor:
    """a - alpha * b."""
    return _core.subtract(a, b if alpha == 1 else b * alpha)


@method
def div(a: Any, b: Any, *, rounding_mode: str | None = None) -> Tensor:
    """a / b; rounded down with rounding_mode="floor", towards 0 with "trunc"."""
    if rounding_mode is None:
        return _core.divide(a, b)
    if rounding_mode not in ("floor", "trunc"):
        raise ValueError(f"rounding_mode {rounding_mode!r}: expected None, \"floor\" or \"trunc\"")
    integers = all(not x.dtype.is_floating if isinstance(x, Tensor) else isinstance(x, int) for x in (a, b))
    if not integers:
        return getattr(_core.divide(a, b), rounding_mode)()
    # Reading a divisor on a GPU would wait for the device.
    if bool((b == 0).any()) if isinstance(b, Tensor) and not b.is_cuda else isinstance(b, int) and b == 0:
        raise ZeroDivisionError("[div] integer division by zero")
    # f64 holds quotients of integers up to 2**53.
    dtypes = [x.dtype for x in (a, b) if isinstance(x, Tensor)]
    dtype = sum(_core.zeros((), dtype=dtype) for dtype in dtypes).dtype
    wide = a.to(DType.f64) if isinstance(a, Tensor) else a
    return getattr(wide / (b.to(DType.f64) if isinstance(b, Tensor) else b), rounding_mode)().to(dtype)


@method
def floor_divide(a: Any, b: Any) -> Tensor:
    """a / b, rounded down."""
    return div(a, b, rounding_mode="floor")


@method
def fmod(a: Tensor, b: Any) -> Tensor:
    """The remainder of a / b with the sign of a."""
    return a.sign() * (a.abs() % abs(b))


@method
def exp2(x: Tensor) -> Tensor:
    """2 to the power of x."""
    return (x * math.log(2)).exp()


@method
def log10(x: Tensor) -> Tensor:
    """The logarithm to base 10."""
    return x.log() * (1 / math.log(10))


@method
def sinh(x: Tensor) -> Tensor:
    """The hyperbolic sine."""
    return (x.expm1() - (-x).expm1()) * 0.5


@method
def cosh(x: Tensor) -> Tensor:
    """The hyperbolic cosine."""
    return (x.exp() + (-x).exp()) * 0.5


@method
def frac(x: Tensor) -> Tensor:
    """The fractional part, with the sign of x."""
    return x - x.trunc()


@method
def clamp_min(x: Tensor, min: Any) -> Tensor:
    """max(x, min)."""
    return _core.maximum(x, min) if isinstance(min, Tensor) else x.clamp(min=min)


@method
def clamp_max(x: Tensor, max: Any) -> Tensor:
    """min(x, max)."""
    return _core.minimum(x, max) if isinstance(max, Tensor) else x.clamp(max=max)


@method
def lerp(x: Tensor, end: Tensor, weight: Any) -> Tensor:
    """x + weight * (end - x)."""
    return x + (end - x) * weight


@method
def addcmul(x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    """x + value * a * b."""
    return x + a * b * value


@method
def addcdiv(x: Tensor, a: Tensor, b: Tensor, *, value: float = 1) -> Tensor:
    """x + value * a / b."""
    return x + a / b * value


# Products.


@method
def addmm(x: Tensor, a: Tensor, b: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * x + alpha * (a @ b)."""
    return x * beta + (a @ b) * alpha


baddbmm = METHODS["baddbmm"] = addmm


@method
def dot(a: Tensor, b: Tensor) -> Tensor:
    """The inner product of two vectors."""
    if a.ndim != 1 or a.shape != b.shape:
        raise _core.ShapeMismatch(f"[dot] expected two vectors of one size, got {a.shape} and {b.shape}")
    return (a * b).sum()


@method
def outer(a: Tensor, b: Tensor) -> Tensor:
    """All products of the elements of two vectors, shape (n, m)."""
    if a.ndim != 1 or b.ndim != 1:
        raise _core.ShapeMismatch(f"[outer] expected two vectors, got {a.shape} and {b.shape}")
    return a.unsqueeze(1) * b.unsqueeze(0)


@method
def trace(x: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    return x.diagonal().sum()


def cdist(a: Tensor, b: Tensor, p: float = 2.0) -> Tensor:
    """Distances of all rows: (..., n, k) and (..., m, k) to (..., n, m)."""
    return norm(a.unsqueeze(-2) - b.unsqueeze(-3), p, dim=-1)


@method
def cumprod(x: Tensor, dim: int) -> Tensor:
    """The cumulative product along a dimension."""
    parts = [x.select(dim, i) for i in range(x.shape[dim])]
    for i in range(1, len(parts)):
        parts[i] = parts[i - 1] * parts[i]
    return _core.stack(parts, dim=dim if dim >= 0 else dim + x.ndim) if parts else x.clone()


@method
def softmax(x: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """exp(x) divided by its sum along a dimension."""
    return _core._functional.softmax(x, dim, dtype)


@method
def log_softmax(x: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of softmax."""
    return _core._functional.log_softmax(x, dim, dtype)


# Norms and means.

@method
def norm(x: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The p-norm over dimensions, or over all; p can be 0 and infinite, "fro" is 2."""
    if x.dtype in (DType.f16, DType.bf16):  # squares may exceed the range of f16
        return norm(x.to(DType.f32), p, dim, keepdim).to(x.dtype)
    p = 2 if p in ("fro", None) else p
    if p == math.inf:
        return x.abs().max(axis=dim, keepdims=keepdim)
    if p == -math.inf:
        return x.abs().min(axis=dim, keepdims=keepdim)
    if p == 0:
        return (x != 0).to(x.dtype).sum(dim=dim, keepdim=keepdim)
    if p == 1:
        return x.abs().sum(dim=dim, keepdim=keepdim)
    total = (x.square() if p == 2 else x.abs() ** p).sum(dim=dim, keepdim=keepdim)
    # The gradient of a norm of 0 is 0.
    positive = where(total == 0, _core.ones_like(total), total)
    return where(total == 0, total, positive.sqrt() if p == 2 else positive ** (1 / p))


@method
def logsumexp(x: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow."""
    peak = x.detach().max(axis=dim, keepdims=True)
    peak = where(peak.isfinite(), peak, 0.0)
    total = (x - peak).exp().sum(dim=dim, keepdim=True).log() + peak
    return total if keepdim else total.squeeze(dim)


@method
def amax(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The maximum over dimensions; equal maxima share the gradient."""
    return x.max(axis=dim, keepdims=keepdim)


@method
def amin(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The minimum over dimensions; equal minima share the gradient."""
    return x.min(axis=dim, keepdims=keepdim)


@method
def nansum(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the elements that are not NaN."""
    return where(x.isnan(), 0.0, x).sum(dim=dim, keepdim=keepdim)


@method
def nanmean(x: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The mean of the elements that are not NaN."""
    return nansum(x, dim, keepdim) / (~x.isnan()).sum(dim=dim, keepdim=keepdim)


@method
def nan_to_num(x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    """x with NaN and infinities replaced, by default by 0 and the limits of the dtype."""
    from .dtypes import finfo

    limits = finfo(x.dtype)
    x = where(x.isnan(), nan, x)
    x = where(x == math.inf, limits.max if posinf is None else posinf, x)
    return where(x == -math.inf, limits.min if neginf is None else neginf, x)


def allclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close: |a - b| <= atol + rtol * |b|."""
    return bool(isclose(a, b, rtol, atol, equal_nan).all())


def isclose(a: Tensor, b: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Whether elements are close, bool."""
    close = (a == b) | (((a - b).abs() <= atol + rtol * b.abs()) & b.isfinite())
    return close | (a.isnan() & b.isnan()) if equal_nan else close


METHODS.update(allclose=allclose, isclose=isclose)


# In place. As in the engine, a tensor that requires a gradient is written only under no_grad().


def _in_place(function: Any) -> Any:
    def write(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = function(x, *args, **kwargs)
        if result.shape != x.shape or (result.dtype.is_floating and not x.dtype.is_floating):
            raise _core.ShapeMismatch(f"[{function.__name__}_] the result, {result.dtype} of shape "
                                      f"{result.shape}, does not fit into {x.dtype} of shape {x.shape}")
        x.copy_from(result)
        return x

    write.__name__, write.__doc__ = function.__name__ + "_", f"{function.__name__}() in place."
    return write


IN_PLACE = (
    "abs", "add", "addcdiv", "addcmul", "addmm", "ceil", "clamp", "clamp_max", "clamp_min", "clip",
    "cos", "div", "erf", "exp", "floor", "floor_divide", "fmod", "frac", "lerp", "log", "log1p",
    "log2", "logical_and", "logical_not", "logical_or", "masked_fill", "mul", "nan_to_num", "neg",
    "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "scatter", "scatter_add", "sigmoid",
    "sign", "sin", "sqrt", "square", "sub", "tan", "tanh", "tril", "triu", "trunc",
)  # fmt: skip
for _name in IN_PLACE:
    METHODS[_name + "_"] = _in_place(METHODS.get(_name) or getattr(Tensor, _name))


@method
def copy_(x: Tensor, source: Tensor, non_blocking: bool = False) -> Tensor:
    """Copies the elements of another tensor, broadcast and converted."""
    x.copy_from(source)
    return x


@method
def fill_(x: Tensor, value: Any) -> Tensor:
    """Sets all elements to a value."""
    x[...] = value
    return x


@method
def zero_(x: Tensor) -> Tensor:
    """Sets all elements to 0."""
    return fill_(x, 0)
