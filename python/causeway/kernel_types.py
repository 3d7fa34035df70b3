"""Types of the kernel language: what annotations of kernels are made of, and values to pass to them."""

from __future__ import annotations

import types as _python_types
from typing import Any

from . import _core

float16, float32, float64 = _core.f16, _core.f32, _core.f64
int8, int16, int32, int64 = _core.i8, _core.i16, _core.i32, _core.i64
uint8, uint16 = _core.u8, _core.u16


class Scalar:
    """A number type of kernels that tensors do not have; its arrays are int32 or int64 tensors."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __repr__(self) -> str:
        return f"causeway.{self.__name__}"


uint32, uint64 = Scalar("uint32"), Scalar("uint64")

SCALARS = {
    "float16": float16, "float32": float32, "float64": float64,
    "int8": int8, "int16": int16, "int32": int32, "int64": int64,
    "uint8": uint8, "uint16": uint16, "uint32": uint32, "uint64": uint64,
}  # fmt: skip


def scalar_name(dtype: Any) -> str:
    """The language's name of a scalar type: "float32" for float, cw.float32, cw.f32 and "f32"."""
    python = {float: "float32", int: "int32", bool: "bool", _core.bool_: "bool"}
    if isinstance(dtype, str):
        dtype = SCALARS.get(dtype, getattr(_core, dtype, bool if dtype == "bool" else dtype))
    for name, value in SCALARS.items():
        if dtype is value or dtype == value:
            return name
    if dtype in python:
        return python[dtype]
    raise TypeError(f"{dtype!r} is no scalar type of kernels")


class Value(tuple):
    """A vector, matrix or quaternion: its scalars, row by row. Subclasses are the types."""

    shape: tuple[int, ...] = ()
    scalar: str = "float32"

    def __new__(cls, *components: Any) -> Value:
        flat = [number for entry in components for number in _numbers(entry)]
        count = 1
        for size in cls.shape:
            count *= size
        if len(flat) <= 1:
            flat = (flat or [0]) * count
        if len(flat) != count:
            raise TypeError(f"{cls.__name__} has {count} components, got {len(flat)}")
        kind = float if cls.scalar.startswith("float") else int
        return super().__new__(cls, [kind(number) for number in flat])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self))})"


def _numbers(entry: Any) -> list:
    if hasattr(entry, "__iter__"):
        return [number for inner in entry for number in _numbers(inner)]
    return [entry]


def _type(name: str, shape: tuple[int, ...], scalar: str, base: type = Value) -> type:
    return type(name, (base,), {"shape": shape, "scalar": scalar, "__module__": "causeway"})


class Quaternion(Value):
    """x, y, z, w."""


_SUFFIXES = {
    "": "float32", "f": "float32", "h": "float16", "d": "float64", "b": "int8", "ub": "uint8",
    "s": "int16", "us": "uint16", "i": "int32", "ui": "uint32", "l": "int64", "ul": "uint64",
}  # fmt: skip
VALUES: dict[str, type] = {}
for _suffix, _scalar in _SUFFIXES.items():
    for _n in (2, 3, 4):
        VALUES[f"vec{_n}{_suffix}"] = _type(f"vec{_n}{_suffix}", (_n,), _scalar)
        if _scalar.startswith("float"):
            VALUES[f"mat{_n}{_n}{_suffix}"] = _type(f"mat{_n}{_n}{_suffix}", (_n, _n), _scalar)
    if _scalar.startswith("float"):
        VALUES[f"quat{_suffix}"] = _type(f"quat{_suffix}", (4,), _scalar, Quaternion)
globals().update(VALUES)


def vector(length: int, dtype: Any = float) -> type:
    """The type of vectors of that length."""
    return _type(f"vector(length={length})", (length,), scalar_name(dtype))


def matrix(shape: tuple[int, int], dtype: Any = float) -> type:
    """The type of matrices of that shape."""
    return _type(f"matrix(shape={shape})", tuple(shape), scalar_name(dtype))


types = _python_types.SimpleNamespace(vector=vector, matrix=matrix)


class Array:
    """The annotation of an array parameter."""

    def __init__(self, dtype: Any = float, ndim: int = 1) -> None:
        self.dtype = dtype
        self.ndim = ndim

    def __repr__(self) -> str:
        return f"array(dtype={self.dtype!r}, ndim={self.ndim})"


_MISSING = object()


def array(obj: Any = _MISSING, dtype: Any = None, device: str | None = None, *, ndim: int = 1) -> Any:
    """A tensor with a copy of obj: nested lists, numbers, a NumPy array, or anything with
    __dlpack__, __array__ or __cuda_array_interface__. Python's floats become f32.

    Without obj, the annotation of a kernel's array: array(dtype=float, ndim=2).
    """
    if obj is _MISSING:
        return Array(float if dtype is None else dtype, ndim)
    return _core.array(obj, dtype, device)


def array1d(dtype: Any = float) -> Array:
    """The annotation of an array of one dimension."""
    return Array(dtype, 1)


def array2d(dtype: Any = float) -> Array:
    """The annotation of an array of two dimensions."""
    return Array(dtype, 2)


def array3d(dtype: Any = float) -> Array:
    """The annotation of an array of three dimensions."""
    return Array(dtype, 3)


def array4d(dtype: Any = float) -> Array:
    """The annotation of an array of four dimensions."""
    return Array(dtype, 4)


ARRAYS = (array, array1d, array2d, array3d, array4d)


def constant(value: Any) -> Any:
    """The value itself, which kernels may refer to by its name."""
    return value


__all__ = [
    "array", "array1d", "array2d", "array3d", "array4d", "constant", "types",
    *SCALARS, *VALUES,
]  # fmt: skip
