"""Activation checkpointing compared with plain blocks: inputs, results and random draws."""

import gc

import causeway as cw
import numpy as np
import pytest

F = cw.nn.functional


def array(values, device):
    return cw.array(np.asarray(values, dtype="f8"), device=device)


def leaf(values, device="cpu"):
    return array(values, device).requires_grad_()


def live():
    gc.collect()
    return cw._core._live_nodes()


def test_checkpoint_equals_the_plain_block(device):
    cw.manual_seed(3)
    w = leaf(np.linspace(-1, 1, 16).reshape(4, 4), device)

    def block(x):
        return F.dropout(F.gelu(x @ w), 0.4)

    grads = []
    for run in (lambda x: block(block(x)), lambda x: cw.checkpoint(block, cw.checkpoint(block, x))):
        cw.manual_seed(3)
        x = leaf(np.arange(8.0).reshape(2, 4), device)
        w.grad = None
        y = run(x)
        (y * y).sum().backward()
        grads.append((y.numpy(), x.grad.numpy(), w.grad.numpy()))
    for plain, again in zip(*grads):
        assert np.array_equal(plain, again)
    assert np.any(grads[0][0] == 0)  # dropout did drop


def test_checkpoint_with_parameters_only_inside(device):
    w = leaf([2.0], device)
    x = cw.array([3.0]).to("f64", device)
    cw.checkpoint(lambda t: t * w, x).sum().backward()
    assert w.grad.item() == 3


def compare(block, *values, device="cpu", seed=False):
    """Gradients of a block of leaves, as it is and checkpointed."""
    found = []
    for run in (lambda block, *t: block(*t), cw.checkpoint):
        leaves = [leaf(v, device) for v in values]
        cw.manual_seed(4)
        results = run(block, *[x * 1.0 for x in leaves])
        if seed:
            cw.manual_seed(5)
        results = results if isinstance(results, tuple) else (results,)
        sum((i + 1.0) * (r * r).sum() for i, r in enumerate(results)).backward()
        found.append([r.numpy() for r in results] + [x.grad.numpy() for x in leaves])
    for plain, again in zip(*found):
        assert np.allclose(again, plain, rtol=1e-14, atol=0)


def test_checkpoint_may_use_results_from_outside(device):
    def run(keep):
        a, w = leaf([1.0, 2.0, 3.0], device), leaf([0.5, -1.0, 2.0], device)
        outside = (a * w).tanh()
        seen = []
        outside.register_hook(lambda g: seen.append(g.numpy()))

        def block(x):
            def inner(y):
                return y * outside

            return (inner(x) if keep else cw.checkpoint(inner, x)) + outside * 3, outside

        y, same = block(w) if keep else cw.checkpoint(block, w)
        (y * same * y + outside).sum().backward()
        return [y.numpy(), a.grad.numpy(), w.grad.numpy(), *seen]

    before = live()
    plain, again = run(True), run(False)
    assert len(again) == len(plain) == 4  # the hook ran once
    for want, found in zip(plain, again):
        assert np.allclose(found, want, rtol=1e-14, atol=0)
    assert live() == before


def test_checkpoint_may_use_what_it_is_given_directly(device):
    grads = []
    for keeps in (True, False):
        a = leaf([1.0, 2.0, 3.0], device)
        x = a * a
        run = (lambda block, *t: block(*t)) if keeps else cw.checkpoint
        y = run(lambda s, t: s * x + t * a + x, x, x)
        z = run(lambda t: t, x)
        (y + z + x).sum().backward()
        grads.append(a.grad.numpy())
    assert np.array_equal(*grads)


def test_checkpoint_may_switch_the_tape_on_itself(device):
    grads = []
    for run in (lambda block, *t: block(*t), cw.checkpoint):
        a = leaf([1.0, 2.0], device)
        x = a * a

        def block(t):
            with cw.enable_grad():
                return (t * x).tanh() * x

        run(block, a).sum().backward()
        grads.append(a.grad.numpy())
    assert np.allclose(*grads, rtol=1e-14)


def test_results_of_a_checkpoint_that_nobody_uses(device):
    x, w = leaf([0.0, 1.0], device), leaf([1.0, 1.0], device)
    y, _ = cw.checkpoint(lambda a: (a * 2.0, a.sqrt() * w), x)
    y.sum().backward()
    assert x.grad.tolist() == [2, 2] and w.grad is None


def test_hooks_inside_a_checkpoint_see_whole_gradients(device):
    grads = []
    for run in (lambda block, *t: block(*t), cw.checkpoint):
        x, w = leaf([0.3, 0.7], device), leaf([0.2, 0.4], device)
        w.register_hook(lambda g: g.clip(-0.5, 0.5))
        y, z = run(lambda a: (a * w, a + w), x)
        (y * z).sum().backward()
        grads.append(w.grad.numpy())
    assert np.array_equal(*grads)


def test_checkpoint_draws_the_same_again(device):
    compare(lambda x: (F.dropout(x, 0.5), F.dropout(x * x, 0.5)), np.ones(40), device=device,
            seed=True)


def test_a_checkpoint_that_fails_leaves_dropout_as_it_was(device):
    def block(x):
        runs.append(1)
        if len(runs) > 1:
            raise ValueError("enough")
        return F.dropout(x, 0.5)

    runs, x = [], leaf(np.ones(50), device)
    cw.manual_seed(1)
    first, second = F.dropout(x, 0.5), F.dropout(x, 0.5)
    cw.manual_seed(1)
    y = cw.checkpoint(block, x)
    with pytest.raises(ValueError, match="enough"):
        y.sum().backward()
    assert np.array_equal(y.numpy(), first.numpy())
    assert np.array_equal(F.dropout(x, 0.5).numpy(), second.numpy())


def test_parameters_of_a_checkpoint_may_not_change(device):
    x, w = leaf([1.0], device), leaf([2.0], device)
    y = cw.checkpoint(lambda a: (a * w).tanh(), x)
    with cw.no_grad():
        w += 1.0
    with pytest.raises(cw.InvalidArgument, match="checkpoint needs"):
        y.backward()


def test_checkpoint_of_nothing_tracked_is_not_tracked(device):
    x = array([1.0], device)
    assert not cw.checkpoint(lambda a: a * 2.0, x).requires_grad
    w = leaf([2.0], device)
    assert cw.checkpoint(lambda a: a * w, x).requires_grad
