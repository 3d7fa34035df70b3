"""Model files of other projects, which import torch, run unchanged with the package and agree with PyTorch in
outputs, losses and gradients.

CAUSEWAY_MODEL_FILES names a folder with nanogpt/model.py (karpathy/nanoGPT), nanotabpfn/model.py
(automl/nanoTabPFN) and tabpfn/ (the package of tabpfn 0.1, `pip download tabpfn==0.1.11`).
"""

import contextlib
import importlib
import importlib.util
import os
import sys
import types
import typing
from pathlib import Path

import causeway as cw
import numpy as np
import pytest

torch = pytest.importorskip("torch")


def folder(name, file):
    found = os.environ.get("CAUSEWAY_MODEL_FILES")
    path = Path(found or "/nonexistent") / name
    if not (path / file).exists():
        pytest.skip(f"no {name}/{file} in the folder that CAUSEWAY_MODEL_FILES names ({found or 'unset'})")
    return path


@contextlib.contextmanager
def real_torch():
    # TabPFN takes Optional from here, where newer versions of PyTorch do not have it.
    importlib.import_module("torch.nn.modules.transformer").Optional = typing.Optional
    yield torch


LIBRARIES = {"torch": real_torch, "causeway": cw.testing.as_torch}


def load_file(path, library):
    """A file as a module, imported with one of the libraries as torch."""
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{library}", path)
    module = importlib.util.module_from_spec(spec)
    with LIBRARIES[library]() as lib:
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
    return lib, module


def load_package(path, library, names):
    """Modules of a package, without its __init__.py, which imports much more."""
    package = types.ModuleType("tabpfn")
    package.__path__ = [str(path)]
    with LIBRARIES[library]() as lib:
        sys.modules["tabpfn"] = package
        try:
            modules = {name: importlib.import_module(f"tabpfn.{name}") for name in names}
        finally:
            for name in [name for name in sys.modules if name.split(".")[0] == "tabpfn"]:
                del sys.modules[name]
    return lib, modules


def same_weights(ours, theirs):
    """Gives both models the same random weights; also those that start at 0."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.2)
    ours.load_state_dict({name: cw.array(value.numpy()) for name, value in theirs.state_dict().items()})


def compare(ours, theirs, what, tolerance=2e-4):
    got, want = ours.detach().tolist(), theirs.detach().tolist()
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=tolerance, atol=tolerance * 0.1, err_msg=what)


def compare_gradients(ours, theirs):
    """Gradients of all parameters, which must have the same names."""
    wanted = dict(theirs.named_parameters())
    got = dict(ours.named_parameters())
    assert list(got) == list(wanted)
    n_compared = 0
    for name, parameter in wanted.items():
        assert (got[name].grad is None) == (parameter.grad is None), name
        if parameter.grad is not None:
            scale = float(parameter.grad.abs().max()) + 1e-6
            compare(got[name].grad * (1 / scale), parameter.grad / scale, f"gradient of {name}", 1e-3)
            n_compared += 1
    assert n_compared > 0


@pytest.mark.parametrize("bias", [True, False])
def test_nanogpt(bias):
    path = folder("nanogpt", "model.py") / "model.py"
    models = {}
    for name in LIBRARIES:
        lib, module = load_file(path, name)
        config = module.GPTConfig(block_size=16, vocab_size=40, n_layer=2, n_head=2, n_embd=32, bias=bias)
        models[name] = lib, module.GPT(config)
    (_, theirs), (lib, ours) = models["torch"], models["causeway"]
    same_weights(ours, theirs)
    assert ours.get_num_params() == theirs.get_num_params()
    tokens = np.random.default_rng(0).integers(0, 40, (2, 9))
    targets = np.where(tokens % 5 == 0, -1, tokens[:, ::-1]).copy()
    logits, loss = theirs(torch.tensor(tokens), torch.tensor(targets))
    with cw.testing.as_torch():
        own_logits, own_loss = ours(lib.tensor(tokens), lib.tensor(targets))
        own_loss.backward()
    loss.backward()
    compare(own_logits, logits, "logits")
    compare(own_loss, loss, "loss")
    compare_gradients(ours, theirs)
    # Its optimizer and its sampling; greedy, since random numbers differ.
    optimizers = [model.configure_optimizers(0.1, 1e-2, (0.9, 0.95), "cpu") for model in (ours, theirs)]
    for optimizer in optimizers:
        optimizer.step()
    ours.eval()
    theirs.eval()
    for name, parameter in theirs.named_parameters():
        # The first step of Adam has the size of the sign of the gradient, which rounding decides near 0.
        clear = parameter.grad.abs() > 1e-5
        own = lib.tensor(dict(ours.named_parameters())[name].detach().numpy()[clear.numpy()])
        compare(own, parameter[clear], f"{name} after a step", 2e-3)
    with cw.testing.as_torch():
        own = ours.generate(lib.tensor(tokens), 4, top_k=1)
    assert own.tolist() == theirs.generate(torch.tensor(tokens), 4, top_k=1).tolist()
    ours.crop_block_size(8)
    assert ours.transformer.wpe.weight.shape == (8, 32)


def test_nanotabpfn():
    path = folder("nanotabpfn", "model.py") / "model.py"
    models = {}
    for name in LIBRARIES:
        lib, module = load_file(path, name)
        models[name] = lib, module.NanoTabPFNModel(24, 3, 48, 2, 5), module
    (_, theirs, _), (lib, ours, module) = models["torch"], models["causeway"]
    same_weights(ours, theirs)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 12, 3)).astype("f4"), rng.integers(0, 5, (2, 8)).astype("f4")
    want = theirs((torch.tensor(x), torch.tensor(y)), train_test_split_index=8)
    got = ours((lib.tensor(x), lib.tensor(y)), train_test_split_index=8)
    compare(got, want, "logits")
    (got * got).mean().backward()
    (want * want).mean().backward()
    compare_gradients(ours, theirs)
    own = module.NanoTabPFNClassifier(ours, lib.device("cpu"))
    other = models["torch"][2].NanoTabPFNClassifier(theirs, torch.device("cpu"))
    rows, labels = rng.normal(size=(9, 4)), rng.integers(0, 3, 9)
    for classifier in (own, other):
        classifier.fit(rows[:7], labels[:7])
    np.testing.assert_allclose(own.predict_proba(rows[7:]), other.predict_proba(rows[7:]), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("masking", ["efficient", "mask", "global", "checkpoint"])
def test_tabpfn(masking):
    path = folder("tabpfn", "transformer.py")
    models = {}
    for name in LIBRARIES:
        lib, modules = load_package(path, name, ("utils", "layer", "transformer", "encoders"))
        encoders = modules["encoders"]
        models[name] = lib, modules["transformer"].TransformerModel(
            encoders.Linear(3, 16), 4, 16, 2, 32, 2, 0.0, y_encoder=encoders.Linear(1, 16),
            efficient_eval_masking=masking == "efficient", recompute_attn=masking == "checkpoint",
            num_global_att_tokens=2 if masking == "global" else 0)
    (_, theirs), (lib, ours) = models["torch"], models["causeway"]
    same_weights(ours, theirs)
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(10, 2, 3)).astype("f4"), rng.normal(size=(10, 2)).astype("f4")
    want = theirs((torch.tensor(x), torch.tensor(y)), single_eval_pos=6)
    got = ours((lib.tensor(x), lib.tensor(y)), single_eval_pos=6)
    compare(got, want, "predictions")
    (got * got).mean().backward()
    (want * want).mean().backward()
    compare_gradients(ours, theirs)
