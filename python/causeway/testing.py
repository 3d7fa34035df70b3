"""Fault injection, and PyTorch's module names for code that imports torch: for tests."""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Iterator
from typing import Any

from ._core import _fail_nth_allocation as fail_nth_allocation
from ._core import _set_guarded_memory as set_guarded_memory

__all__ = ["as_torch", "fail_nth_allocation", "set_guarded_memory"]

# Modules of PyTorch that are modules of this package.
_MODULES = {
    "torch.amp": "amp",
    "torch.autograd": "autograd",
    "torch.cuda": "cuda",
    "torch.cuda.amp": "amp",
    "torch.nn": "nn",
    "torch.nn.functional": "functional",
    "torch.nn.init": "init",
    "torch.nn.modules": "nn",
    "torch.nn.modules.transformer": "nn.attention",
    "torch.nn.utils": "nn.utils",
    "torch.optim": "optim",
    "torch.optim.lr_scheduler": "optim.lr_scheduler",
    "torch.utils.checkpoint": "autograd",
}


def _modules() -> dict[str, Any]:
    package = importlib.import_module("causeway")
    torch = types.ModuleType("torch", "PyTorch's names, from causeway.")
    torch.__getattr__ = lambda name: getattr(package, name)
    torch.equal = package.Tensor.equal  # the package's compares elementwise, as NumPy's
    torch.utils = types.ModuleType("torch.utils")
    made = {"torch": torch, "torch.utils": torch.utils}
    for name, own in _MODULES.items():
        made[name] = importlib.import_module(f"causeway.{own}")
    torch.utils.checkpoint = made["torch.utils.checkpoint"]
    return made


@contextlib.contextmanager
def as_torch() -> Iterator[Any]:
    """While active, `import torch` imports this package under PyTorch's names:

        with cw.testing.as_torch():
            model = importlib.import_module("model")  # a file that says import torch

    Modules that are imported inside the block keep using it afterwards."""
    made = _modules()
    before = {name: module for name, module in sys.modules.items() if name == "torch" or name.startswith("torch.")}
    for name in before:
        del sys.modules[name]
    sys.modules.update(made)
    try:
        yield made["torch"]
    finally:
        for name in made:
            sys.modules.pop(name, None)
        sys.modules.update(before)
