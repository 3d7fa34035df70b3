"""Kernels written in Python, compiled for the GPU and the CPU.

    @cw.kernel
    def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float)):
        i = cw.tid()
        y[i] = a * x[i] + y[i]

    cw.launch(saxpy, dim=len(x), inputs=[2.0, x], outputs=[y])
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from .kernel_source import Text
from .kernel_types import Array

__all__ = ["Kernel", "RawKernel", "func", "kernel", "kernel_from_source", "launch", "struct"]


class Kernel:
    """A compiled kernel. `cuda`, `cpp` and `ir` are its text in these forms, `adjoint` the CUDA text
    of the kernel that computes its gradients.
    """

    _kernel_role = "kernel"

    def __init__(self, make: Callable[[], Any], name: str, function: Callable | None = None) -> None:
        self._make = make
        self._function = function
        self.__name__ = name
        if function is not None:
            functools.update_wrapper(self, function)

    @functools.cached_property
    def _compiled(self) -> Any:
        return self._make()

    @functools.cached_property
    def _paths(self) -> list[list[str]] | None:
        """For each parameter the members that lead to it; None if every argument is one parameter."""
        names = [name.split(".") for name in self._compiled.parameters]
        return names if any(len(path) > 1 for path in names) else None

    def launch(
        self,
        dim: int | Sequence[int],
        inputs: Sequence[Any] = (),
        outputs: Sequence[Any] = (),
        *,
        device: str | None = None,
        stream: _core.Stream | None = None,
        block_dim: int = 0,
        tune: bool = False,
        checked: bool = False,
    ) -> None:
        """Runs dim threads, one argument per parameter: inputs first, then outputs. Arrays are
        tensors, NumPy, CuPy or PyTorch arrays, which are shared, not copied; values are numbers,
        tuples or structs. Runs on the arrays' device. block_dim is the number of threads of a CUDA
        block, by default chosen for occupancy, with tune by measurement: the first launch of about this
        size tries block sizes on copies, and the choice is remembered on disk. With checked, an index out of range, an integer
        division by zero, a failed assert or an endless loop raises an error that names the line; on
        the CPU only, and slow.
        """
        arguments = [*inputs, *outputs]
        if self._paths is not None:
            arguments = self._flattened(arguments)
        self._compiled.launch(dim, arguments, device, stream, block_dim, tune, checked)

    def _flattened(self, arguments: list[Any]) -> list[Any]:
        """One argument per parameter: structs that hold arrays are passed member by member."""
        names = list(dict.fromkeys(path[0] for path in self._paths))
        if len(arguments) != len(names):
            raise _core.InvalidArgument(
                f"[kernel {self.__name__}] takes {len(names)} arguments ({', '.join(names)}), got "
                f"{len(arguments)}")  # fmt: skip
        given = dict(zip(names, arguments))
        return [functools.reduce(getattr, path[1:], given[path[0]]) for path in self._paths]

    def __call__(self, *args: Any) -> None:
        raise TypeError(f"a kernel is not called but launched: cw.launch({self.__name__}, dim, …)")

    def __repr__(self) -> str:
        return f"<causeway.Kernel {self.__name__}>"

    @property
    def cuda(self) -> str:
        """CUDA C++ text, complete for NVRTC and nvcc."""
        return self._compiled.cuda

    @property
    def cpp(self) -> str:
        """C++17 text that runs all threads in order."""
        return self._compiled.cpp

    @property
    def ir(self) -> str:
        """The typed intermediate representation."""
        return self._compiled.ir

    @property
    def adjoint(self) -> str:
        """CUDA C++ text of the kernel that computes gradients."""
        return self._compiled.adjoint

    def ptx(self, arch: str = "sm_90") -> str:
        """PTX for a GPU architecture; needs NVRTC, but no GPU."""
        return self._compiled.ptx(_architecture(arch))


def _architecture(arch: str) -> int:
    match = re.fullmatch(r"(?:sm_)?(\d{2,3})", arch)
    if match is None:
        raise _core.InvalidArgument(f"[kernel] {arch!r} is no architecture such as 'sm_90'")
    return int(match[1])


def kernel(function: Callable) -> Kernel:
    """Makes a kernel of a function of the kernel language. It is compiled at its first use, with the
    values that its global names have then.
    """

    def make() -> Any:
        text = Text(function)
        return _core._Kernel(text.file, text.text, function.__name__, text.constants, text.origins)

    return Kernel(make, function.__name__, function)


def kernel_from_source(text: str, name: str = "", file: str = "<string>") -> Kernel:
    """The kernel `name` of a text, or its only kernel. Compiled at once; `file` is for messages."""
    compiled = _core._Kernel(file, text, name, {}, [])
    return Kernel(lambda: compiled, compiled.name)


class Func:
    """A function that kernels call."""

    _kernel_role = "func"

    def __init__(self, function: Callable) -> None:
        self._function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Runs the Python function itself."""
        return self._function(*args)


