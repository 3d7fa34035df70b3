"""Sorting and searching under PyTorch's names: unique, searchsorted, quantiles, counts."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from . import _core
from ._core import DType, Tensor
from .functions import METHODS, axis_of, method

__all__ = [
    "argwhere", "bincount", "bucketize", "isin", "kthvalue", "median", "quantile", "searchsorted",
    "unique", "where",
]  # fmt: skip
Found = namedtuple("Found", "values indices")


def _flattened(x: Tensor, dim: int | None) -> tuple[Tensor, int]:
    return (x.flatten(), 0) if dim is None else (x, axis_of(x, dim))


@method
def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Found:
    """The k-th smallest value along a dimension, from 1, and its index."""
    dim = axis_of(x, dim)
    if not 1 <= k <= x.shape[dim]:
        raise _core.InvalidIndex(f"[kthvalue] k {k} for a dimension of {x.shape[dim]}")
    return _entry(x.sort(dim=dim), dim, k - 1, keepdim)


def _entry(found: Any, dim: int, place: int, keepdim: bool) -> Found:
    entry = [part.narrow(dim, place, 1) for part in found]
    return Found(*(entry if keepdim else [part.squeeze(dim) for part in entry]))


@method
def median(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The lower median: over all elements, or along a dimension with its index; NaN if one is NaN."""
    flat, along = _flattened(x, dim)
    n, keepdim = flat.shape[along], keepdim and dim is not None
    if n == 0:
        raise _core.InvalidIndex(f"[median] no elements along a dimension of shape {x.shape}")
    ordered = flat.sort(dim=along)
    found = _entry(ordered, along, (n - 1) // 2, keepdim)
    if flat.dtype.is_floating:
        last = _entry(ordered, along, n - 1, keepdim)  # NaN if there is one
        is_nan = last.values.isnan()
        found = Found(*(_core.where(is_nan, a, b) for a, b in zip(last, found)))
    return found.values if dim is None else found


@method
def quantile(x: Tensor, q: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Quantiles by linear interpolation, NaN if an element is; several come in a new first dimension."""
    flat, along = _flattened(x, dim)
    several = isinstance(q, Tensor) and q.ndim == 1
    levels = q.tolist() if several else [float(q)]
    if any(not 0 <= level <= 1 for level in levels):
        raise ValueError(f"quantile: levels {levels} are not all in [0, 1]")
    values = flat.sort(axis=along)
    n, parts = flat.shape[along], []
    greatest = values.narrow(along, n - 1, 1)  # NaN if there is one
    for level in levels:
        place = level * (n - 1)
        low = int(np.floor(place))
        first, last = values.narrow(along, low, 1), values.narrow(along, min(low + 1, n - 1), 1)
        parts.append(_core.where(greatest.isnan(), greatest, first.lerp(last, place - low)))
    if dim is None:
        parts = [part.reshape((1,) * x.ndim if keepdim else ()) for part in parts]
    elif not keepdim:
        parts = [part.squeeze(along) for part in parts]
    return _core.stack(parts) if several else parts[0]


def searchsorted(sorted_sequence: Tensor, values: Any, *, right: bool = False, side: str | None = None) -> Tensor:
    """Where values would be inserted into a sorted vector, i64: before equal ones, or after with
    right=True or side="right". Both may have the same leading dimensions."""
    right = right or side == "right"
    table = sorted_sequence
    x = values if isinstance(values, Tensor) else _core.array(values, device=table.device)
    if table.ndim > 1 and table.shape[:-1] != x.shape[:-1]:
        raise _core.ShapeMismatch(f"[searchsorted] {table.shape} and {x.shape} differ in leading dimensions")
    # A binary search over all values at once.
    low = _core.zeros(x.shape, dtype="i64", device=x.device)
    n = table.shape[-1]
    high = _core.full(x.shape, n, device=x.device)
    for _ in range(max(n, 1).bit_length()):
        middle = (low + high).floor_divide(2)
        at = middle.clamp(max=max(n - 1, 0))
        found = table[at] if table.ndim == 1 else table.gather(-1, at)
        is_after = (middle < high) & ((found <= x) if right else (found < x))
        low = _core.where(is_after, middle + 1, low)
        high = _core.where(is_after, high, middle)
    return low


def bucketize(x: Any, boundaries: Tensor, *, right: bool = False) -> Tensor:
    """The bucket of each value between sorted boundaries, i64."""
    return searchsorted(boundaries, x, right=right)


@method
def unique(x: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
           dim: int | None = None) -> Any:
    """The distinct elements, sorted; also where each element is among them, and how often each occurs.
    Waits for the device, since their number depends on the data."""
    if dim is not None:
        raise NotImplementedError("unique(dim=...) is not supported; it takes all elements")
    values, order = x.detach().flatten().sort()
    starts = _core.ones(values.shape, dtype="bool", device=x.device)
    if values.size > 1:
        starts[1:] = values[1:] != values[:-1]
    places = starts.nonzero(as_tuple=True)[0]
    results = [values[places]]
    if return_inverse:
        group = starts.to(DType.i64).cumsum(dim=0) - 1
        results.append(_core.zeros_like(group).scatter(0, order, group).reshape(x.shape))
    if return_counts:
        ends = _core.array([values.size], DType.i64, x.device)
        bounds = _core.cat([places, ends])
        results.append(bounds[1:] - bounds[:-1])
    return results[0] if len(results) == 1 else tuple(results)


@method
def bincount(x: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """How often each integer from 0 occurs, or the sums of their weights."""
    size = max(minlength, int(x.max()) + 1 if x.size else 0)
    ones = _core.ones(x.shape, dtype="i64", device=x.device) if weights is None else weights
    return _core.zeros(size, dtype=ones.dtype, device=x.device).scatter_add(0, x, ones)


def isin(x: Tensor, test: Any) -> Tensor:
    """Whether each element is among others, bool."""
    others = test if isinstance(test, Tensor) else _core.array(test, device=x.device)
    return (x.unsqueeze(-1) == others.flatten()).any(dim=-1)


def where(condition: Tensor, a: Any = None, b: Any = None) -> Any:
    """a where the condition is true, else b; all three broadcast. With the condition alone, the
    coordinates where it is true."""
    if a is None and b is None:
        return condition.nonzero(as_tuple=True)
    return _core.where(condition, a, b)


@method
def argwhere(x: Tensor) -> Tensor:
    """Coordinates of the nonzero elements, (n, dimensions)."""
    return x.nonzero()


METHODS.update(isin=isin, where=lambda x, condition, other: _core.where(condition, x, other))
