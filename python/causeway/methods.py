"""Methods and properties of Tensor under PyTorch's names: conversions, sizes, new tensors."""

from __future__ import annotations

from typing import Any

from . import _core, arithmetic, random, search  # noqa: F401  they fill METHODS
from ._core import DType, Tensor
from .dtypes import ALIASES
from .functions import METHODS


class Count(int):
    """The number of elements, as in NumPy. Called, it gives the shape or one size, as in PyTorch:
    x.size, x.size(), x.size(0)."""

    shape: tuple[int, ...]

    def __call__(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]


class Flag(int):
    """A truth value that can also be called, as PyTorch does."""

    def __call__(self, memory_format: Any = None) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))


class Address(int):
    """An address that can also be called, as PyTorch does."""

    def __call__(self) -> int:
        return int(self)


_is_contiguous = Tensor.is_contiguous.fget
_data_ptr = Tensor.data_ptr.fget
_numel = Tensor.size.fget


def _size(x: Tensor) -> Count:
    count = Count(_numel(x))
    count.shape = x.shape
    return count


def _stride(x: Tensor, dim: int | None = None) -> Any:
    """Strides in elements, or one of them."""
    return x.strides if dim is None else x.strides[dim]


def _converter(dtype: DType, name: str) -> Any:
    def convert(x: Tensor) -> Tensor:
        return x.to(dtype)

    convert.__name__, convert.__doc__ = name, f"Converts to {dtype.name}."
    return convert


def _cpu(x: Tensor) -> Tensor:
    """The tensor on the CPU."""
    return x.to("cpu")


def _cuda(x: Tensor, device: Any = None, non_blocking: bool = False) -> Tensor:
    """The tensor on a GPU."""
    return x.to("cuda" if device is None else f"cuda:{device}" if isinstance(device, int) else device)


def _type(x: Tensor, dtype: Any = None) -> Any:
    """Converts the dtype."""
    if dtype is None:
        raise TypeError("type() needs a dtype; the tensor's is x.dtype")
    return x.to(dtype)


def _new(make: Any) -> Any:
    def method(x: Tensor, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
        return make(*size, dtype=dtype or x.dtype, device=device or x.device, requires_grad=requires_grad)

    return method


def _new_full(x: Tensor, size: Any, fill_value: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return _core.full(size, fill_value, dtype or x.dtype, device or x.device)


def _new_tensor(x: Tensor, data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    return _core.array(data, dtype or x.dtype, device or x.device)


def _logical_in_place(operator: str) -> Any:
    compute = getattr(Tensor, operator)

    def method(x: Tensor, other: Any) -> Tensor:
        result = compute(x, other)
        if result is NotImplemented:
            return result
        return x.copy_(result)

    return method


def _detach_(x: Tensor) -> Tensor:
    raise NotImplementedError("detach_() is not supported; write x = x.detach()")


METHODS.update({
    "cpu": _cpu, "cuda": _cuda, "type": _type, "stride": _stride, "detach_": _detach_,
    "numel": _numel, "nelement": _numel, "dim": Tensor.ndim.fget, "ndimension": Tensor.ndim.fget,
    "element_size": Tensor.itemsize.fget,
    "is_floating_point": lambda x: x.dtype.is_floating,
    "type_as": lambda x, other: x.to(other),
    "new_zeros": _new(_core.zeros), "new_ones": _new(_core.ones), "new_empty": _new(_core.empty),
    "new_full": _new_full, "new_tensor": _new_tensor,
    "__floordiv__": arithmetic.floor_divide,
    "__rfloordiv__": lambda x, other: arithmetic.div(other, x, rounding_mode="floor"),
    "__iand__": _logical_in_place("__and__"), "__ior__": _logical_in_place("__or__"),
    "__ixor__": _logical_in_place("__xor__"),
    "__contains__": lambda x, value: bool((x == value).any()),
    "__index__": lambda x: _index(x),
})  # fmt: skip
for _name in ("double", "float", "half", "bfloat16", "long", "int", "short", "bool"):
    METHODS[_name] = _converter(ALIASES[_name], _name)
METHODS["byte"], METHODS["char"] = _converter(DType.u8, "byte"), _converter(DType.i8, "char")


def _index(x: Tensor) -> int:
    """The value of an integer tensor with one element, as an index."""
    if x.dtype.is_floating or x.size != 1:
        raise TypeError("only integer tensors of one element can be an index")
    return int(x.item())


PROPERTIES = {
    "size": property(_size, doc="The number of elements; size() is the shape, size(dim) one size."),
    "is_contiguous": property(lambda x: Flag(_is_contiguous(x)), doc="Whether the tensor is contiguous."),
    "data_ptr": property(lambda x: Address(_data_ptr(x)), doc="Address of the first element."),
    "mT": property(lambda x: x.transpose(-2, -1), doc="A view with the last two dimensions swapped."),
    "data": property(lambda x: x.detach(), doc="The tensor without its gradient, sharing memory."),
    "is_cuda": property(lambda x: x.device.type == "cuda", doc="Whether the tensor is on a GPU."),
}
for _name, _value in {**METHODS, **PROPERTIES}.items():
    setattr(Tensor, _name, _value)
