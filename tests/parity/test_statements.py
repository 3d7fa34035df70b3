"""Everyday PyTorch statements, run with PyTorch and with the package under its names."""

import importlib.machinery
import importlib.util
from pathlib import Path

import causeway as cw
import numpy as np
import pytest
import statements

torch = pytest.importorskip("torch")
TRACKED = ("x", "y", "w", "v", "p", "z", "s", "q", "k")


def tensors_of(result):
    """The tensors of a result, and everything else in it."""
    if isinstance(result, (torch.Tensor, cw.Tensor)):
        return [result], []
    if isinstance(result, (tuple, list)):
        parts = [tensors_of(part) for part in result]
        return sum((part[0] for part in parts), []), sum((part[1] for part in parts), [])
    return [], [result]


def run(library, statement):
    """The tensors and other values of a statement, and the gradients of its inputs."""
    names = {"np": np, "torch": library, "nn": library.nn, "F": library.nn.functional}
    for name, array in statements.inputs().items():
        names[name] = library.tensor(array, requires_grad=name in TRACKED)
    result = eval(statement.removeprefix("shape: "), names)  # noqa: S307
    tensors, others = tensors_of(result)
    loss = None
    for place, tensor in enumerate(tensors):
        if tensor.requires_grad and tensor.dtype in (library.float32, library.float64) and not tensor.is_leaf:
            weights = np.cos(np.arange(tensor.numel()) + place).reshape(tuple(tensor.shape))
            part = (tensor * library.tensor(weights).to(tensor.dtype)).sum().to(library.float64)
            loss = part if loss is None else loss + part
    if loss is not None:
        loss.backward()
    gradients = {name: names[name].grad for name in TRACKED if loss is not None}
    return tensors, others, gradients


def array_of(tensor):
    return np.asarray(tensor.detach().cpu().tolist(), dtype="f8").reshape(tuple(tensor.shape))


def dtype_of(tensor):
    name = str(tensor.dtype).split(".")[-1]
    own = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "i64": "int64",
           "i32": "int32", "i16": "int16", "i8": "int8", "u8": "uint8", "bool_": "bool"}
    return own.get(name, name)


def compare(got, want, values=True):
    assert tuple(got.shape) == tuple(want.shape)
    assert dtype_of(got) == dtype_of(want)
    if values:
        np.testing.assert_allclose(array_of(got), array_of(want), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("statement", [line for lines in statements.GROUPS.values() for line in lines])
def test_statement(statement):
    wanted, wanted_others, wanted_gradients = run(torch, statement)
    with cw.testing.as_torch() as library:
        got, others, gradients = run(library, statement)
    assert len(got) == len(wanted)
    for ours, theirs in zip(got, wanted):
        compare(ours, theirs, values=not statement.startswith("shape: "))
        assert ours.requires_grad == theirs.requires_grad
    assert len(others) == len(wanted_others)
    for ours, theirs in zip(others, wanted_others):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6) if isinstance(theirs, (float, np.ndarray)) else None
        assert isinstance(theirs, (float, np.ndarray)) or ours == theirs
    if statement.startswith("shape: "):
        return
    for name, theirs in wanted_gradients.items():
        ours = gradients.get(name)
        assert (ours is None) == (theirs is None), f"gradient of {name}"
        if theirs is not None:
            compare(ours, theirs)


def test_page_is_up_to_date():
    script = Path(__file__).resolve().parents[2] / "scripts" / "torch-names"
    loader = importlib.machinery.SourceFileLoader("torch_names", str(script))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("torch_names", loader))
    loader.exec_module(module)
    assert module.PAGE.read_text() == module.page(), "run scripts/torch-names"
