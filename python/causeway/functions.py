"""Shapes, repetition and masks under PyTorch's names, made of the engine's operations and
differentiable as those are. Most are methods of Tensor too.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import DType, Tensor, cat, where

__all__ = [
    "broadcast_shapes", "broadcast_tensors", "broadcast_to", "chunk", "count_nonzero", "diag",
    "diagonal", "expand_as", "flatten", "flip", "hstack", "masked_fill", "masked_select",
    "meshgrid", "movedim", "narrow", "nonzero", "permute", "ravel", "repeat", "repeat_interleave",
    "reshape", "reshape_as", "roll", "select", "squeeze", "swapaxes", "swapdims", "t", "tile",
    "transpose", "tril", "triu", "unbind", "unflatten", "unsqueeze", "view", "view_as", "vstack",
]  # fmt: skip
METHODS: dict[str, Any] = {}


def method(function: Any) -> Any:
    """Makes the function a method of Tensor as well."""
    METHODS[function.__name__] = function
    return function


def axis_of(x: Tensor, dim: int, extra: int = 0) -> int:
    """A dimension counted from 0."""
    size = max(x.ndim + extra, 1)
    if not -size <= dim < size:
        raise _core.InvalidIndex(f"[dim] dimension {dim} is out of range for shape {x.shape}")
    return dim % size


def _sizes(values: tuple) -> tuple[int, ...]:
    """Sizes given one by one, or as one sequence."""
    return tuple(values[0]) if len(values) == 1 and isinstance(values[0], (tuple, list)) else values


# Shapes.


@method
def view(x: Tensor, *shape: Any) -> Tensor:
    """A view of another shape; raises if the strides would need a copy, for which there is reshape()."""
    if len(shape) == 1 and isinstance(shape[0], DType):
        raise TypeError("view(dtype) is not supported; to() converts the values")
    result = x.reshape(*shape)
    if result.size and result.data_ptr != x.data_ptr:
        raise _core.ShapeMismatch(f"[view] shape {x.shape} with strides {x.strides} cannot be viewed as "
                                  f"{result.shape} without a copy; use reshape()")
    return result


@method
def view_as(x: Tensor, other: Tensor) -> Tensor:
    """view() with the shape of another tensor."""
    return view(x, other.shape)


@method
def reshape_as(x: Tensor, other: Tensor) -> Tensor:
    """reshape() to the shape of another tensor."""
    return x.reshape(other.shape)


@method
def expand_as(x: Tensor, other: Tensor) -> Tensor:
    """A view broadcast to the shape of another tensor."""
    return x.expand(other.shape)


@method
def broadcast_to(x: Tensor, size: Any) -> Tensor:
    """A view broadcast to a shape."""
    return x.expand(size)


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Views of all tensors, broadcast to one shape."""
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return tuple(x.expand(shape) for x in tensors)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which tensors of these shapes are broadcast."""
    n_dims = max(map(len, shapes), default=0)
    result = []
    for sizes in zip(*[(1,) * (n_dims - len(shape)) + tuple(shape) for shape in shapes]):
        size = next((size for size in sizes if size != 1), 1)
        if any(other not in (1, size) for other in sizes):
            raise _core.ShapeMismatch(f"[broadcast_shapes] {shapes} cannot be broadcast together")
        result.append(size)
    return tuple(result)


@method
def unflatten(x: Tensor, dim: int, sizes: Any) -> Tensor:
    """Splits a dimension into several; one size may be -1."""
    dim = axis_of(x, dim)
    return x.reshape(*x.shape[:dim], *sizes, *x.shape[dim + 1 :])


@method
def movedim(x: Tensor, source: Any, destination: Any) -> Tensor:
    """A view with dimensions moved to other places."""
    sources = [axis_of(x, d) for d in ((source,) if isinstance(source, int) else source)]
    places = [axis_of(x, d) for d in ((destination,) if isinstance(destination, int) else destination)]
    order = [d for d in range(x.ndim) if d not in sources]
    for place, dim in sorted(zip(places, sources)):
        order.insert(place, dim)
    return x.permute(order)


@method
def swapaxes(x: Tensor, axis0: int, axis1: int) -> Tensor:
    """A view with two dimensions swapped."""
    return x.transpose(axis0, axis1)


swapdims = METHODS["swapdims"] = swapaxes


@method
def t(x: Tensor) -> Tensor:
    """The transpose of a matrix; a vector stays."""
    if x.ndim > 2:
        raise _core.ShapeMismatch(f"[t] expected at most 2 dimensions, got shape {x.shape}")
    return x if x.ndim < 2 else x.transpose(0, 1)


@method
def ravel(x: Tensor) -> Tensor:
    """Flattens to one dimension."""
    return x.flatten()


@method
def narrow(x: Tensor, dim: int, start: int, length: int) -> Tensor:
    """A view of `length` entries of a dimension, from `start`."""
    dim = axis_of(x, dim)
    start = start + x.shape[dim] if start < 0 else start
    if not 0 <= start <= start + length <= x.shape[dim]:
        raise _core.InvalidIndex(f"[narrow] {length} entries from {start} of a dimension of {x.shape[dim]}")
    return x[(slice(None),) * dim + (slice(start, start + length),)]


@method
def select(x: Tensor, dim: int, index: int) -> Tensor:
    """A view of one entry of a dimension."""
    return x[(slice(None),) * axis_of(x, dim) + (index,)]


@method
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of all entries of a dimension."""
    return tuple(select(x, dim, i) for i in range(x.shape[axis_of(x, dim)]))


