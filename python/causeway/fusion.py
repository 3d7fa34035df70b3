"""Functions of tensors fused into one kernel, with its gradient."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core
from ._core import Tensor
from .fusion_text import BLOCKS, FLAT, GRID, ROWS, is_by_row, kernel_text
from .fusion_trace import COLUMN, DROPPED, FULL, ROW, SCALAR, Traced, traceable
from .kernel_types import scalar_name
from .kernels import Kernel, kernel_from_source

__all__ = ["fuse"]

_Shape = tuple[int, ...]

_EXPANDED = "expanded"  # an input that is neither full, nor one row, column or element
_MOST_PLANS = 1024  # remembered for each function


class _Trace(NamedTuple):
    """What the function does with inputs of some dtypes and extents."""

    inputs: list[Traced]
    results: list[Traced]
    single: bool  # returned alone, not in a tuple


class _Plan(NamedTuple):
    """How calls with arguments of some shapes run."""

    kernel: Kernel
    dim: Any
    block_dim: int
    views: list[Callable[[Tensor], Tensor] | None]  # of the inputs in the shapes that the kernel takes
    outputs: list[tuple[_Shape, Any]]  # shapes and dtypes
    shapes: list[_Shape | None]  # of what is returned; None: as the kernel has written it
    columns: int
    single: bool


class Fused:
    """A function of tensors that runs as one kernel."""

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._traces: dict[Any, _Trace] = {}
        self._kernels: dict[Any, Kernel] = {}
        self._plans: dict[Any, _Plan] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not tensors:
            raise TypeError("[fuse] a fused function takes at least one tensor")
        key = tuple([(arg.shape, arg.dtype, arg.is_contiguous) if isinstance(arg, Tensor)
                     else (type(arg), arg) for arg in args])  # fmt: skip
        device = tensors[0].device
        plan = self._plans.get((key, device))
        if plan is None:
            plan = self._plan(args, tensors)
            if len(self._plans) >= _MOST_PLANS:
                self._plans.clear()
            self._plans[key, device] = plan
        inputs = [tensor if view is None else view(tensor) for tensor, view in zip(tensors, plan.views)]
        outputs = [_core.empty(shape, dtype, device) for shape, dtype in plan.outputs]
        plan.kernel.launch(plan.dim, inputs, [*outputs, plan.columns], block_dim=plan.block_dim)
        finished = [output if shape is None else output.reshape(shape)
                    for output, shape in zip(outputs, plan.shapes)]  # fmt: skip
        return finished[0] if plan.single else tuple(finished)

    def _plan(self, args: tuple[Any, ...], tensors: list[Tensor]) -> _Plan:
        shape = _broadcast([tensor.shape for tensor in tensors])
        whole = shape or (1,)
        rows, columns = math.prod(whole[:-1]), whole[-1]
        extents = [_extent_of(tensor.shape, whole) for tensor in tensors]
        expanded = [extent == _EXPANDED for extent in extents]
        contiguous = all(tensor.is_contiguous for tensor, extent in zip(tensors, extents) if extent == FULL)
        extents = [FULL if extent == _EXPANDED else extent for extent in extents]
        constants = tuple((type(arg), arg) for arg in args if not isinstance(arg, Tensor))
        places = tuple(isinstance(arg, Tensor) for arg in args)
        traced = (tuple(extents), tuple(tensor.dtype for tensor in tensors), constants, places)
        if traced not in self._traces:
            self._traces[traced] = self._trace(args, extents)
        trace = self._traces[traced]
        by_row = is_by_row(trace.results)
        # Blocks also compute rows without reductions: then broadcasts need no division.
        uses_rows = by_row or ROW in extents or COLUMN in extents
        threads = _threads_per_row(tensors[0].device, columns) if uses_rows else 0
        if threads:
            layout = BLOCKS
        elif by_row:
            layout = ROWS
        else:
            layout = FLAT if contiguous else GRID
        if (traced, layout, threads) not in self._kernels:
            text = kernel_text(trace.inputs, trace.results, layout, threads)
            kernel = kernel_from_source(text, "fused", f"<fused {self.__name__}>")
            self._kernels[traced, layout, threads] = kernel
        full = (rows * columns,) if layout == FLAT else (rows, columns)
        shapes = {FULL: full, ROW: (columns,), SCALAR: (1,), COLUMN: (rows,), DROPPED: (rows,)}
        returned = {FULL: shape, COLUMN: (*whole[:-1], 1), DROPPED: whole[:-1]}
        return _Plan(
            kernel=self._kernels[traced, layout, threads],
            dim={FLAT: rows * columns, GRID: full, ROWS: rows, BLOCKS: rows * threads}[layout],
            block_dim=threads,
            views=[_view(tensor.shape, shapes[extent], whole if expand else None)
                   for tensor, extent, expand in zip(tensors, extents, expanded)],
            outputs=[(shapes[node.extent], node.dtype) for node in trace.results],
            shapes=[None if returned[node.extent] == shapes[node.extent] else returned[node.extent]
                    for node in trace.results],
            columns=columns,
            single=trace.single,
        )  # fmt: skip

    def _trace(self, args: tuple[Any, ...], extents: list[str]) -> _Trace:
        remaining = iter(extents)
        placeholders = [Traced("input", (), scalar_name(arg.dtype), next(remaining))
                     if isinstance(arg, Tensor) else arg for arg in args]  # fmt: skip
        with traceable(sys.modules[__package__]):
            given = self._function(*placeholders)
        single = not isinstance(given, (tuple, list))
        results = [given] if single else list(given)
        for result in results:
            if not isinstance(result, Traced):
                raise TypeError(f"[fuse] the function returned a {type(result).__name__}")
        inputs = [value for value in placeholders if isinstance(value, Traced)]
        # Every element of a result is stored by the thread it belongs to.
        results = [node if node.extent in (FULL, COLUMN, DROPPED) else Traced("cast", (node,), node.scalar, FULL)
                   for node in results]  # fmt: skip
        return _Trace(inputs, results, single)


def _threads_per_row(device: str, columns: int) -> int:
    """Threads of the block that computes a row; 0 if one thread does: on the CPU, and for short rows."""
    if not device.startswith("cuda") or columns < 64:  # noqa: PLR2004
        return 0
    return 256 if columns > 512 else 64  # noqa: PLR2004


def _extent_of(shape: _Shape, whole: _Shape) -> str:
    """How an input of `shape` takes part in the broadcast shape `whole`."""
    size = math.prod(shape)
    rows, columns = math.prod(whole[:-1]), whole[-1]
    if shape == whole:
        return FULL
    if size == 1:
        return SCALAR
    if shape == (*whole[:-1], 1) and size == rows:
        return COLUMN
    if shape[-1] == columns == size:
        return ROW
    return _EXPANDED


def _view(given: _Shape, wanted: _Shape, whole: _Shape | None) -> Callable[[Tensor], Tensor] | None:
    """Gives a tensor another shape, after expanding it to `whole`, which copies it; None if there is
    nothing to do.
    """
    if whole is not None:
        return lambda tensor: tensor.expand(whole).reshape(wanted)
    return None if given == wanted else lambda tensor: tensor.reshape(wanted)


def _broadcast(shapes: list[_Shape]) -> _Shape:
    whole: list[int] = []
    for shape in shapes:
        whole = [1] * (len(shape) - len(whole)) + whole
        for i, size in enumerate(reversed(shape)):
            if size != whole[-1 - i] and 1 not in (size, whole[-1 - i]):
                raise _core.ShapeMismatch(f"[fuse] shapes {shapes} do not broadcast")
            whole[-1 - i] = size if whole[-1 - i] == 1 else whole[-1 - i]
    return tuple(whole)


def fuse(function: Callable) -> Fused:
    """Makes one kernel of a function of tensors: elementwise operations, casts and reductions over the
    last axis, forward and backward. The function is traced once for each combination of dtypes and
    broadcasts; other arguments are constants.

        @cw.fuse
        def softmax(x):
            e = cw.exp(x - x.max(axis=-1, keepdims=True))
            return e / e.sum(axis=-1, keepdims=True)
    """
    return Fused(function)
