"""Tracing a function of tensors: placeholders record each operation."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

from . import _core
from .kernel_types import scalar_name

# Which elements a value has: those of the whole shape, one per row (a last axis of size 1, or none
# where a reduction dropped it), one per column, or one.
FULL, COLUMN, DROPPED, ROW, SCALAR = "full", "column", "dropped", "row", "scalar"

_FLOATS = {"float16": 0, "float32": 1, "float64": 2}


def wider(a: str, b: str) -> str:
    """The scalar type two operands meet in."""
    if a == b:
        return a
    if a in _FLOATS and b in _FLOATS:
        return max(a, b, key=_FLOATS.__getitem__)
    if a in _FLOATS or b in _FLOATS:
        return a if a in _FLOATS else b
    raise TypeError(f"[fuse] {a} and {b} do not meet in one type; convert one with .to()")


class Traced:
    """The result of one operation on placeholders: `op` with its operands, its scalar type and extent."""

    __array_priority__ = 1001

    def __init__(self, op: str, operands: tuple[Any, ...], scalar: str, extent: str) -> None:
        self.op = op
        self.operands = operands
        self.scalar = scalar
        self.extent = extent

    def __bool__(self) -> bool:
        raise TypeError("[fuse] the function branches on a value; use cw.where")

    def to(self, dtype: Any) -> Traced:
        """In another dtype."""
        return Traced("cast", (self,), scalar_name(dtype), self.extent)

    astype = to

    @property
    def dtype(self) -> Any:
        """The element type."""
        return getattr(_core, {"bool": "bool_"}.get(self.scalar, ""), None) or _dtype(self.scalar)


def _dtype(scalar: str) -> Any:
    short = scalar.replace("float", "f").replace("uint", "u").replace("int", "i")
    return getattr(_core, short)


def _extent(operands: list[Traced]) -> str:
    """The extent of an elementwise result."""
    extents = {operand.extent for operand in operands}
    if DROPPED in extents and extents - {DROPPED, SCALAR}:
        raise TypeError("[fuse] pass keepdims=True to a reduction whose result meets other tensors")
    for wide in (FULL, DROPPED):
        if wide in extents:
            return wide
    if {ROW, COLUMN} <= extents:
        return FULL
    return next((kind for kind in (COLUMN, ROW) if kind in extents), SCALAR)


def _operands(values: tuple[Any, ...]) -> tuple[list[Traced], str]:
    """Operands of one scalar type; numbers become constants of it."""
    traced = [value for value in values if isinstance(value, Traced)]
    scalar = functools.reduce(wider, [value.scalar for value in traced])
    if scalar not in _FLOATS and any(isinstance(value, float) for value in values):
        scalar = "float32"
    operands = []
    for value in values:
        if not isinstance(value, Traced):
            if not isinstance(value, (int, float)):
                raise TypeError(f"[fuse] a {type(value).__name__} is no operand of a fused function; "
                                "pass tensors as arguments")  # fmt: skip
            value = Traced("constant", (value,), scalar, SCALAR)  # noqa: PLW2901
        operands.append(value if value.scalar == scalar else value.to(scalar))
    return operands, scalar


def elementwise(op: str, *values: Any, result: str | None = None, floating: bool = False) -> Traced:
    """An operation on elements; `floating` ones convert integers to float32."""
    operands, scalar = _operands(values)
    if floating and scalar not in _FLOATS:
        operands, scalar = [operand.to("float32") for operand in operands], "float32"
    return Traced(op, tuple(operands), result or scalar, _extent(operands))


def reduction(op: str, x: Traced, axis: Any = None, keepdims: bool = False) -> Traced:
    """A reduction over the last axis."""
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    if list(axes) != [-1]:
        raise TypeError(f"[fuse] {op} reduces over axis=-1 only, got axis={axis}")
    if x.extent not in (FULL, ROW):
        raise TypeError(f"[fuse] {op} of a value that has no last axis")
    if x.scalar not in _FLOATS:
        x = x.to("float32")
    return Traced("row " + op, (x,), x.scalar, COLUMN if keepdims else DROPPED)


def _where(condition: Any, a: Any, b: Any) -> Traced:
    operands, scalar = _operands((a, b)) if isinstance(a, Traced) or isinstance(b, Traced) else (
        [Traced("constant", (float(value),), "float32", SCALAR) for value in (a, b)], "float32")  # fmt: skip
    return Traced("where", (condition, *operands), scalar, _extent([condition, *operands]))


def _clip(x: Any, min: float | None = None, max: float | None = None) -> Traced:  # noqa: A002
    x = x if min is None else elementwise("max", x, min)
    return x if max is None else elementwise("min", x, max)


def _square(x: Any) -> Traced:
    return elementwise("*", x, x)


def _sigmoid(x: Any) -> Traced:
    return elementwise("/", 1.0, elementwise("+", elementwise("exp", -x, floating=True), 1.0))


def _gelu(x: Any) -> Traced:
    return x * 0.5 * (elementwise("erf", x * 0.7071067811865476, floating=True) + 1.0)


def _gelu_tanh(x: Any) -> Traced:
    inner = (x + x * x * x * 0.044715) * 0.7978845608028654
    return x * 0.5 * (elementwise("tanh", inner, floating=True) + 1.0)


def _power(a: Any, b: Any) -> Traced:
    if isinstance(b, int) and b == 2:  # noqa: PLR2004
        return _square(a)
    return elementwise("pow", a, b, floating=True)


_UNARY = ("exp", "log", "log2", "sqrt", "sin", "cos", "tan", "tanh", "erf", "floor", "ceil", "trunc")
_COMPARISONS = {
    "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=", "equal": "==",
    "not_equal": "!=",
}  # fmt: skip

# What functions of the package do with placeholders.
FUNCTIONS: dict[str, Callable[..., Traced]] = {
    **{name: functools.partial(elementwise, name, floating=True) for name in _UNARY},
    **{name: functools.partial(elementwise, op, result="bool") for name, op in _COMPARISONS.items()},
    **{name: functools.partial(reduction, name) for name in ("sum", "mean", "max", "min")},
    "abs": functools.partial(elementwise, "abs"),
    "absolute": functools.partial(elementwise, "abs"),
    "sign": functools.partial(elementwise, "sign"),
    "negative": functools.partial(elementwise, "negate"),
    "add": functools.partial(elementwise, "+"),
    "subtract": functools.partial(elementwise, "-"),
    "multiply": functools.partial(elementwise, "*"),
    "divide": functools.partial(elementwise, "/", floating=True),
    "maximum": functools.partial(elementwise, "max"),
    "minimum": functools.partial(elementwise, "min"),
    "power": _power,
    "where": _where,
    "clip": _clip,
    "clamp": _clip,
    "square": _square,
    "reciprocal": lambda x: elementwise("/", 1.0, x, floating=True),
    "rsqrt": lambda x: elementwise("/", 1.0, elementwise("sqrt", x, floating=True)),
    "sigmoid": _sigmoid,
    "relu": lambda x: elementwise("max", x, 0),
    "silu": lambda x: x * _sigmoid(x),
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
    "logical_and": functools.partial(elementwise, "and", result="bool"),
    "logical_or": functools.partial(elementwise, "or", result="bool"),
    "logical_not": functools.partial(elementwise, "not", result="bool"),
}

_OPERATORS = {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal",
    "ne": "not_equal",
}  # fmt: skip
for _name, _function in FUNCTIONS.items():
    setattr(Traced, _name, lambda self, *args, _function=_function, **kwargs: _function(self, *args, **kwargs))
for _name, _operation in _OPERATORS.items():
    setattr(Traced, f"__{_name}__", lambda a, b, _f=FUNCTIONS[_operation]: _f(a, b))
    setattr(Traced, f"__r{_name}__", lambda a, b, _f=FUNCTIONS[_operation]: _f(b, a))
Traced.__neg__ = lambda self: FUNCTIONS["negative"](self)
Traced.__abs__ = lambda self: FUNCTIONS["abs"](self)
Traced.__hash__ = object.__hash__

_lock = threading.RLock()


@contextlib.contextmanager
def traceable(package: Any) -> Iterator[None]:
    """Inside, functions of the package take placeholders too; other arguments go to the functions
    themselves, also in other threads.
    """

    def dispatching(original: Callable, traced: Callable) -> Callable:
        def call(*args: Any, **kwargs: Any) -> Any:
            values = [*args, *kwargs.values()]
            is_traced = any(isinstance(value, Traced) for value in values)
            return (traced if is_traced else original)(*args, **kwargs)

        return call

    with _lock:
        originals = {name: getattr(package, name) for name in FUNCTIONS}
        try:
            for name, original in originals.items():
                setattr(package, name, dispatching(original, FUNCTIONS[name]))
            yield
        finally:
            for name, original in originals.items():
                setattr(package, name, original)
