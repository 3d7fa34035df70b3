"""copy.deepcopy() of modules: compiled layers are constructed again, then take the tensors."""

from __future__ import annotations

import copy
import copyreg
from typing import Any

from .. import _core
from .._core._nn import (
    MLP, Attention, BatchNorm2d, Conv2d, Dropout, Embedding, Flatten, LayerNorm, Linear, RMSNorm,
    _Module, _Pool2d, _Sequential,
)  # fmt: skip
from .module import _COMPILED

# Constructor arguments of a copy of a layer, for _deepcopy.
_ARGUMENTS = {
    _Module: lambda m: (),
    _Sequential: lambda m: ([],),
    Linear: lambda m: (m.in_features, m.out_features, m.bias is not None),
    Embedding: lambda m: (m.num_embeddings, m.embedding_dim),
    LayerNorm: lambda m: (m.normalized_shape, m.eps, m.weight is not None, m.bias is not None),
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

# Modules keep functions such as functional.relu in attributes; they are copied and pickled by name.
copyreg.pickle(type(_core.relu), lambda function: function.__name__)
