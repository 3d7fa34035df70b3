"""Autograd: accumulation, release, hooks, custom functions, anomaly detection, leaks."""

import gc

import causeway as cw
import numpy as np
import pytest

F = cw.nn.functional


def leaf(values, device="cpu", dtype="f64"):
    return cw.array(np.asarray(values, dtype="f8"), dtype=dtype, device=device).requires_grad_()


def live():
    gc.collect()
    return cw._core._live_nodes()


def test_gradients_add_up_over_backward_calls(device):
    x = leaf([1.0, 2.0], device)
    (x * x).sum().backward()
    assert x.grad.numpy().tolist() == [2.0, 4.0]
    (x * 3.0).sum().backward()
    assert x.grad.numpy().tolist() == [5.0, 7.0]
    x.grad = None
    (x * 3.0).sum().backward()
    assert x.grad.numpy().tolist() == [3.0, 3.0]


def test_gradients_of_two_leaves_do_not_share_memory(device):
    a, b = leaf([1.0, 2.0], device), leaf([3.0, 4.0], device)
    (a + b).backward(cw.ones((2,), dtype="f64", device=device))
    (a * 1.0).sum().backward()
    assert a.grad.numpy().tolist() == [2.0, 2.0]
    assert b.grad.numpy().tolist() == [1.0, 1.0]


def test_a_tensor_used_many_times(device):
    x = leaf([2.0], device)
    y = x * x
    z = y * y + y * x + x
    z.backward()
    assert x.grad.item() == 4 * 8 + 3 * 4 + 1


def test_diamond_of_a_thousand_uses(device):
    x = leaf([1.0], device)
    total = x * 0.0
    for _ in range(1000):
        total = total + x
    total.backward()
    assert x.grad.item() == 1000


def test_a_long_chain_is_released_without_deep_recursion():
    x = leaf([1.0])
    y = x
    for _ in range(100_000):
        y = y + 1.0
    before = live()
    assert before >= 100_000
    del y
    assert live() <= before - 100_000


def test_backward_releases_memory(device):
    start = live()
    used = cw.memory_stats(device)["current"]
    for _ in range(3):
        x = leaf(np.ones((64, 64)), device)
        y = F.softmax(x @ x.T).sum()
        y.backward()
    del x, y
    assert live() == start
    assert cw.memory_stats(device)["current"] == used


def test_backward_twice_needs_retain_graph(device):
    x = leaf([3.0], device)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12
    with pytest.raises(cw.InvalidArgument, match="retain_graph"):
        y.backward()


def test_no_grad_and_enable_grad(device):
    x = leaf([3.0], device)
    with cw.no_grad():
        y = x * 2.0
        with cw.enable_grad():
            z = x * 2.0
    assert not y.requires_grad and z.requires_grad and cw.is_grad_enabled()

    @cw.no_grad()
    def twice(t):
        return t * 2.0

    assert not twice(x).requires_grad
    assert not x.detach().requires_grad
    with pytest.raises(cw.InvalidArgument, match="requires a gradient"):
        y.backward()


def test_hooks_see_and_replace_gradients(device):
    seen = []
    x = leaf([1.0, 1.0], device)
    y = x * 2.0
    handle = y.register_hook(lambda g: seen.append(g.numpy().copy()))
    x.register_hook(lambda g: g * 10.0)
    (y + y).sum().backward()
    assert [s.tolist() for s in seen] == [[2.0, 2.0]]
    assert x.grad.numpy().tolist() == [40.0, 40.0]
    handle.remove()
    (y * 1.0).detach()
    (x * 2.0).sum().backward()
    assert len(seen) == 1


def test_custom_function(device):
    class Both(cw.autograd.Function):
        @staticmethod
        def forward(ctx, a, b, factor):
            ctx.save_for_backward(a, b)
            ctx.factor = factor
            return a * b, a + b

        @staticmethod
        def backward(ctx, product, total):
            a, b = ctx.saved_tensors
            return product * b + total, product * a + total

    a, b = leaf([2.0], device), leaf([5.0], device)
    x, y = Both.apply(a, b, 3)
    (x * 2.0 + y).backward()
    assert (a.grad.item(), b.grad.item()) == (11, 5)

    class Short(cw.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, gradient):
            return (gradient,)

    with pytest.raises(cw.InvalidArgument, match="1 gradients for 2 inputs"):
        Short.apply(a, b).backward()


