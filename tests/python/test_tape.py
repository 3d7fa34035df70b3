"""The tape: detection of in-place writes between forward and backward, and release of memory."""

import copy
import gc
import threading
import weakref

import causeway as cw
import numpy as np
import pytest
from causeway import nn

F = nn.functional


def array(values, device, dtype="f64"):
    return cw.array(np.asarray(values, dtype="f8"), dtype=dtype, device=device)


def leaf(values, device="cpu", dtype="f64"):
    return array(values, device, dtype).requires_grad_()


def live():
    gc.collect()
    return cw._core._live_nodes()


# Writes.


@pytest.mark.parametrize(
    "operation",
    [lambda x: x * x, lambda x: x.exp(), lambda x: F.softmax(x), lambda x: x @ x, lambda x: x / 2 / x,
     lambda x: 3.0 / x, lambda x: 2.0**x, lambda x: x**3, lambda x: F.gelu(x), lambda x: x.max(),
     lambda x: x.std(), lambda x: F.layer_norm(x), lambda x: F.linear(x, x), lambda x: x % (x * 2),
     lambda x: F.mse_loss(x, x + 1), lambda x: x.clip(0.0, 1.0), lambda x: cw.maximum(x, x * 2),
     lambda x: cw.checkpoint(lambda y: y + 1, x),
     lambda x: F.scaled_dot_product_attention(*[x.reshape(1, 1, 4, 4)] * 3)],
)  # fmt: skip
def test_overwriting_saved_tensors_is_an_error(device, operation):
    x = leaf(np.linspace(0.5, 2, 16).reshape(4, 4), device)
    inner = x * 1.0
    y = operation(inner)
    for written in (inner, y):  # one of them is read
        with cw.no_grad():
            written += 1.0
    with pytest.raises(cw.InvalidArgument, match="written to since; write to a clone"):
        y.sum().backward()


@pytest.mark.parametrize(
    "operation",
    [lambda x: x + x, lambda x: x * 2.0 - 1.0, lambda x: x.mean(), lambda x: x[1:], lambda x: x.T,
     lambda x: 1.0 - x, lambda x: x / 4.0, lambda x: F.dropout(x, 0.5), lambda x: x.cumsum(0),
     lambda x: -x, lambda x: x.floor() + x, lambda x: x * cw.full((4, 4), 2.0, "f64", x.device),
     lambda x: x @ cw.eye(4, dtype="f64", device=x.device),
     lambda x: F.linear(x, cw.eye(4, dtype="f64", device=x.device)),
     lambda x: x / cw.full((4, 4), 2.0, "f64", x.device)],
)  # fmt: skip
def test_overwriting_other_tensors_is_allowed(device, operation):
    x = leaf(np.linspace(0.5, 2, 16).reshape(4, 4), device)
    grads = []
    for writes in (False, True):
        cw.manual_seed(1)
        x.grad = None
        inner = x * 1.0
        y = operation(inner)
        if writes:
            with cw.no_grad():
                inner += 1.0
                y += 1.0
        y.sum().backward()
        grads.append(x.grad.numpy())
    assert np.array_equal(*grads)


def test_optimizer_steps_between_forward_and_backward_are_detected(device):
    w = leaf([[1.0, 2.0]], device)
    optimizer = cw.optim.SGD([w], lr=0.1)
    loss = (w * w).sum()
    loss.backward(retain_graph=True)
    optimizer.step()
    with pytest.raises(cw.InvalidArgument, match="multiply needs its operands"):
        loss.backward()


def test_a_first_layer_may_be_updated_before_another_backward(device):
    layer = nn.Linear(2, 1, device=device)
    optimizer = cw.optim.SGD(layer.parameters(), lr=0.1)
    x = cw.ones((3, 2), device=device)
    first, second = layer(x).sum(), layer(x * 2.0).sum()
    first.backward()
    optimizer.step()
    optimizer.zero_grad()
    second.backward()
    assert layer.weight.grad.tolist() == [[6.0, 6.0]]


def test_masks_and_contexts_are_read(device):
    q = leaf(np.random.default_rng(1).normal(size=(2, 1, 4, 8)), device, "f32")
    context = cw.array([2, 3], device=device)
    y = F.scaled_dot_product_attention(q, q, q, context=context)
    z = cw.where(condition := q > 0.0, q, q * 2.0)
    context[0] = 1
    condition[...] = True
    for result in (y, z):
        with pytest.raises(cw.InvalidArgument, match="written to since"):
            result.sum().backward()


def test_overwritten_logits_are_detected(device):
    x, classes = leaf([[0.1, 0.2, 0.3]], device), cw.array([1], device=device)
    loss = F.cross_entropy(x.tanh(), classes, overwrite_logits=True)
    with pytest.raises(cw.InvalidArgument, match="tanh needs"):
        loss.backward()
    logits = x * 1.0
    loss = F.cross_entropy(logits, classes, overwrite_logits=True)
    with cw.no_grad():
        logits[...] = 7.0
    with pytest.raises(cw.InvalidArgument, match="cross_entropy needs"):
        loss.backward()
    logits = x * 1.0
    losses = [F.cross_entropy(logits, classes, overwrite_logits=True) for _ in range(2)]
    with pytest.raises(cw.InvalidArgument, match="cross_entropy needs"):
        (losses[0] + losses[1]).backward()


