"""Neural networks: modules with named parameters, layers, initialisation.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(64, 128)
            self.out = nn.Linear(128, 10)

        def forward(self, x):
            return self.out(cw.relu(self.hidden(x)))
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from typing import Any

from . import functional, init
from . import _core
from ._core import Tensor
from ._core._nn import (
    MLP,
    Attention,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Embedding,
    Flatten,
    LayerNorm,
    Linear,
    RMSNorm,
    _Module,
    _Pool2d,
    _Sequential,
)

__all__ = [
    "ELU", "GELU", "MLP", "SELU", "Attention", "AvgPool2d", "BatchNorm2d", "Conv2d", "Dropout",
    "Embedding", "Flatten", "LayerNorm", "LeakyReLU", "Linear", "MaxPool2d", "Module", "ModuleList",
    "Parameter", "RMSNorm", "ReLU", "Sequential", "SiLU", "Sigmoid", "Softplus", "Tanh",
    "functional", "init", "load", "save",
]


def Parameter(values: Tensor) -> Tensor:  # noqa: N802
    """A trainable tensor; assigned to an attribute of a module, it becomes a parameter."""
    return values.detach().requires_grad_()


def _attributes(module: _Module) -> dict[str, Any] | None:
    """The instance dict of a module; None for compiled layers that are not subclassed."""
    try:
        return object.__getattribute__(module, "__dict__")
    except AttributeError:
        return None


class _Registration:
    """Attribute handling of all modules: tensors that require gradients become parameters, modules
    become submodules. The compiled class owns the tensors and may replace them, as to() does."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            kind = self._kinds().get(name)
            if value.requires_grad and value.is_leaf:
                self.register_parameter(name, value)
                return
            if kind == "parameter":
                raise TypeError(f"{name!r} is a parameter; assign an nn.Parameter, or None to remove it")
            if kind == "buffer":
                self.register_buffer(name, value)
                return
        if isinstance(value, _Module):
            self.register_module(name, value)
            return
        self._forget(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in (_attributes(self) or {}).get("_names_of_tensors", {}):
            return self._find(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _kinds(self) -> dict[str, str]:
        """"parameter" or "buffer" for this module's own tensors, by name."""
        return {name: "parameter" if trained else "buffer" for name, trained, _ in self._own_tensors()}

    def _forget(self, name: str) -> bool:
        """Removes the tensor or submodule of this name if Python registered it; returns whether it did.
        Tensors of compiled layers stay."""
        own = _attributes(self)
        if own is None:
            return False
        known = own.get("_names_of_tensors", {}).pop(name, None) is not None
        known = known or isinstance(own.get(name), _Module)
        if known:
            self._remove(name)
            own.pop(name, None)
        return known

    def _claim(self, name: str, kind: str) -> None:
        """Reserves a name for a tensor; a tensor of the same kind is replaced in order."""
        own = _attributes(self)
        given = {} if own is None else own.setdefault("_names_of_tensors", {})
        made = {} if name in given else self._kinds()
        if made.get(name) == kind:  # the layer's own tensor gets new values
            return
        if name in made or own is None or isinstance(getattr(type(self), name, None), property):
            raise AttributeError(f"cannot register {kind} {name!r} on {type(self).__name__}; use another "
                                 "name in a subclass, or put both into an nn.Module")
        if given.get(name) != kind:
            self._forget(name)
            own.pop(name, None)
        given[name] = kind

    def register_parameter(self, name: str, values: Tensor) -> Tensor:
        """Registers a parameter, which becomes an attribute, and returns it."""
        self._claim(name, "parameter")
        return _COMPILED["register_parameter"](self, name, values)

    def register_buffer(self, name: str, values: Tensor) -> Tensor:
        """Registers a buffer: a tensor that is saved but not trained, as an attribute."""
        self._claim(name, "buffer")
        return _COMPILED["register_buffer"](self, name, values)

    def register_module(self, name: str, module: _Module) -> None:
        """Registers a submodule, which becomes an attribute."""
        register = _COMPILED["register_module"]
        if isinstance(self, (MLP, Attention)) and name in dict(self.named_children()):
            raise TypeError(f"submodule {name!r} of {type(self).__name__} cannot be replaced; load "
                            "other values with load_state_dict()")
        register(self, name, module)  # raises if it is not a module
        own = _attributes(self)
        if own is not None and own.get(name) is not module:
            self._forget(name)
            register(self, name, module)
            own[name] = module


_COMPILED = {name: getattr(_Module, name)
             for name in ("register_parameter", "register_buffer", "register_module")}
for _name, _method in vars(_Registration).items():
    if callable(_method):
        setattr(_Module, _name, _method)


class Module(_Module):
    """Base class of modules. Tensors that require gradients and modules, assigned to attributes,
    become parameters and submodules. copy.deepcopy() copies the tensors; tied ones stay tied.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.forward(*args, **kwargs)

    def __repr__(self) -> str:
        parts = "".join(
            f"\n  ({name}): " + repr(part).replace("\n", "\n  ")
            for name, part in self.named_children()
        )
        return f"{type(self).__name__}({parts}\n)" if parts else f"{type(self).__name__}()"


class Sequential(_Sequential):
    """Applies modules in sequence."""

    def __init__(self, *modules: _Module) -> None:
        super().__init__(list(modules))

    def forward(self, x: Tensor) -> Any:
        for part in self:
            x = part(x)
        return x

    def __iter__(self) -> Iterator[_Module]:
        return iter([part for _, part in self.named_children()])

    def __getitem__(self, index: int) -> _Module:
        return list(self)[index]

    def __len__(self) -> int:
        return len(self.named_children())


class ModuleList(Module):
    """A list of submodules."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        self._list: list[_Module] = []
        for module in modules:
            self.append(module)

    def append(self, module: _Module) -> ModuleList:
        """Appends a module."""
        self.register_module(str(len(self._list)), module)
        self._list.append(module)
        return self

    def __iter__(self) -> Iterator[_Module]:
        return iter(self._list)

    def __getitem__(self, index: int) -> _Module:
        return self._list[index]

    def __len__(self) -> int:
        return len(self._list)


class MaxPool2d(_Pool2d):
    """Max pooling."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(True, kernel_size, stride, padding)


class AvgPool2d(_Pool2d):
    """Average pooling; padding counts as 0."""

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__(False, kernel_size, stride, padding)


# Constructor arguments of a copy of a layer, for _deepcopy.
_ARGUMENTS = {
    _Module: lambda m: (),
    _Sequential: lambda m: ([],),
    Linear: lambda m: (m.in_features, m.out_features, m.bias is not None),
    Embedding: lambda m: (m.num_embeddings, m.embedding_dim),
    LayerNorm: lambda m: (m.weight.size, m.eps),
    RMSNorm: lambda m: (m.weight.size, m.eps),
    BatchNorm2d: lambda m: (m.weight.size, m.eps, m.momentum),
    Dropout: lambda m: (m.p,),
    Flatten: lambda m: (),
    MLP: lambda m: (_part(m, 0).in_features, _part(m, 0).out_features),
    Attention: lambda m: (_part(m, 0).in_features, m.n_heads, m.causal, _part(m, 0).bias is not None),
    Conv2d: lambda m: (m.in_channels, m.out_channels, m.kernel_size, m.stride, m.padding, m.dilation,
                       m.groups, m.bias is not None),
    _Pool2d: lambda m: (m._takes_max, m.kernel_size, m.stride, m.padding),
}
_DRAWN = (Linear, Embedding, MLP, Attention, Conv2d)


def _part(module: _Module, place: int) -> Any:
    return module.named_children()[place][1]


def _take(made: _Module, source: _Module, memo: dict) -> None:
    """Copies tensors, training mode and submodules from another module."""
    made.train(source.training)
    for name, trained, tensor in source._own_tensors():
        register = _COMPILED["register_parameter" if trained else "register_buffer"]
        register(made, name, copy.deepcopy(tensor, memo))
    there = dict(made.named_children())
    for name, part in source.named_children():
        if name in there:  # created by the constructor
            _take(there[name], part, memo)
        else:
            _COMPILED["register_module"](made, name, copy.deepcopy(part, memo))


def _deepcopy(self: _Module, memo: dict) -> _Module:
    compiled = next(base for base in type(self).__mro__ if base in _ARGUMENTS)
    made = memo[id(self)] = type(self).__new__(type(self))
    own = {"generator": _core.Generator(0)} if compiled in _DRAWN else {}
    compiled.__init__(made, *_ARGUMENTS[compiled](self), **own)
    _take(made, self, memo)
    for name, value in getattr(self, "__dict__", {}).items():
        made.__dict__[name] = copy.deepcopy(value, memo)
    return made


_Module.__deepcopy__ = _deepcopy


def _activation(name: str, function: Any, doc: str) -> type[Module]:
    def forward(self: Module, x: Tensor) -> Tensor:
        return function(x)

    return type(name, (Module,), {"__doc__": doc, "forward": forward, "__module__": __name__})


ReLU = _activation("ReLU", _core.relu, "max(x, 0).")
GELU = _activation("GELU", _core.gelu, "x times the standard normal CDF of x.")
SiLU = _activation("SiLU", _core.silu, "x * sigmoid(x).")
Tanh = _activation("Tanh", _core.tanh, "The hyperbolic tangent.")
Sigmoid = _activation("Sigmoid", _core.sigmoid, "1 / (1 + exp(-x)).")
SELU = _activation("SELU", functional.selu, "Scaled ELU, which preserves mean 0 and variance 1.")
Softplus = _activation("Softplus", functional.softplus, "log(1 + exp(x)).")


class LeakyReLU(Module):
    """x for x > 0, else negative_slope * x."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = negative_slope

    def forward(self, x: Tensor) -> Tensor:
        return functional.leaky_relu(x, self.negative_slope)


class ELU(Module):
    """x for x > 0, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha

    def forward(self, x: Tensor) -> Tensor:
        return functional.elu(x, self.alpha)


def save(module: _Module, path: str | os.PathLike[str]) -> None:
    """Writes a module's parameters and buffers as safetensors."""
    _core.save_safetensors(os.fspath(path), module.state_dict())


def load(module: _Module, path: str | os.PathLike[str]) -> None:
    """Reads a module's parameters and buffers from safetensors."""
    module.load_state_dict(_core.load_safetensors(os.fspath(path)))
