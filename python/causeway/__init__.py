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

from . import _core, autograd, cuda, gpt, models, nn, optim, pairs, prior, testing, text
from ._core import *  # noqa: F403
from ._core import _version as __version__
from .autograd import checkpoint, detect_anomaly, enable_grad, no_grad
from .fusion import fuse
from .graph import Graph, StepGraph, capture
from .kernel_types import *  # noqa: F403
from .kernels import BUILTINS as _BUILTINS
from .kernels import RawKernel, func, kernel, kernel_from_source, launch, struct
from .pretrain import pretrain
from .prior import Prior
from .profiler import profile

if TYPE_CHECKING:
    from .estimators import TabularClassifier, TabularRegressor
    from .tokenizer import PartialFit, Tokenizer

# Shown in tracebacks and messages.
for _class in (Error, *Error.__subclasses__(), InvalidIndex, Tensor, DType, Generator, Stream):
    _class.__module__ = "causeway"
del _class

# Folders of NVIDIA's wheels, whose libraries are opened at first use.
for _entry in sys.path:
    if os.path.isdir(os.path.join(_entry, "nvidia")):
        _core._add_wheel_folder(os.path.join(_entry, "nvidia"))
del _entry

# Imported at first use, since they import scikit-learn, which takes seconds.
_LAZY = {
    "PartialFit": "tokenizer",
    "TabularClassifier": "estimators",
    "TabularRegressor": "estimators",
    "Tokenizer": "tokenizer",
    "estimators": None,
    "tokenizer": None,
}


def __getattr__(name):
    if name in _BUILTINS:
        return _BUILTINS[name]
    if name not in _LAZY:
        raise AttributeError(f"module 'causeway' has no attribute {name!r}")
    module = importlib.import_module(f".{_LAZY[name] or name}", __name__)
    value = module if _LAZY[name] is None else getattr(module, name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})
