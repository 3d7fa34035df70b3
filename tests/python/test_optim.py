"""Optimizers against their formulas in NumPy, clipping, loss scaling, master weights, schedules."""

import math

import causeway as cw
import numpy as np
import pytest

STEPS = 6
rng = np.random.default_rng(4)
START = [rng.normal(size=shape) for shape in ((3, 4), (5,), (1,), (130, 33))]
GRADIENTS = [[rng.normal(size=p.shape) for p in START] for _ in range(STEPS)]


def sgd(p, g, s, t, lr, momentum=0.0, nesterov=False, weight_decay=0.0):
    g = g + weight_decay * p
    s["v"] = momentum * s.get("v", 0) + g
    return p - lr * (g + momentum * s["v"] if nesterov else s["v"])


def adam(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, decoupled=False):
    if decoupled:
        p = p * (1 - lr * weight_decay)
    else:
        g = g + weight_decay * p
    s["m"] = betas[0] * s.get("m", 0) + (1 - betas[0]) * g
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    m, v = s["m"] / (1 - betas[0] ** t), s["v"] / (1 - betas[1] ** t)
    return p - lr * m / (np.sqrt(v) + eps)


def rmsprop(p, g, s, t, lr, beta2=0.99, eps=1e-8, momentum=0.0):
    s["v"] = beta2 * s.get("v", 0) + (1 - beta2) * g * g
    s["b"] = momentum * s.get("b", 0) + g / (np.sqrt(s["v"]) + eps)
    return p - lr * s["b"]


def adagrad(p, g, s, t, lr, eps=1e-10):
    s["v"] = s.get("v", 0) + g * g
    return p - lr * g / (np.sqrt(s["v"]) + eps)


def schedule_free(p, g, s, t, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
    z, y = s.setdefault("z", p.copy()), p
    s["v"] = betas[1] * s.get("v", 0) + (1 - betas[1]) * g * g
    slope = g / (np.sqrt(s["v"] / (1 - betas[1] ** t)) + eps) + weight_decay * y
    c = 1 / t  # a constant rate weighs all steps alike
    y = (1 - c) * y + c * z + lr * (betas[0] * (1 - c) - 1) * slope
    s["z"] = z - lr * slope
    return y


def muon(p, g, s, t, lr, momentum=0.95, weight_decay=0.1):
    s["b"] = momentum * s.get("b", 0) + (1 - momentum) * g
    x = (1 - momentum) * g + momentum * s["b"]
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    x = x / max(np.linalg.norm(x), 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    x = x.T if tall else x
    return p * (1 - lr * weight_decay) - lr * math.sqrt(max(1, p.shape[0] / p.shape[1])) * x


CASES = [
    (cw.optim.SGD, sgd, {}),
    (cw.optim.SGD, sgd, {"momentum": 0.9, "weight_decay": 0.1}),
    (cw.optim.SGD, sgd, {"momentum": 0.8, "nesterov": True}),
    (cw.optim.Adam, adam, {"weight_decay": 0.1}),
    (cw.optim.AdamW, lambda *a, **k: adam(*a, decoupled=True, **k),
     {"betas": (0.8, 0.95), "weight_decay": 0.1}),
    (cw.optim.RMSprop, rmsprop, {"momentum": 0.5}),
    (cw.optim.Adagrad, adagrad, {}),
    (cw.optim.ScheduleFreeAdamW, schedule_free, {"weight_decay": 0.05}),
]


def run(optimizer_class, options, device, dtype="f64", lr=0.01, start=START, gradients=GRADIENTS):
    parameters = [cw.array(p, dtype=dtype, device=device).requires_grad_() for p in start]
    optimizer = optimizer_class(parameters, lr=lr, **options)
    for step in gradients:
        for p, g in zip(parameters, step):
            p.grad = cw.array(g, dtype=dtype, device=device)
        optimizer.step()
        optimizer.zero_grad()
        assert all(p.grad is None for p in parameters)
    return parameters, optimizer


def expected(formula, options, lr=0.01, start=START, gradients=GRADIENTS):
    values, states = [p.copy() for p in start], [{} for _ in start]
    for t, step in enumerate(gradients, 1):
        values = [formula(p, g, s, t, lr, **options) for p, g, s in zip(values, step, states)]
    return values


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c[0].__name__} {c[2]}")
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_formula(case, dtype, device):
    optimizer_class, formula, options = case
    parameters, optimizer = run(optimizer_class, options, device, dtype)
    # The learning rate is an f32 on the device.
    lr = float(np.float32(0.01))
    for got, want in zip(parameters, expected(formula, options, lr)):
        tolerance = 1e-6 if dtype == "f64" else 2e-5
        np.testing.assert_allclose(got.to("f64").numpy(), want, rtol=tolerance, atol=tolerance)
    assert optimizer.steps == STEPS


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (40, 40)])
def test_muon(shape, device):
    start = [rng.normal(size=shape)]
    gradients = [[rng.normal(size=shape)] for _ in range(3)]
    options = {"momentum": 0.95, "weight_decay": 0.1}
    (got,), _ = run(cw.optim.Muon, options, device, "f32", 0.02, start, gradients)
    (want,) = expected(muon, options, 0.02, start, gradients)
    # On a GPU the iterations run in bf16, which moves each of the three steps of 0.02 by a few percent.
    tolerance = 2e-5 if device == "cpu" else 6e-3
    np.testing.assert_allclose(got.to("f64").numpy(), want, rtol=tolerance, atol=tolerance)