@method
def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of equal size along a dimension; the last may be smaller."""
    size = x.shape[axis_of(x, dim)]
    return tuple(x.split(max(-(-size // chunks), 1), dim=dim))


@method
def repeat(x: Tensor, *sizes: Any) -> Tensor:
    """Repeats the whole tensor along each dimension; new dimensions come first."""
    counts = _sizes(sizes)
    if len(counts) < x.ndim:
        raise _core.ShapeMismatch(f"[repeat] {len(counts)} counts for shape {x.shape}")
    x = x.reshape((1,) * (len(counts) - x.ndim) + x.shape)
    for dim, count in enumerate(counts):
        if count == 1:
            continue
        wide = x.unsqueeze(dim).expand(*x.shape[:dim], count, *x.shape[dim:])
        x = wide.reshape(*x.shape[:dim], count * x.shape[dim], *x.shape[dim + 1 :])
    return x.clone() if all(count == 1 for count in counts) else x


@method
def tile(x: Tensor, *args: int, dims: Any = None) -> Tensor:
    """repeat() with missing counts of 1 in front."""
    counts = _sizes(args if dims is None else (dims,))
    return repeat(x, (1,) * (x.ndim - len(counts)) + tuple(counts))


@method
def repeat_interleave(x: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    """Repeats each entry of a dimension, or each element, `repeats` times: a number or one per entry."""
    if dim is None:
        x, dim = x.flatten(), 0
    dim = axis_of(x, dim)
    if isinstance(repeats, Tensor) and repeats.size == 1:
        repeats = repeats.item()
    if isinstance(repeats, int):
        wide = x.unsqueeze(dim + 1).expand(*x.shape[: dim + 1], repeats, *x.shape[dim + 1 :])
        return wide.reshape(*x.shape[:dim], x.shape[dim] * repeats, *x.shape[dim + 1 :])
    counts = repeats.tolist()
    if len(counts) != x.shape[dim]:
        raise _core.ShapeMismatch(f"[repeat_interleave] {len(counts)} counts for a dimension of {x.shape[dim]}")
    places = [i for i, count in enumerate(counts) for _ in range(count)]
    return x.index_select(dim, _core.array(places, DType.i64, x.device))


@method
def roll(x: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """Shifts entries along dimensions; those pushed out come back in front."""
    if dims is None:
        return roll(x.flatten(), shifts, 0).reshape(x.shape)
    pairs = [(shifts, dims)] if isinstance(dims, int) else list(zip(shifts, dims))
    rolled = x
    for shift, dim in pairs:
        size = x.shape[axis_of(x, dim)]
        if size and shift % size:
            at = size - shift % size
            rolled = cat([narrow(rolled, dim, at, size - at), narrow(rolled, dim, 0, at)], dim=dim)
    return x.clone() if rolled is x else rolled


@method
def flip(x: Tensor, *args: int, dims: Any = None) -> Tensor:
    """A copy with the given dimensions reversed: flip(0), flip((0, 1)), flip(dims=[0])."""
    reverse = {axis_of(x, dim) for dim in _sizes(args if dims is None else (dims,))}
    return x[tuple(slice(None, None, -1 if d in reverse else None) for d in range(x.ndim))].clone()


def hstack(tensors: Any) -> Tensor:
    """Concatenates along the second dimension, or the first of vectors."""
    parts = [x.reshape(1) if x.ndim == 0 else x for x in tensors]
    return cat(parts, dim=0 if parts[0].ndim == 1 else 1)


def vstack(tensors: Any) -> Tensor:
    """Concatenates along the first dimension; vectors are rows."""
    return cat([x.reshape(1, -1) if x.ndim < 2 else x for x in tensors], dim=0)


def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """The coordinates of a grid, from vectors; "ij" is matrix order, "xy" swaps the first two."""
    vectors = _sizes(tensors)
    if indexing not in ("ij", "xy"):
        raise ValueError(f"indexing {indexing!r}: expected \"ij\" or \"xy\"")
    shape = tuple(v.size for v in vectors)
    grids = [v.reshape((1,) * i + (-1,) + (1,) * (len(shape) - i - 1)).expand(shape)
             for i, v in enumerate(vectors)]
    if indexing == "xy" and len(grids) > 1:
        grids = [grid.transpose(0, 1) for grid in grids]
    return tuple(grids)


# Masks and triangles.


def _triangle(x: Tensor, diagonal: int, lower: bool) -> Tensor:
    if x.ndim < 2:
        raise _core.ShapeMismatch(f"[tril] expected a matrix, got shape {x.shape}")
    rows = _core.arange(x.shape[-2], device=x.device).unsqueeze(1) + diagonal
    columns = _core.arange(x.shape[-1], device=x.device)
    return where(columns <= rows if lower else columns >= rows, x, _core.zeros_like(x))


@method
def tril(x: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle of matrices, up to a diagonal; zeros elsewhere."""
    return _triangle(x, diagonal, True)


