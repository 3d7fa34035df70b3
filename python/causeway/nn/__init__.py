"""Neural networks: modules with named parameters, layers, losses, initialisation.

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = nn.Linear(64, 128)
            self.out = nn.Linear(128, 10)

        def forward(self, x):
            return self.out(cw.relu(self.hidden(x)))
"""

from __future__ import annotations

import os
import sys

from .. import _core, functional, init
from .._core._nn import (
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
)
from . import copies, layers, losses, utils
from .attention import MultiheadAttention, TransformerEncoder, TransformerEncoderLayer
from .containers import ModuleDict, ModuleList, ParameterList, Sequential
from .layers import *  # noqa: F403
from .losses import *  # noqa: F403
from .module import Module, Parameter
from .recurrent import GRU, LSTM

__all__ = [
    "GRU", "LSTM", "MLP", "Attention", "BatchNorm2d", "Conv2d", "Dropout", "Embedding", "Flatten", "LayerNorm",
    "Linear", "Module", "ModuleDict", "ModuleList", "MultiheadAttention", "Parameter", "ParameterList", "RMSNorm",
    "Sequential", "TransformerEncoder", "TransformerEncoderLayer", "functional", "init", "load", "save", "utils",
    *layers.__all__, *losses.__all__,
]  # fmt: skip

# So that `import causeway.nn.functional as F` works.
for _module in (functional, init):
    sys.modules[f"{__name__}.{_module.__name__.rpartition('.')[2]}"] = _module


def save(module: _Module, path: str | os.PathLike[str]) -> None:
    """Writes a module's parameters and buffers as safetensors."""
    _core.save_safetensors(os.fspath(path), module.state_dict())


def load(module: _Module, path: str | os.PathLike[str]) -> None:
    """Reads a module's parameters and buffers from safetensors."""
    module.load_state_dict(_core.load_safetensors(os.fspath(path)))