def test_muon_makes_the_step_orthogonal(device):
    p = cw.zeros((32, 64), device=device).requires_grad_()
    p.grad = cw.array(rng.normal(size=(32, 64)), dtype="f32", device=device)
    cw.optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    values = np.linalg.svd(p.to("f64").numpy(), compute_uv=False)
    assert 0.6 < values.min() and values.max() < 1.3


def test_muon_on_a_batch_of_matrices_equals_single_ones(device):
    starts = [rng.normal(size=shape) for shape in ((12, 8), (12, 8), (8, 12), (12, 8))]
    gradients = [rng.normal(size=start.shape) for start in starts]

    def made(values):
        return cw.array(values, dtype="f32", device=device)

    def stepped(together):
        matrices = [made(start).requires_grad_() for start in starts]
        groups = [matrices] if together else [[matrix] for matrix in matrices]
        optimizers = [cw.optim.Muon(group, lr=0.1) for group in groups]
        for step in range(3):
            for i, matrix in enumerate(matrices):
                if (i, step) != (1, 1):  # one of a shape may have no gradient
                    matrix.grad = made(gradients[i])
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
        return [matrix.to("f64").numpy() for matrix in matrices]

    tolerance = 1e-6 if device == "cpu" else 2e-2  # bf16 products of one and of several may differ
    for got, want in zip(stepped(True), stepped(False)):
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


def test_muon_refuses_vectors(device):
    with pytest.raises(cw.ShapeMismatch, match="muon requires 2-D parameters"):
        cw.optim.Muon([cw.ones((3,), device=device).requires_grad_()], lr=0.1)


def test_16_bit_parameters_have_master_weights(device):
    """A thousand steps too small for bf16 add up in the master copy."""
    p = cw.ones((64,), dtype="bf16", device=device).requires_grad_()
    optimizer = cw.optim.SGD([p], lr=1.0)
    for _ in range(1000):
        p.grad = cw.full((64,), 1e-4, dtype="bf16", device=device)
        optimizer.step()
    small = float(cw.full((1,), 1e-4, dtype="bf16").to("f64").item())
    master = optimizer.state_dict()["0.0.master"].to("f64").numpy()
    np.testing.assert_allclose(master, 1 - 1000 * small, rtol=1e-4)
    np.testing.assert_allclose(p.to("f64").numpy(), master, rtol=4e-3)


