"""Dtypes and devices under PyTorch's names: causeway.float32, causeway.long, causeway.device("cuda:0")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._core import DType

# The names that Python's builtins have too (float, int, bool) are attributes of the package only.
ALIASES = {
    "double": DType.f64, "float64": DType.f64, "float": DType.f32, "float32": DType.f32,
    "half": DType.f16, "float16": DType.f16, "bfloat16": DType.bf16, "long": DType.i64,
    "int64": DType.i64, "int": DType.i32, "int32": DType.i32, "short": DType.i16,
    "int16": DType.i16, "int8": DType.i8, "uint8": DType.u8, "bool": DType.bool_,
}  # fmt: skip
dtype = DType
Size = tuple


class device(str):  # noqa: N801
    """A device: device("cpu"), device("cuda:0"), device("cuda", 0). It is a str, and equal to one."""

    def __new__(cls, name: str, index: int | None = None) -> device:
        if not isinstance(name, str):
            raise TypeError(f"expected the name of a device, such as \"cuda:0\", got {name!r}")
        if index is not None:
            name = f"{name}:{index}"
        kind, _, number = str(name).partition(":")
        if kind not in ("cpu", "cuda", "auto") or (number and not number.isdigit()):
            raise ValueError(f"device {name!r}: expected \"cpu\", \"cuda\" or \"cuda:<index>\"")
        return super().__new__(cls, name)

    @property
    def type(self) -> str:
        """"cpu" or "cuda"."""
        return self.partition(":")[0]

    @property
    def index(self) -> int | None:  # str.index is not useful on devices
        """The number of a GPU; None if the name has none."""
        number = self.partition(":")[2]
        return int(number) if number else None

    def __reduce__(self) -> Any:
        return device, (str(self),)


_core._set_device_class(device)


@dataclass(frozen=True)
class finfo:  # noqa: N801
    """Limits of a floating dtype."""

    dtype: Any = DType.f32

    def __post_init__(self) -> None:
        names = {DType.f64: (53, -1022, 1024), DType.f32: (24, -126, 128), DType.f16: (11, -14, 16),
                 DType.bf16: (8, -126, 128)}
        if self.dtype not in names:
            raise TypeError(f"finfo() takes a floating dtype, got {self.dtype}")
        digits, low, high = names[self.dtype]
        for name, value in {
            "bits": self.dtype.itemsize * 8,
            "eps": 2.0 ** (1 - digits),
            "max": (2.0 - 2.0 ** (1 - digits)) * 2.0 ** (high - 1),
            "tiny": 2.0**low,
            "smallest_normal": 2.0**low,
        }.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "min", -self.max)


class iinfo:  # noqa: N801
    """Limits of an integer dtype."""

    def __init__(self, dtype: Any) -> None:
        kinds = {DType.i8: np.int8, DType.i16: np.int16, DType.i32: np.int32, DType.i64: np.int64,
                 DType.u8: np.uint8, DType.u16: np.uint16}
        if dtype not in kinds:
            raise TypeError(f"iinfo() takes an integer dtype, got {dtype}")
        limits = np.iinfo(kinds[dtype])
        self.bits, self.min, self.max = limits.bits, int(limits.min), int(limits.max)


DType.is_floating_point = property(lambda self: self.is_floating)
DType.is_complex = False


def get_default_dtype() -> DType:
    """The dtype of tensors made from Python floats: f32."""
    return DType.f32


def is_floating_point(x: Any) -> bool:
    """Whether a tensor's dtype is floating."""
    return x.dtype.is_floating


def is_tensor(x: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(x, _core.Tensor)
