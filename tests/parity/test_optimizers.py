"""Optimizers against PyTorch's, step by step, on every device."""

import causeway as cw
import numpy as np
import pytest

torch = pytest.importorskip("torch")

DEVICES = [entry["device"] for entry in cw.devices()]
CASES = [
    (cw.optim.SGD, "SGD", {"momentum": 0.9, "weight_decay": 0.05}),
    (cw.optim.SGD, "SGD", {"momentum": 0.9, "nesterov": True}),
    (cw.optim.Adam, "Adam", {"weight_decay": 0.05}),
    (cw.optim.AdamW, "AdamW", {"weight_decay": 0.05}),
    (cw.optim.RMSprop, "RMSprop", {"momentum": 0.5}),
    (cw.optim.Adagrad, "Adagrad", {}),
    (cw.optim.Muon, "Muon", {"momentum": 0.95, "weight_decay": 0.1}),
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1]} {case[2]}")
def test_optimizer(case, device):
    ours, theirs, options = case
    if not hasattr(torch.optim, theirs):
        pytest.skip(f"this PyTorch has no {theirs}")
    rng = np.random.default_rng(2)
    shapes = [(24, 40)] if theirs == "Muon" else [(24, 40), (7,), (1,)]
    start = [rng.normal(size=shape).astype("f4") for shape in shapes]
    mine = [cw.array(x, device=device).requires_grad_() for x in start]
    other = [torch.tensor(x, requires_grad=True) for x in start]
    a = ours(mine, lr=0.01, **options)
    b = getattr(torch.optim, theirs)(other, lr=0.01, **options)
    for _ in range(8):
        for p, q in zip(mine, other):
            g = rng.normal(size=p.shape).astype("f4")
            p.grad, q.grad = cw.array(g, device=device), torch.tensor(g)
        a.step()
        b.step()
    # Muon's iterations run in bf16 there, and here on a GPU.
    tolerance = 1e-2 if theirs == "Muon" else 2e-5
    for p, q in zip(mine, other):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("case", CASES[2:4], ids=lambda case: case[1])
def test_parameters_that_begin_late_and_pause(case, device):
    ours, theirs, options = case
    rng = np.random.default_rng(5)
    start = [rng.normal(size=9).astype("f4") for _ in range(5)]
    mine = [cw.array(x, device=device).requires_grad_() for x in start]
    other = [torch.tensor(x, requires_grad=True) for x in start]
    a = ours(mine[:4], lr=0.01, **options)
    b = getattr(torch.optim, theirs)(other[:4], lr=0.01, **options)
    there = [range(12), range(5, 12), [0, 1, 7, 8], [], range(8, 12)]
    for step in range(12):
        if step == 8:
            a.add_group([mine[4]])
            b.add_param_group({"params": [other[4]]})
        for p, q, steps in zip(mine, other, there):
            g = rng.normal(size=p.shape).astype("f4")
            p.grad = cw.array(g, device=device) if step in steps else None
            q.grad = torch.tensor(g) if step in steps else None
        a.step()
        b.step()
    for p, q in zip(mine, other):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("device", DEVICES)
def test_clipping(device):
    rng = np.random.default_rng(3)
    start = [rng.normal(size=shape).astype("f4") for shape in ((30, 5), (11,))]
    mine = [cw.array(x, device=device).requires_grad_() for x in start]
    other = [torch.tensor(x, requires_grad=True) for x in start]
    a, b = cw.optim.SGD(mine, lr=0.1, max_norm=0.5), torch.optim.SGD(other, lr=0.1)
    for p, q in zip(mine, other):
        g = rng.normal(size=p.shape).astype("f4")
        p.grad, q.grad = cw.array(g, device=device), torch.tensor(g)
    norm = torch.nn.utils.clip_grad_norm_(other, 0.5)
    a.step()
    b.step()
    assert a.norm.item() == pytest.approx(norm.item(), rel=1e-5)
    for p, q in zip(mine, other):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), rtol=1e-5, atol=1e-6)