def test_clipping(device):
    p = [cw.zeros((300,), device=device).requires_grad_(), cw.zeros((7, 5), device=device).requires_grad_()]
    optimizer = cw.optim.SGD(p, lr=1.0, max_norm=0.5)
    g = [rng.normal(size=(300,)), rng.normal(size=(7, 5))]
    norm = math.sqrt(sum((x * x).sum() for x in g))
    for x, values in zip(p, g):
        x.grad = cw.array(values, dtype="f32", device=device)
    optimizer.step()
    assert optimizer.norm.item() == pytest.approx(norm, rel=1e-5)
    for x, values in zip(p, g):
        np.testing.assert_allclose(-x.numpy(), values * 0.5 / norm, rtol=1e-5, atol=1e-7)
    optimizer.max_norm = 1e9
    for x, values in zip(p, g):
        x.grad = cw.array(values, dtype="f32", device=device)
    before = p[0].numpy().copy()
    optimizer.step()
    np.testing.assert_allclose(before - p[0].numpy(), g[0], rtol=1e-4, atol=1e-5)


def test_clipping_over_two_dtypes(device):
    a = cw.zeros((4,), device=device).requires_grad_()
    b = cw.zeros((4,), dtype="f64", device=device).requires_grad_()
    optimizer = cw.optim.SGD([a, b], lr=1.0, max_norm=1.0)
    a.grad = cw.full((4,), 3.0, device=device)
    b.grad = cw.full((4,), 4.0, dtype="f64", device=device)
    optimizer.step()
    assert optimizer.norm.item() == pytest.approx(10.0)
    np.testing.assert_allclose(a.numpy(), -0.3, rtol=1e-5)
    np.testing.assert_allclose(b.numpy(), -0.4, rtol=1e-5)


def test_loss_scale_skips_overflow_and_grows(device):
    p = cw.zeros((3,), device=device).requires_grad_()
    optimizer = cw.optim.SGD([p], lr=1.0, loss_scale=8.0, growth_interval=2)
    p.grad = cw.array([8.0, 16.0, float("inf")], dtype="f32", device=device)
    optimizer.step()
    assert p.numpy().tolist() == [0, 0, 0]
    assert optimizer.loss_scale.item() == 4 and optimizer.steps == 0
    for _ in range(2):
        p.grad = cw.array([4.0, 8.0, 12.0], dtype="f32", device=device)
        optimizer.step()
    assert p.numpy().tolist() == [-2, -4, -6]
    assert optimizer.loss_scale.item() == 8 and optimizer.steps == 2


def test_many_tensors_at_once(device):
    """More than one launch holds."""
    parameters = [cw.full((i % 7 + 1,), float(i), device=device).requires_grad_() for i in range(1100)]
    optimizer = cw.optim.SGD(parameters, lr=1.0, max_norm=1e9)
    for p in parameters:
        p.grad = cw.ones((p.size,), device=device)
    optimizer.step()
    count = sum(p.size for p in parameters)
    assert optimizer.norm.item() == pytest.approx(math.sqrt(count), rel=1e-6)
    for i, p in enumerate(parameters):
        assert p.numpy().tolist() == [i - 1.0] * p.size


def test_state_resumes_bit_for_bit(device, tmp_path):
    options = {"weight_decay": 0.1}
    whole, _ = run(cw.optim.AdamW, options, device, "f32")
    first, optimizer = run(cw.optim.AdamW, options, device, "f32", gradients=GRADIENTS[:3])
    cw.save_safetensors(tmp_path / "state.safetensors", optimizer.state_dict())
    again = [p.detach().clone().requires_grad_() for p in first]
    other = cw.optim.AdamW(again, lr=0.5, **options)
    other.load_state_dict(cw.load_safetensors(tmp_path / "state.safetensors"))
    assert other.lr == pytest.approx(0.01)
    for step in GRADIENTS[3:]:
        for p, g in zip(again, step):
            p.grad = cw.array(g, dtype="f32", device=device)
        other.step()
    for a, b in zip(whole, again):
        assert np.array_equal(a.numpy(), b.numpy())
    with pytest.raises(cw.Error, match="missing"):
        other.load_state_dict({})


