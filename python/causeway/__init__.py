"""Causeway: synthetic and tokenized training data, and tensors, layers and models to train on it,
on CPU and CUDA.

    import causeway as cw
    x = cw.Generator(7).normal((1024, 100), device="auto")
    y = (x @ x.T).mean(axis=1)
    t = torch.from_dlpack(y)  # no copy
"""

import importlib
import os
import sys
from typing import TYPE_CHECKING

from . import _core, dtypes, methods
from . import amp, autograd, callbacks, cuda, gpt, hub, models, nn, optim, pairs, prior, testing, text
from .amp import autocast
from ._core import *  # noqa: F403
from ._core import _version as __version__
from .dtypes import Size, device, dtype, finfo, get_default_dtype, iinfo, is_floating_point, is_tensor
from .functions import *  # noqa: F403
from .arithmetic import *  # noqa: F403
from .search import *  # noqa: F403
from .random import *  # noqa: F403
from .creation import *  # noqa: F403
from .einsum import einsum
from .serialization import load, save
from .autograd import (
    checkpoint, detect_anomaly, enable_grad, inference_mode, no_grad, set_grad_enabled,
)
from .fusion import fuse
from .graph import Graph, StepGraph, capture
from .kernel_types import *  # noqa: F403
from .kernels import BUILTINS as _BUILTINS
from .kernels import RawKernel, func, kernel, kernel_from_source, launch, struct
from .pretrain import pretrain
from .prior import Prior
from .profiler import profile

if TYPE_CHECKING:
    from .estimators import TabularClassifier, TabularEmbedding, TabularRegressor
    from .tokenizer import PartialFit, Tokenizer

# Shown in tracebacks and messages.
for _class in (Error, *Error.__subclasses__(), InvalidIndex, Tensor, DType, Generator, Stream):
    _class.__module__ = "causeway"
del _class

# The default is OSError's for FileError, which tblib, and so Dask, cannot undo for a subclass of RuntimeError.
Error.__reduce__ = lambda self: (type(self), self.args)

# Folders of NVIDIA's wheels, whose libraries are opened at first use.
for _entry in sys.path:
    if os.path.isdir(os.path.join(_entry, "nvidia")):
        _core._add_wheel_folder(os.path.join(_entry, "nvidia"))
del _entry

# Imported at first use, since they import scikit-learn, Dask or Ray, which takes seconds.
_LAZY = {
    "PartialFit": "tokenizer",
    "TabularClassifier": "estimators",
    "TabularEmbedding": "estimators",
    "TabularRegressor": "estimators",
    "Tokenizer": "tokenizer",
    "dask": None,
    "estimators": None,
    "ray": None,
    "tokenizer": None,
}


# Builtins of kernels that are functions on tensors too.
for _name in _BUILTINS.keys() & globals().keys():
    if hasattr(globals()[_name], "__dict__"):
        globals()[_name]._builtin_name = _name
del _name


def __getattr__(name):
    if name in dtypes.ALIASES:
        return dtypes.ALIASES[name]
    if name in _BUILTINS:
        return _BUILTINS[name]
    if name not in _LAZY:
        raise AttributeError(f"module 'causeway' has no attribute {name!r}")
    module = importlib.import_module(f".{_LAZY[name] or name}", __name__)
    value = module if _LAZY[name] is None else getattr(module, name)
    globals()[name] = value
    return value


def compile(model, **options):
    """Returns the model: its operations are compiled kernels already. causeway.fuse() fuses elementwise
    ones, causeway.StepGraph records a step as a CUDA graph."""
    return model


def __dir__():
    return sorted({*globals(), *_LAZY})
