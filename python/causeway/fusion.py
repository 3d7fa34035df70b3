"""Functions of tensors fused into one kernel, with its gradient."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor
from .fusion_trace import COLUMN, DROPPED, FULL, ROW, SCALAR, Traced, traceable
from .kernel_types import scalar_name
from .kernels import Kernel, kernel_from_source

__all__ = ["fuse"]

_BINARY = {"+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "and", "or"}
_REDUCTIONS = {"row sum", "row mean", "row max", "row min"}
_INDEX = {FULL: "[i, j]", ROW: "[j]", COLUMN: "[i]", SCALAR: "[0]"}


class _Writer:
    """The text of a kernel that computes traced values. Elementwise functions have a thread per
    element; with reductions, a thread per row runs one loop over the columns for each.
    """

    def __init__(self, inputs: list[Traced], results: list[Traced]) -> None:
        self.inputs = inputs
        self.results = results
        self.order = self._sorted()
        self.reductions = [node for node in self.order if node.op in _REDUCTIONS]
        self.by_row = bool(self.reductions) or any(node.extent in (COLUMN, DROPPED) for node in results)
        self.lines: list[str] = []
        self.names: dict[int, str] = {}
        self.counter = 0

    def _sorted(self) -> list[Traced]:
        order: list[Traced] = []
        seen: set[int] = set()

        def visit(node: Traced) -> None:
            if id(node) in seen:
                return
            seen.add(id(node))
            if node.op not in ("input", "constant"):
                for operand in node.operands:
                    visit(operand)
            order.append(node)

        for result in self.results:
            visit(result)
        return order

    def text(self) -> str:
        arrays = [(f"x{i}", node) for i, node in enumerate(self.inputs)]
        arrays += [(f"y{i}", node) for i, node in enumerate(self.results)]
        parameters = [f"{name}: cw.array{2 if node.extent == FULL else 1}d(dtype=cw.{node.scalar})"
                      for name, node in arrays]  # fmt: skip
        if self.by_row:
            parameters.append("n: int")
            self.lines.append("i = cw.tid()")
            for node in self.reductions:
                self._reduce(node)
            self._store([node for node in self.results if node.extent != FULL], {}, "")
            full = [node for node in self.results if node.extent == FULL]
            if full:
                self.lines.append("for j in range(n):")
                self._store(full, {}, "    ")
        else:
            self.lines.append("i, j = cw.tid()")
            self._store(self.results, {}, "")
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"@cw.kernel\ndef fused({', '.join(parameters)}):\n{body}"

    def _store(self, results: list[Traced], local: dict[int, str], indent: str) -> None:
        for node in results:
            number = next(i for i, result in enumerate(self.results) if result is node)
            index = _INDEX.get(node.extent, "[i]")
            self.lines.append(f"{indent}y{number}{index} = {self._value(node, local, indent)}")

    def _reduce(self, node: Traced) -> None:
        """One loop over the columns."""
        (operand,) = node.operands
        name = self._new("r")
        scalar = f"cw.{node.scalar}"
        op = node.op.removeprefix("row ")
        if op in ("sum", "mean"):
            self.lines.append(f"{name} = {scalar}(0.0)")
        else:
            sign = "-" if op == "max" else ""
            self.lines.append(f"{name} = {scalar}({sign}cw.inf)")
        self.lines.append("for j in range(n):")
        value = self._value(operand, {}, "    ")
        if op in ("sum", "mean"):
            self.lines.append(f"    {name} = {name} + {value}")
        else:
            self.lines.append(f"    {name} = cw.{op}({name}, {value})")
        if op == "mean":
            mean = self._new("r")
            self.lines.append(f"{mean} = {name} / {scalar}(n)")
            name = mean
        self.names[id(node)] = name

    def _new(self, prefix: str) -> str:
        self.counter += 1
        return f"{prefix}{self.counter}"

    def _value(self, node: Traced, local: dict[int, str], indent: str) -> str:
        """A name or literal for the value; what is not there yet is computed in new lines."""
        if id(node) in self.names:  # a reduction
            return self.names[id(node)]
        if id(node) in local:
            return local[id(node)]
        if node.op == "constant":
            return _literal(node)
        if node.op == "input":
            number = next(i for i, given in enumerate(self.inputs) if given is node)
            expression = f"x{number}{_INDEX[node.extent]}"
        else:
            operands = [self._value(operand, local, indent) for operand in node.operands]
            expression = _expression(node, operands)
        name = self._new("t")
        self.lines.append(f"{indent}{name} = {expression}")
        local[id(node)] = name
        return name


def _literal(node: Traced) -> str:
    (value,) = node.operands
    if node.scalar == "bool":
        return str(bool(value))
    if not node.scalar.startswith("float"):
        return f"cw.{node.scalar}({int(value)})"
    text = {"inf": "cw.inf", "-inf": "-cw.inf", "nan": "cw.nan"}.get(repr(float(value)))
    return f"cw.{node.scalar}({text or repr(float(value))})"


def _expression(node: Traced, operands: list[str]) -> str:
    if node.op in _BINARY:
        return f"{operands[0]} {node.op} {operands[1]}"
    if node.op == "cast":
        if node.scalar == "bool":
            return f"{operands[0]} != cw.{node.operands[0].scalar}(0)"
        if node.operands[0].scalar == "bool":
            return f"cw.where({operands[0]}, cw.{node.scalar}(1), cw.{node.scalar}(0))"
        return f"cw.{node.scalar}({operands[0]})"
    if node.op == "negate":
        return f"-{operands[0]}"
    if node.op == "not":
        return f"not {operands[0]}"
    return f"cw.{node.op}({', '.join(operands)})"


def _extent_of(shape: tuple[int, ...], whole: tuple[int, ...]) -> str:
    """How an input of `shape` takes part in the broadcast shape `whole`."""
    size = functools.reduce(int.__mul__, shape, 1)
    rows, columns = functools.reduce(int.__mul__, whole[:-1], 1), whole[-1]
    if shape == whole:
        return FULL
    if size == 1:
        return SCALAR
    if shape == (*whole[:-1], 1) and size == rows:
        return COLUMN
    if shape[-1] == columns == size:
        return ROW
    return "expand"


class Fused:
    """A function of tensors that runs as one kernel."""

    def __init__(self, function: Callable) -> None:
        self._function = function
        self._kernels: dict[Any, tuple[Kernel, list[Traced], bool, bool]] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        if not tensors:
            raise TypeError("[fuse] a fused function takes at least one tensor")
        whole = _broadcast([tensor.shape for tensor in tensors]) or (1,)
        rows, columns = functools.reduce(int.__mul__, whole[:-1], 1), whole[-1]
        extents = [_extent_of(tensor.shape, whole) for tensor in tensors]
        tensors = [tensor.expand(whole) if extent == "expand" else tensor
                   for tensor, extent in zip(tensors, extents)]  # fmt: skip
        extents = [FULL if extent == "expand" else extent for extent in extents]
        key = (tuple(extents), tuple(tensor.dtype for tensor in tensors),
               tuple(arg if not isinstance(arg, Tensor) else None for arg in args))  # fmt: skip
        if key not in self._kernels:
            self._kernels[key] = self._trace(args, extents)
        kernel, results, by_row, single = self._kernels[key]
        inputs = [tensor.reshape((rows, columns) if extent == FULL else (-1,))
                  for tensor, extent in zip(tensors, extents)]  # fmt: skip
        shapes = {FULL: (rows, columns), ROW: (columns,), SCALAR: (1,)}
        outputs = [_core.empty(shapes.get(node.extent, (rows,)), node.dtype, tensors[0].device)
                   for node in results]  # fmt: skip
        dim, extra = (rows, [columns]) if by_row else ((rows, columns), [])
        kernel.launch(dim, inputs, [*outputs, *extra])
        final = {FULL: whole, COLUMN: (*whole[:-1], 1), DROPPED: whole[:-1]}
        finished = [output.reshape(final.get(node.extent, output.shape))
                    for output, node in zip(outputs, results)]  # fmt: skip
        return finished[0] if single else tuple(finished)

    def _trace(self, args: tuple[Any, ...], extents: list[str]) -> tuple[Kernel, list[Traced], bool, bool]:
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
        writer = _Writer(inputs, results)
        kernel = kernel_from_source(writer.text(), "fused", f"<fused {self.__name__}>")
        return kernel, results, writer.by_row, single


def _broadcast(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
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
