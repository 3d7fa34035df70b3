"""Modules, losses, optimizers and schedules under PyTorch's names against PyTorch, with its weights."""

import causeway as cw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
import torch.nn as tnn  # noqa: E402

nn = cw.nn


def array(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("f4")


def flat(result):
    return [result] if not isinstance(result, (tuple, list)) else [part for entry in result for part in flat(entry)]


def check_module(ours, theirs, *arrays, train=True, call=lambda module, *args: module(*args)):
    """Results, gradients of inputs and of parameters, after giving both the same weights."""
    state = {name: value for name, value in theirs.state_dict().items() if "num_batches" not in name}
    ours.load_state_dict({name: cw.array(value.numpy()) for name, value in state.items()})
    ours.train(train)
    theirs.train(train)
    own = [cw.array(a).requires_grad_() if a.dtype.kind == "f" else cw.array(a) for a in arrays]
    other = [torch.tensor(a, requires_grad=a.dtype.kind == "f") for a in arrays]
    got, want = flat(call(ours, *own)), flat(call(theirs, *other))
    assert len(got) == len(want)
    loss, other_loss = cw.zeros(()), torch.zeros(())
    for place, (a, b) in enumerate(zip(got, want)):
        assert (a is None) == (b is None)
        if b is None:
            continue
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=2e-4, atol=2e-5)
        weights = np.cos(np.arange(b.numel()) + place).reshape(tuple(b.shape)).astype("f4")
        loss, other_loss = loss + (a * cw.array(weights)).sum(), other_loss + (b * torch.tensor(weights)).sum()
    loss.backward()
    other_loss.backward()
    pairs = [(f"input {i}", a, b) for i, (a, b) in enumerate(zip(own, other)) if b.requires_grad]
    pairs += [(name, dict(ours.named_parameters())[name], b) for name, b in theirs.named_parameters()]
    for name, a, b in pairs:
        assert (a.grad is None) == (b.grad is None), name
        if b.grad is not None:
            np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-3, atol=1e-4, err_msg=name)
    for name, value in theirs.named_buffers():
        if "num_batches" not in name:
            np.testing.assert_allclose(dict(ours.named_buffers())[name].numpy(), value.numpy(), rtol=1e-4)


MODULES = {
    "GroupNorm": (lambda n: n.GroupNorm(2, 6), [(3, 6, 5)]),
    "BatchNorm1d rows": (lambda n: n.BatchNorm1d(6), [(8, 6)]),
    "BatchNorm1d lines": (lambda n: n.BatchNorm1d(6), [(4, 6, 5)]),
    "Conv1d": (lambda n: n.Conv1d(4, 6, 3, stride=2, padding=1, groups=2), [(2, 4, 9)]),
    "LayerNorm": (lambda n: n.LayerNorm(6), [(3, 6)]),
    "LayerNorm plain": (lambda n: n.Sequential(n.LayerNorm([6], 1e-3, elementwise_affine=False), n.Linear(6, 2)),
                        [(3, 6)]),
    "LayerNorm without bias": (lambda n: n.LayerNorm((6,), bias=False), [(3, 6)]),
    "LSTM": (lambda n: n.LSTM(4, 6), [(5, 2, 4)]),
    "LSTM deep": (lambda n: n.LSTM(4, 6, num_layers=2, batch_first=True, bidirectional=True), [(2, 5, 4)]),
    "LSTM one": (lambda n: n.LSTM(4, 6, bias=False), [(5, 4)]),
    "GRU": (lambda n: n.GRU(4, 6, num_layers=2, bidirectional=True), [(5, 2, 4)]),
    "Sequential": (lambda n: n.Sequential(n.Linear(6, 5), n.GELU(), n.Softmax(dim=-1)), [(3, 6)]),
    "PReLU-like": (lambda n: n.Sequential(n.LeakyReLU(0.2), n.SiLU(), n.Mish(), n.Hardswish(), n.LogSoftmax(1)),
                   [(3, 6)]),
    "TransformerEncoderLayer": (lambda n: n.TransformerEncoderLayer(8, 2, 16, dropout=0.0), [(5, 2, 8)]),
    "TransformerEncoderLayer first": (lambda n: n.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, activation="gelu", norm_first=True, batch_first=True), [(2, 5, 8)]),
    "TransformerEncoder": (lambda n: n.TransformerEncoder(n.TransformerEncoderLayer(8, 2, 16, 0.0), 2, n.LayerNorm(8)),
                           [(5, 2, 8)]),
}


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_module(name, train):
    make, shapes = MODULES[name]
    check_module(make(nn), make(tnn), *[array(shape, i) for i, shape in enumerate(shapes)], train=train)


@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"bias": False}])
@pytest.mark.parametrize("call", [
    {}, {"need_weights": False}, {"average_attn_weights": False}, {"attn_mask": "causal"}, {"attn_mask": "float"},
    {"key_padding_mask": "padding"}, {"attn_mask": "causal", "key_padding_mask": "padding", "need_weights": False}])
def test_multihead_attention(options, call):
    q, k = ((2, 5, 8), (2, 7, 8)) if options.get("batch_first") else ((5, 2, 8), (7, 2, 8))
    padding = np.array([[False] * 7, [False] * 4 + [True] * 3])
    masks = {"causal": np.triu(np.ones((5, 7), bool), 3), "float": array((5, 7), 9), "padding": padding}

    def run(module, query, key, value):
        make = cw.array if isinstance(module, cw.nn.Module) else torch.tensor
        given = {name: make(masks[mask]) if isinstance(mask, str) else mask for name, mask in call.items()}
        return module(query, key, value, **given)

    check_module(nn.MultiheadAttention(8, 2, **options), tnn.MultiheadAttention(8, 2, **options), array(q), array(k, 1),
                 array(k, 2), call=run)