def test_schedule_free_averages(device):
    (p, *_), optimizer = run(cw.optim.ScheduleFreeAdamW, {}, device)
    y, z = p.numpy().copy(), optimizer.state_dict()["0.0.z"].numpy().copy()
    optimizer.eval()
    np.testing.assert_allclose(p.numpy(), y + (z - y) * (1 - 1 / 0.9), rtol=1e-6)
    p.grad = cw.ones_like(p)
    with pytest.raises(cw.InvalidArgument, match="train"):
        optimizer.step()
    optimizer.train()
    np.testing.assert_allclose(p.numpy(), y, rtol=1e-6, atol=1e-9)


def test_schedules():
    constant = cw.optim.Schedule(2.0, warmup=4)
    assert [constant(i) for i in range(6)] == [0.5, 1.0, 1.5, 2.0, 2.0, 2.0]
    linear = cw.optim.Schedule(1.0, total=10, warmup=2, decay="linear", floor=0.2)
    assert linear(2) == 1.0 and linear(6) == pytest.approx(0.6) and linear(50) == pytest.approx(0.2)
    cosine = cw.optim.Schedule(1.0, total=8, decay="cosine")
    assert cosine(0) == 1.0 and cosine(4) == pytest.approx(0.5) and cosine(8) == pytest.approx(0.0)
    with pytest.raises(cw.InvalidArgument, match="decay"):
        cw.optim.Schedule(1.0, decay="square")
    for total in (0, 5):
        with pytest.raises(cw.InvalidArgument, match="cosine decay must end after the warm-up"):
            cw.optim.Schedule(1.0, total=total, warmup=5, decay="cosine")


def test_averages(device):
    w = cw.zeros((3,), device=device)
    ema, last = cw.optim.EMA([w], 0.5), cw.optim.LastAverage([w], 2)
    with pytest.raises(cw.InvalidArgument, match="update"):
        _ = last.values
    for value in (1.0, 2.0, 3.0):
        w[...] = value
        ema.update()
        last.update()
    np.testing.assert_allclose(ema.values[0].numpy(), 0.125 + 0.5 + 1.5)
    np.testing.assert_allclose(last.values[0].numpy(), 2.5)
    last.copy_to_weights()
    np.testing.assert_allclose(w.numpy(), 2.5)


def test_averages_resume(device, tmp_path):
    w = cw.zeros((3,), device=device)

    def make():
        return cw.optim.EMA([w], 0.5), cw.optim.LastAverage([w], 2)

    first, second = make(), None
    for i, value in enumerate((1.0, 2.0, 3.0, 5.0)):
        if i == 2:
            second = make()
            for old, new in zip(first, second):
                cw.save_safetensors(tmp_path / "state.safetensors", old.state_dict())
                new.load_state_dict(cw.load_safetensors(tmp_path / "state.safetensors"))
        w[...] = value
        for average in first + (second or ()):
            average.update()
    for old, new in zip(first, second):
        assert np.array_equal(old.values[0].numpy(), new.values[0].numpy())
    with pytest.raises(cw.Error, match="other weights"):
        first[0].load_state_dict({})


def test_mistakes(device):
    with pytest.raises(ValueError, match="empty"):
        cw.optim.SGD([], lr=0.1)
    with pytest.raises(cw.InvalidArgument, match="leaf"):
        cw.optim.SGD([cw.ones((2,), device=device)], lr=0.1)
    with pytest.raises(TypeError, match="speed"):
        cw.optim.SGD([cw.ones((2,), device=device).requires_grad_()], lr=0.1, speed=3)
