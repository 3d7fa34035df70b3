"""Parameter groups: options, steps, groups added later, empty groups."""

import causeway as cw
import numpy as np
import pytest


@pytest.mark.parametrize("dtype", ["f64", "f32", "bf16"])
@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_bias_correction_counts_steps_with_a_gradient(name, dtype, device):
    make = getattr(cw.optim, name)
    rng = np.random.default_rng(1)
    gradients = rng.normal(size=(9, 5))

    def parameter():
        return cw.array(np.linspace(-1, 1, 5), dtype=dtype, device=device).requires_grad_()

    def step(optimizer, *given):
        for p, g in given:
            p.grad = None if g is None else cw.array(g, dtype=dtype, device=device)
        optimizer.step()

    alone = [parameter() for _ in range(3)]
    late, paused, added = (make([p], lr=0.01, eps=1e-3) for p in alone)
    first, second, third, fourth = (parameter() for _ in range(4))
    together = make([first, second, third], lr=0.01, eps=1e-3, loss_scale=2.0)
    for t, g in enumerate(gradients):
        if t == 2:  # a step that is skipped is nobody's
            step(together, (first, g + np.inf), (second, None), (third, g))
        if t == 6:
            together.add_group([fourth])
        step(together, (first, g * 2), (second, g * 2 if t >= 4 else None),
             (third, g * 2 if t % 3 == 0 else None), (fourth, g * 2 if t >= 6 else None))
        if t >= 4:
            step(late, (alone[0], g))
        if t % 3 == 0:
            step(paused, (alone[1], g))
        if t >= 6:
            step(added, (alone[2], g))
        if t == 5:  # what was counted is part of the state
            state = {key: values.clone() for key, values in together.state_dict().items()}
            together = make([first, second, third], lr=0.5, eps=1e-3, loss_scale=2.0)
            together.load_state_dict(state)
    assert together.steps == len(gradients)
    for got, want in zip([second, third, fourth], alone):
        assert got.to("f64").numpy().tolist() == want.to("f64").numpy().tolist()


def test_groups_may_be_empty(device):
    p = cw.ones((2,), device=device).requires_grad_()
    optimizer = cw.optim.SGD([{"params": []}, {"params": [p]}, {"params": []}], lr=0.5)
    p.grad = cw.ones((2,), device=device)
    optimizer.step()
    assert p.tolist() == [0.5, 0.5] and optimizer.steps == 1
    nothing = cw.optim.AdamW([{"params": []}], lr=0.5)
    nothing.lr = 0.25
    nothing.step()
    assert nothing.lr == 0.25 and nothing.steps == 0 and nothing.state_dict() == {}


def test_a_group_added_later(device):
    a, b = (cw.ones((2,), device=device).requires_grad_() for _ in range(2))
    optimizer = cw.optim.SGD([a], lr=0.5, momentum=0.9)
    optimizer.add_group([b])
    optimizer.add_group([c := cw.ones((2,), device=device).requires_grad_()], momentum=0.0)
    for _ in range(2):
        for p in (a, b, c):
            p.grad = cw.ones((2,), device=device)
        optimizer.step()
    assert a.tolist() == b.tolist() == pytest.approx([1 - 0.5 - 0.95] * 2)
    assert c.tolist() == [0.0, 0.0]


def test_groups_have_their_own_rate_and_decay(device):
    a, b = (cw.ones((2,), device=device).requires_grad_() for _ in range(2))
    optimizer = cw.optim.Optimizer(
        [{"params": [a], "algorithm": "sgd", "lr": 0.05},
         {"params": [b], "algorithm": "adamw", "weight_decay": 0.5}], lr=0.1)
    a.grad = cw.ones((2,), device=device)
    b.grad = cw.zeros((2,), device=device)
    optimizer.step()
    np.testing.assert_allclose(a.numpy(), 0.95, rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), 0.95, rtol=1e-6)
    optimizer.lr = 0.2
    a.grad = cw.ones((2,), device=device)
    b.grad = None
    optimizer.step()
    np.testing.assert_allclose(a.numpy(), 0.85, rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), 0.95, rtol=1e-6)