def test_errors_of_a_python_rule_reach_the_caller(device):
    class Broken(cw.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 1.0

        @staticmethod
        def backward(ctx, gradient):
            raise KeyError("lost")

    with pytest.raises(KeyError, match="lost"):
        Broken.apply(leaf([1.0], device)).backward()


def test_in_place_writes_to_tracked_tensors_are_errors(device):
    x = leaf([1.0, 2.0], device)
    with pytest.raises(cw.InvalidArgument, match="no_grad"):
        x += 1.0
    with pytest.raises(cw.InvalidArgument, match="no_grad"):
        x[0] = 5.0
    with cw.no_grad():
        x += 1.0
    assert x.numpy().tolist() == [2.0, 3.0]


def test_leaves(device):
    with pytest.raises(cw.InvalidArgument, match="i64 tensors have no gradients"):
        cw.array([1, 2], device=device).requires_grad_()
    x = leaf([1.0], device)
    y = x * 2.0
    assert x.is_leaf and not y.is_leaf
    with pytest.raises(cw.InvalidArgument, match="detach"):
        y.requires_grad = False
    with pytest.raises(cw.ShapeMismatch, match="not a scalar"):
        (leaf([1.0, 2.0], device) * 2.0).backward()
    with pytest.raises(cw.ShapeMismatch):
        x.grad = cw.ones((3,), device=device)


def test_detect_anomaly_names_step_operation_and_tensor(device):
    w = cw.nn.Linear(2, 2, dtype="f64", device=device)
    with cw.no_grad():
        w.weight[...] = float("nan")
    x = cw.ones((1, 2), dtype="f64", device=device)
    with pytest.raises(cw.InvalidArgument) as caught, cw.detect_anomaly(step=17):
        w(x)
    text = str(caught.value)
    assert "step 17" in text and "linear" in text and "NaN" in text and '"weight"' in text
    y = leaf([0.0], device)
    with pytest.raises(cw.InvalidArgument, match="gradient of input 0 of sqrt"), cw.detect_anomaly():
        cw.sqrt(y).sum().backward()
    assert np.isnan(cw.log(leaf([-1.0], device)).item())  # outside, as ever


def test_out_of_memory_in_backward_leaves_all_usable(device):
    x = leaf(np.ones((32, 32)), device)
    start = live()
    y = F.softmax(x @ x).sum()
    cw.testing.fail_nth_allocation(3, device)
    with pytest.raises(cw.OutOfMemory):
        y.backward()
    cw.testing.fail_nth_allocation(0, device)
    del y
    assert live() == start
    x.grad = None
    F.softmax(x @ x).sum().backward()
    assert x.grad.shape == (32, 32)


def test_gradient_of_scatter_with_duplicate_indices(device):
    x = leaf([0.0, 0.0, 0.0], device)
    source = leaf([1.0, 2.0, 3.0], device)
    index = cw.array([1, 1, 2], device=device)
    out = cw.scatter(x, index, source, axis=0)
    assert out.numpy().tolist() == [0.0, 2.0, 3.0]
    (out * cw.array([1.0, 10.0, 100.0]).to("f64", device)).sum().backward()
    assert x.grad.numpy().tolist() == [1.0, 0.0, 0.0]
    assert source.grad.numpy().tolist() == [0.0, 10.0, 100.0]


def test_gradient_of_a_product_with_zeros(device):
    x = leaf([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0], [1.0, 2.0, 4.0]], device)
    cw.prod(x, axis=1).sum().backward()
    assert x.grad.numpy().tolist() == [[0, 6, 0], [0, 0, 0], [8, 4, 2]]


def test_ties_share_the_gradient_of_extremes(device):
    x = leaf([3.0, 1.0, 3.0], device)
    cw.max(x).backward()
    assert x.grad.numpy().tolist() == [0.5, 0.0, 0.5]


def test_empty_tensors_have_empty_gradients(device):
    x = leaf(np.zeros((0, 3)), device)
    w = leaf(np.ones((2, 3)), device)
    F.linear(F.layer_norm(x), w).sum().backward()
    assert x.grad.shape == (0, 3)
    assert w.grad.numpy().tolist() == [[0, 0, 0], [0, 0, 0]]
