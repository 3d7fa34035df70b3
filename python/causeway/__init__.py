"""Causeway: tensors on the CPU and on CUDA devices, with NumPy's names.

    import causeway as cw
    x = cw.Generator(7).normal((1024, 100), device="auto")
    y = (x @ x.T).mean(axis=1)
    t = torch.from_dlpack(y)  # no copy
"""

from . import autograd, cuda, models, nn, optim, prior, testing
from ._core import *  # noqa: F403
from ._core import _version as __version__
from .autograd import checkpoint, detect_anomaly, enable_grad, no_grad
from .graph import Graph, StepGraph, capture
from .pretrain import pretrain
from .prior import Prior
from .profiler import profile
from .tokenizer import PartialFit, Tokenizer

# Messages name what users import.
for _class in (Error, *Error.__subclasses__(), InvalidIndex, Tensor, DType, Generator, Stream):
    _class.__module__ = "causeway"
del _class


def __getattr__(name):
    # They need scikit-learn, which the rest does not.
    if name in ("TabularClassifier", "TabularRegressor"):
        from . import estimators

        return getattr(estimators, name)
    raise AttributeError(f"module 'causeway' has no attribute {name!r}")