@method
def triu(x: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle of matrices, from a diagonal on; zeros elsewhere."""
    return _triangle(x, diagonal, False)


@method
def diag(x: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix with the given diagonal."""
    if x.ndim == 1:
        n = x.size + abs(diagonal)
        rows = _core.arange(x.size, device=x.device) + max(-diagonal, 0)
        places = rows * n + rows + diagonal
        return _core.zeros(n * n, dtype=x.dtype, device=x.device).scatter(0, places, x).reshape(n, n)
    return x.diagonal(diagonal)


@method
def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy of the diagonal of two dimensions, as the last dimension."""
    x = movedim(x, (dim1, dim2), (-2, -1))
    n_rows, n_columns = x.shape[-2:]
    first = max(-offset, 0)
    length = max(min(n_rows - first, n_columns - max(offset, 0)), 0)
    rows = _core.arange(length, device=x.device) + first
    return x.reshape(*x.shape[:-2], n_rows * n_columns).index_select(-1, rows * n_columns + rows + offset)


@method
def masked_fill(x: Tensor, mask: Tensor, value: Any) -> Tensor:
    """x with `value` where the mask is true."""
    return where(mask, value, x)


@method
def masked_select(x: Tensor, mask: Tensor) -> Tensor:
    """The elements where the mask is true, shape (n,)."""
    shape = broadcast_shapes(x.shape, mask.shape)
    return x.expand(shape)[mask.expand(shape)]


@method
def nonzero(x: Tensor, *, as_tuple: bool = False) -> Any:
    """Coordinates of the nonzero elements, i64: (n, dimensions), or one tensor per dimension."""
    columns = _core._nonzero(x)
    if as_tuple:
        return tuple(columns)
    if not columns:
        return _core.zeros((int(bool(x)), 0), dtype="i64", device=x.device)
    return _core.stack(columns, dim=1)


@method
def count_nonzero(x: Tensor, dim: Any = None) -> Tensor:
    """The number of nonzero elements, i64."""
    return (x != 0).sum(dim=dim)


def _function(name: str) -> Any:
    def function(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = getattr(Tensor, name).__doc__
    return function


# Methods of the engine that PyTorch has as functions too.
flatten, permute, reshape, squeeze, transpose, unsqueeze = map(
    _function, ("flatten", "permute", "reshape", "squeeze", "transpose", "unsqueeze"))