def test_accumulation_statistics_and_scales_count_as_writes(device):
    x, w = leaf([1.0, 1.0], device), leaf([1.0, 1.0], device)
    (x * 2.0).sum().backward()
    y = (w * x.grad).sum()
    (x * 5.0).sum().backward()
    with pytest.raises(cw.InvalidArgument, match="written to since"):
        y.backward()
    norm = nn.BatchNorm2d(2, dtype="f64", device=device)
    y = (w * norm.running_mean).sum()
    norm(array(np.ones((3, 2, 1, 1)), device))
    with pytest.raises(cw.InvalidArgument, match="written to since"):
        y.backward()
    optimizer = cw.optim.SGD([w], lr=0.1, loss_scale=8.0, growth_interval=1)
    loss = (w * w).sum().to("f32") * optimizer.loss_scale
    w.grad = array([1.0, 1.0], device)
    optimizer.step()
    with pytest.raises(cw.InvalidArgument, match="written to since"):
        loss.backward()


def test_custom_functions_detect_overwritten_tensors(device):
    class Square(cw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            return gradient * x * 2

    x = leaf([3.0], device)
    y = Square.apply(x)
    with cw.no_grad():
        x += 1.0
    with pytest.raises(cw.InvalidArgument, match="Square needs"):
        y.backward()


def test_hooks_of_intermediate_results(device):
    x = leaf([[1.0, 2.0]], device)
    grads = []
    for changes in (False, True):
        x.grad = None
        loss = F.cross_entropy(x, cw.array([0], device=device))
        last = loss.reshape(())

        def double(gradient):
            gradient *= 2.0

        if changes:
            loss.register_hook(double)
        last.backward()
        grads.append(x.grad.numpy())
    assert np.array_equal(grads[0] * 2, grads[1])


# Memory.


def kept_by(operation, *inputs):
    """How many inputs' worth of memory a result holds."""
    result = operation(*inputs)
    gc.collect()
    before = cw.memory_stats("cpu")["current"]
    result = operation(*inputs)
    held = cw.memory_stats("cpu")["current"] - before
    del result
    return held / inputs[0].nbytes


@pytest.mark.parametrize(
    ("operation", "most"),
    [
        (lambda x, w: (x + x) - 1.0, 1),
        (lambda x, w: (1.0 - x) * 2.0 / 3.0, 1),
        (lambda x, w: (-(-(x * 1.0))).sum(), 0),
        (lambda x, w: (x * w.detach()).sum(), 0),
        (lambda x, w: (x @ w.detach()).sum(), 0),
        (lambda x, w: F.linear(x, w.detach()).sum(), 0),
        (lambda x, w: ((x * 1.0) * w).sum(), 1),
        (lambda x, w: cw.maximum(x, w).sum(), 0),
        (lambda x, w: x.mean(axis=0).std(), 0.1),
    ],
)
def test_rules_keep_only_what_they_read(operation, most):
    x, w = (leaf(np.ones((500, 500))) for _ in range(2))
    assert kept_by(operation, x, w) < most + 0.02


def test_custom_functions_keep_saved_tensors():
    class Double(cw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2.0

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2.0

    x = leaf(np.ones((500, 500)))
    assert kept_by(lambda x: Double.apply(x * 1.0).sum(), x) < 0.02


def test_exported_memory_does_not_keep_the_tape(device):
    x = leaf([1.0, 2.0], device)
    before = live()
    kept = [(x * x).numpy(), np.asarray(x * x), (x * x).tolist(), (x * x).__dlpack__()]
    assert live() == before and len(kept) == 4


def test_long_chains_of_all_kinds_are_released():
    before = live()
    for grow in (
        lambda y: cw.checkpoint(lambda t: t * 1.0, y),
        lambda y: cw.where(y, y, y),
        lambda y: copy.copy(y),
    ):
        y = leaf([1.0])
        for _ in range(30000):
            y = grow(y)
        del y
    assert live() == before


def test_step_graphs_in_threads_and_nested():
    def body(x):
        return graph(x[:1]) + x if x.shape[0] > 1 else x * 2.0

    graph = cw.StepGraph(body, device="cpu")
    assert graph(cw.ones((3,))).tolist() == [3, 3, 3]
    wrong = []

    def run(k):
        for _ in range(300):
            if graph(cw.full((1,), float(k))).item() != 2 * k:
                wrong.append(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_dropout_detects_another_step(device):
    x = leaf(np.ones(100), device)
    results = [F.dropout(x, 0.5), cw.checkpoint(lambda t: F.dropout(t, 0.5), x)]
    cw.StepGraph(lambda t: t * 1.0, device=device)(cw.ones((1,), device=device))
    for y in results:
        with pytest.raises(cw.InvalidArgument, match="written to since"):
            y.sum().backward()


def test_a_step_graph_is_released_with_its_owner():
    class Trainer:
        def __init__(self):
            self.net = nn.Linear(4, 4)
            self.step = cw.StepGraph(self.run, device="cpu")

        def run(self, x):
            loss = self.net(x).sum()
            loss.backward()
            return loss.detach()

    trainer = Trainer()
    for _ in range(3):
        trainer.step(cw.ones((2, 4)))
    gone = weakref.ref(trainer)
    del trainer
    gc.collect()
    assert gone() is None