def func(function: Callable) -> Func:
    """Makes a function available to kernels."""
    return Func(function)


def struct(cls: type) -> type:
    """Makes a class of annotated fields a struct of kernels. Instances take the fields as keywords;
    numbers that are not given are 0.
    """
    try:
        fields = inspect.get_annotations(cls, eval_str=True)
    except NameError:  # a string that names something defined later
        fields = inspect.get_annotations(cls)

    def __init__(self: Any, **values: Any) -> None:
        unknown = values.keys() - fields.keys()
        if unknown:
            raise TypeError(f"{cls.__name__} has no field {sorted(unknown)[0]!r}")
        for name, kind in fields.items():
            setattr(self, name, values[name] if name in values else _zero(kind))

    cls.__init__ = __init__
    cls.__iter__ = lambda self: iter([getattr(self, name) for name in fields])
    cls._kernel_role = "struct"
    return cls


def _zero(kind: Any) -> Any:
    if isinstance(kind, Array):
        return None
    return kind() if isinstance(kind, type) else 0


def launch(
    kernel: Kernel,
    dim: int | Sequence[int],
    inputs: Sequence[Any] = (),
    outputs: Sequence[Any] = (),
    device: str | None = None,
    stream: _core.Stream | None = None,
    block_dim: int = 0,
    tune: bool = False,
    checked: bool = False,
) -> None:
    """kernel.launch(dim, inputs, outputs, …), in Warp's order."""
    kernel.launch(dim, inputs, outputs, device=device, stream=stream, block_dim=block_dim,
                  tune=tune, checked=checked)  # fmt: skip


class RawKernel:
    """CUDA C++ text, compiled by NVRTC at the first launch. `name` is that of an
    extern "C" __global__ function.

        add = cw.RawKernel(text, "add")
        add((blocks,), (256,), (x, y, out, np.int32(n)))
    """

    def __init__(self, code: str, name: str, options: Sequence[str] = ()) -> None:
        self._compiled = _core._RawKernel(code, name, list(options))
        self.__name__ = name

    def __call__(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any],
        *,
        shared_mem: int = 0,
        stream: _core.Stream | None = None,
    ) -> None:
        """Launches grid blocks of block threads. Arrays are passed as pointers, Python's int as long
        long and float as double; NumPy's numbers keep their type. Nothing checks them against the
        text, and autograd does not follow what it does.
        """
        self._compiled.launch(grid, block, args, shared_mem, stream)

    def ptx(self, arch: str = "sm_90") -> str:
        """PTX for a GPU architecture; needs NVRTC, but no GPU."""
        return self._compiled.ptx(_architecture(arch))


class Builtin:
    """A builtin of kernels, for code that names it outside of one."""

    def __init__(self, name: str) -> None:
        self._builtin_name = self.__name__ = name

    def __call__(self, *args: Any) -> Any:
        raise TypeError(f"{self.__name__}() is called in kernels only")


BUILTINS = {name: Builtin(name) for name in _core._kernel_builtins()}