CLASSES = np.array([1, 0, 3])
LOSSES = {
    "CrossEntropyLoss": (lambda n, t: n.CrossEntropyLoss(label_smoothing=0.1), (3, 4), CLASSES),
    "CrossEntropyLoss weight": (lambda n, t: n.CrossEntropyLoss(weight=t([1.0, 2.0, 0.5, 3.0])), (3, 4), CLASSES),
    "NLLLoss": (lambda n, t: n.NLLLoss(), (3, 4), CLASSES),
    "MSELoss": (lambda n, t: n.MSELoss(reduction="sum"), (3, 4), array((3, 4), 5)),
    "L1Loss": (lambda n, t: n.L1Loss(), (3, 4), array((3, 4), 5)),
    "SmoothL1Loss": (lambda n, t: n.SmoothL1Loss(beta=0.5), (3, 4), array((3, 4), 5)),
    "HuberLoss": (lambda n, t: n.HuberLoss(delta=0.5), (3, 4), array((3, 4), 5)),
    "BCEWithLogitsLoss": (lambda n, t: n.BCEWithLogitsLoss(pos_weight=t([2.0, 1.0, 1.0, 3.0])), (3, 4),
                          (array((3, 4), 5) > 0).astype("f4")),
    "KLDivLoss": (lambda n, t: n.KLDivLoss(reduction="batchmean"), (3, 4), np.full((3, 4), 0.25, "f4")),
}


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name):
    make, shape, target = LOSSES[name]
    x = array(shape)
    own, other = cw.array(x).requires_grad_(), torch.tensor(x, requires_grad=True)
    got, want = make(nn, cw.tensor)(own, cw.array(target)), make(tnn, torch.tensor)(other, torch.tensor(target))
    np.testing.assert_allclose(got.item(), want.item(), rtol=1e-5)
    got.backward()
    want.backward()
    np.testing.assert_allclose(own.grad.numpy(), other.grad.numpy(), rtol=1e-4, atol=1e-6)


SCHEDULES = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda step: min(1.0, (step + 1) / 4)),
    "StepLR": lambda s, o: s.StepLR(o, 3, gamma=0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5]),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.9),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.5, 3),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, total_iters=5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 8, eta_min=1e-3),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=3), s.CosineAnnealingLR(o, 6)], milestones=[3]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_schedule(name):
    """Two groups with different rates, trained under a schedule: rates and weights agree at every step."""
    start = [array((4, 3)), array((5,), 1)]
    own = [cw.array(a).requires_grad_() for a in start]
    other = [torch.tensor(a, requires_grad=True) for a in start]
    optimizers = []
    for lib, weights in ((cw, own), (torch, other)):
        groups = [{"params": [weights[0]]}, {"params": [weights[1]], "lr": 0.03, "weight_decay": 0.1}]
        optimizers.append(lib.optim.SGD(groups, lr=0.1, momentum=0.9))
    schedules = [SCHEDULES[name](lib.optim.lr_scheduler, optimizer)
                 for lib, optimizer in zip((cw, torch), optimizers)]
    for _ in range(8):
        for weights, optimizer, schedule in zip((own, other), optimizers, schedules):
            optimizer.zero_grad()
            sum((w ** 2).sum() for w in weights).backward()
            optimizer.step()
            schedule.step()
        rates = [[group["lr"] for group in optimizer.param_groups] for optimizer in optimizers]
        np.testing.assert_allclose(rates[0], rates[1], rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(schedules[0].get_last_lr(), schedules[1].get_last_lr(), rtol=1e-6, atol=1e-12)
    for a, b in zip(own, other):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-4, atol=1e-6)


def test_reduce_on_plateau():
    optimizers = [lib.optim.SGD([w], lr=0.1) for lib, w in
                  ((cw, cw.ones(2).requires_grad_()), (torch, torch.ones(2, requires_grad=True)))]
    schedules = [lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
                 for lib, optimizer in zip((cw, torch), optimizers)]
    for metric in (1.0, 0.9, 0.95, 0.93, 0.89999, 0.91, 0.5, 0.6, 0.7):
        for schedule in schedules:
            schedule.step(metric)
        assert optimizers[0].param_groups[0]["lr"] == pytest.approx(optimizers[1].param_groups[0]["lr"])


@pytest.mark.parametrize("norm_type", [1.0, 2.0, float("inf")])
def test_clip_grad_norm(norm_type):
    own = [cw.array(array((4, 3))).requires_grad_(), cw.array(array((5,), 1)).requires_grad_()]
    other = [torch.tensor(w.detach().numpy(), requires_grad=True) for w in own]
    for weights in (own, other):
        sum((w ** 3).sum() for w in weights).backward()
    got = nn.utils.clip_grad_norm_(own, 0.7, norm_type)
    want = tnn.utils.clip_grad_norm_(other, 0.7, norm_type)
    np.testing.assert_allclose(got.item(), want.item(), rtol=1e-5)
    for a, b in zip(own, other):
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-5, atol=1e-7)


def test_changed_groups():
    """Options of a group that are assigned in between take effect, as in PyTorch."""
    start = array((6,))
    results = []
    for lib in (cw, torch):
        w = lib.tensor(start, requires_grad=True)
        optimizer = lib.optim.AdamW([w], lr=0.1, betas=(0.8, 0.9), weight_decay=0.0)
        for step in range(6):
            optimizer.zero_grad()
            (w ** 2).sum().backward()
            for group in optimizer.param_groups:
                group["lr"] = 0.1 / (step + 1)
                if step == 3:
                    group["weight_decay"] = 0.3
            optimizer.step()
        results.append(w.detach().numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
