"""Edge cases of training: frozen and tied parameters, hooks, 16-bit gradients, optimizers whose settings
change."""

import causeway as cw
import numpy as np
import pytest
from causeway import nn

F = nn.functional


def array(values, device, dtype="f32"):
    return cw.array(np.array(values, dtype="f8"), dtype=dtype, device=device)


def leaf(values, device, dtype="f32"):
    return array(values, device, dtype).requires_grad_()


def test_hooks_must_return_a_matching_gradient(device):
    for other in (lambda g: cw.ones((300,), device=device), lambda g: g.to("f64")):
        w = leaf([0, 0, 0, 0], device)
        w.register_hook(other)
        with pytest.raises(cw.Error, match="gradient .* does not match the tensor"):
            (w * 1.0).sum().backward()
    w = leaf([1, 2], device)
    w.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="returned a int; expected a tensor"):
        (w * 1.0).sum().backward()


def test_a_hook_of_the_loss_may_change_its_gradient_in_place(device):
    def double(gradient):
        gradient *= 2

    x = leaf([[1, 2, 3]], device)
    loss = F.cross_entropy(x, cw.array([0], device=device))
    loss.register_hook(double)
    loss.backward()
    y = leaf([[1, 2, 3]], device)
    (F.cross_entropy(y, cw.array([0], device=device)) * 2).backward()
    assert np.allclose(x.grad.numpy(), y.grad.numpy())


def test_an_assigned_gradient_must_match(device):
    w = leaf([1, 2, 3], device)
    with pytest.raises(cw.InvalidArgument, match="f64"):
        w.grad = array([1, 2, 3], device, "f64")
    w.grad = cw.ones((1,), device=device).expand(3)
    (w * array([1, 2, 3], device)).sum().backward()
    assert w.grad.tolist() == [2, 3, 4]


def test_frozen_parameters_do_not_change(device):
    layer = nn.Linear(2, 2, device=device)
    for parameter in layer.parameters():
        parameter.requires_grad_(False)
    assert not layer.weight.requires_grad and not layer(cw.ones((1, 2), device=device)).requires_grad
    layer.bias.requires_grad = True
    before = layer.weight.numpy().copy()
    optimizer = cw.optim.SGD(layer.parameters(), lr=1.0)
    layer(cw.ones((1, 2), device=device)).sum().backward()
    assert layer.weight.grad is None and layer.bias.grad.tolist() == [1, 1]
    optimizer.step()
    optimizer.zero_grad()
    assert np.array_equal(layer.weight.numpy(), before)


def test_in_place_writes_of_tracked_values_are_errors(device):
    w, total = leaf([1], device), cw.zeros((1,), device=device)
    with pytest.raises(cw.InvalidArgument, match="which would be lost"):
        total += w * 2
    with pytest.raises(cw.InvalidArgument, match="which would be lost"):
        total[:] = w * 2
    with pytest.raises(cw.InvalidArgument, match="which would be lost"):
        total.copy_from(w)
    total += (w * 2).detach()
    with cw.no_grad():
        total += w
    assert total.tolist() == [3]


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_means_of_many_16_bit_values(device, dtype):
    x = cw.ones((70000,), dtype=dtype, device=device).requires_grad_()
    (x.mean() * 1024.0).backward()
    assert np.allclose(x.grad.to("f32").numpy(), 1024 / 70000, rtol=4e-3)
    y = leaf(np.tile([0.0, 2.0], 40000), device, dtype)
    (y.var() * 1024.0).backward()
    assert np.allclose(np.abs(y.grad.to("f32").numpy()), 2 * 1024 / 80000, rtol=4e-3)


def test_a_scaled_loss_keeps_small_gradients_in_f16(device):
    rng = np.random.default_rng(1)
    values, targets = rng.normal(size=(512, 200)), rng.integers(0, 200, 512)
    gradients = []
    for dtype in ("f16", "f64"):
        x = leaf(values.astype("f2"), device, dtype)
        (F.cross_entropy(x, cw.array(targets, device=device)) * 4096.0).backward()
        gradients.append(x.grad.to("f64").numpy())
    error = np.abs(gradients[0] - gradients[1]) / np.abs(gradients[1])
    assert np.median(error) < 1e-3 and (gradients[0] == 0).mean() < 0.01


def test_losses_refuse_what_they_cannot_use(device):
    x, y = leaf([[1, 2, 3]], device), leaf([[0.2, 0.3, 0.5]], device)
    with pytest.raises(cw.InvalidArgument, match="detach"):
        F.cross_entropy(x, y)
    with pytest.raises(cw.InvalidArgument, match=r"label_smoothing must be in \[0, 1\], got 2"):
        F.cross_entropy(x, cw.array([0], device=device), label_smoothing=2.0)
    with pytest.raises(cw.InvalidArgument, match="delta must be positive, got -1"):
        F.huber_loss(x, y, -1.0)
    with pytest.raises(cw.InvalidArgument, match=r"quantile must be in \[0, 1\], got 2"):
        F.pinball_loss(x, y, 2.0)


def test_std_of_equal_elements_has_no_gradient(device):
    x = leaf([[1, 1, 1], [1, 2, 3]], device)
    cw.std(x, axis=1, correction=1).sum().backward()
    assert np.allclose(x.grad.numpy(), [[0, 0, 0], [-0.5, 0, 0.5]])


def test_clipping_can_be_disabled(device):
    w = leaf([0], device)
    optimizer = cw.optim.SGD([w], lr=1.0, max_norm=1.0)
    for gradient in (10.0, np.nan):
        w.grad = array([gradient], device)
        optimizer.step()
    clipped = optimizer.state_dict()
    optimizer.max_norm = 0
    w.grad = array([10], device)
    optimizer.step()
    assert np.allclose(w.numpy(), -11)
    other = cw.optim.SGD([w], lr=1.0)
    other.load_state_dict(clipped)
    w.grad = array([10], device)
    other.step()
    assert np.allclose(w.numpy(), -21)


def test_a_step_without_gradients_does_nothing(device):
    w = leaf([0], device)
    optimizer = cw.optim.Adam([w], lr=1.0, loss_scale=4.0, growth_interval=1)
    optimizer.step()
    assert optimizer.steps == 0 and optimizer.loss_scale.item() == 4


def test_the_loss_scale_stays_finite(device):
    w = leaf([0], device)
    optimizer = cw.optim.SGD([w], lr=1.0, loss_scale=2.0**126, growth_interval=1)
    for _ in range(4):
        w.grad = array([0], device)
        optimizer.step()
    assert optimizer.loss_scale.item() == 2.0**127


@pytest.mark.parametrize("options, words", [
    ({"lr": -1.0}, "learning rate is -1"), ({"lr": np.nan}, "learning rate is nan"),
    ({"betas": (1.5, 0.9)}, "beta1 is 1.5"), ({"betas": (0.9, -1.0)}, "beta2 is -1"),
    ({"eps": -1.0}, "epsilon is -1"), ({"weight_decay": np.inf}, "weight_decay is inf"),
    ({"loss_scale": 0.0}, "loss scale is 0"), ({"max_norm": np.nan}, "max_norm is nan"),
])
def test_optimizers_refuse_bad_options(device, options, words):
    with pytest.raises(cw.InvalidArgument, match=words):
        cw.optim.AdamW([leaf([1], device)], **{"lr": 0.1, **options})


def test_a_parameter_is_stepped_once(device):
    w = leaf([1], device)
    with pytest.raises(cw.InvalidArgument, match="added twice"):
        cw.optim.SGD([w, w], lr=0.1)
    with pytest.raises(cw.InvalidArgument, match="nesterov"):
        cw.optim.SGD([w], lr=0.1, nesterov=True)
    with pytest.raises(ValueError, match="lr_factor"):
        cw.optim.SGD([{"params": [w], "lr": 0.5}], lr=0.0)
    state = cw.optim.SGD([w, leaf([1], device)], lr=0.1).state_dict()
    with pytest.raises(cw.Error, match="other groups or parameters"):
        cw.optim.SGD([w], lr=0.1).load_state_dict(state)
    optimizer = cw.optim.SGD([w], lr=0.1)
    optimizer.load_state_dict(optimizer.state_dict())
    assert optimizer.lr == 0.1


class Parts(nn.Module):
    def forward(self, x):
        return x


def test_shared_submodules(device):
    net = Parts()
    net.a = nn.Linear(1, 1, bias=False, device=device)
    net.b = net.a
    net.v = nn.Parameter(cw.ones((2,), device=device))
    net.w = net.v
    assert [name for name, _ in net.named_parameters()] == ["v", "a.weight"]
    assert set(net.state_dict()) == {"v", "w", "a.weight", "b.weight"}
    net.to("f16")
    with cw.no_grad():
        net.v.copy_from(cw.zeros((2,), device=device))
    assert net.w.tolist() == [0, 0] and net.n_parameters == 3
    with pytest.raises(cw.InvalidArgument, match="cannot contain itself"):
        net.c = net
    optimizer = cw.optim.SGD(net.parameters(), lr=1.0)
    net.to("f16", str(device))
    net.v.grad = cw.ones((2,), dtype="f16", device=device)
    optimizer.step()
    assert net.w.tolist() == [-1, -1]


def test_attributes_and_registry_agree(device):
    net = Parts()
    net.w = None
    net.w = nn.Parameter(cw.ones((2,), device=device))
    assert net.w.tolist() == [1, 1] and list(net.state_dict()) == ["w"]
    with pytest.raises(TypeError, match="'w' is a parameter"):
        net.w = cw.zeros((2,), device=device)
    net.w = None
    assert net.w is None and not net.state_dict()
    net.register_buffer("b", cw.zeros((1,), device=device))
    net.b = cw.ones((1,), device=device)
    assert net.state_dict()["b"].tolist() == [1]
    net.head = nn.Linear(1, 1, device=device)
    net.head = None
    assert list(net.state_dict()) == ["b"] and net.named_children() == []
    net.w = nn.Parameter(cw.ones((2,), device=device))
    net.w = nn.Linear(1, 1, device=device)
    assert set(net.state_dict()) == {"b", "w.weight", "w.bias"}
    del net.w, net.b
    assert not net.state_dict() and not hasattr(net, "w") and not hasattr(net, "b")


def test_statistics_follow_the_type(device):
    norm = nn.BatchNorm2d(2, device=device).to("f64")
    norm(cw.ones((3, 2, 2, 2), dtype="f64", device=device))
    norm.to("f16")
    assert norm(cw.ones((3, 2, 2, 2), dtype="f16", device=device)).dtype == cw.f16
    with pytest.raises(cw.InvalidArgument, match="groups 0"):
        nn.Conv2d(3, 4, 3, groups=0)


def test_master_weights_follow_writes(device):
    p = cw.zeros((2,), "bf16", device).requires_grad_()
    optimizer = cw.optim.ScheduleFreeAdamW([p], lr=0.1)
    p.grad = cw.ones((2,), "bf16", device)
    optimizer.step()
    with cw.no_grad():
        p.copy_from(cw.full((2,), 5.0, "bf16", device))
    optimizer.eval()
    assert p.to("f32").tolist() == pytest.approx([5.57] * 2, abs=0.05)
    p = cw.zeros((2,), "bf16", device).requires_grad_()
    optimizer = cw.optim.SGD([p], lr=0.1)
    p.grad = cw.ones((2,), "bf16", device)
    optimizer.step()
    with cw.no_grad():
        p.copy_from(cw.full((2,), 5.0, "bf16", device))
    state = {name: values.clone() for name, values in optimizer.state_dict().items()}
    q = p.detach().clone().requires_grad_()
    other = cw.optim.SGD([q], lr=0.1)
    other.load_state_dict(state)
    q.grad = cw.zeros((2,), "bf16", device)
    other.step()
    assert q.tolist() == [5, 5]


def test_guards_decorate(device):
    x = leaf([1], device)

    @cw.no_grad
    def plain():
        return (x * 2).requires_grad

    @cw.no_grad()
    def values():
        yield (x * 2).requires_grad
        yield (x * 2).requires_grad

    assert not plain()
    for tracked in values():
        assert not tracked and (x * 2).requires_grad

    @cw.no_grad
    def answers():
        heard = yield "first"
        try:
            yield heard
        except KeyError as problem:
            yield str(problem)
        return (x * 2).requires_grad

    talk = answers()
    assert next(talk) == "first" and talk.send("second") == "second"
    assert talk.throw(KeyError("third")) == "'third'"
    with pytest.raises(StopIteration) as end:
        next(talk)
    assert end.value.value is False

    @cw.detect_anomaly(7)
    def broken():
        return cw.log(x * 0 - 1)

    with pytest.raises(cw.Error, match="step 7"):
        broken()


def test_custom_functions_may_save_nothing(device):
    class Same(cw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, None)
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            assert ctx.saved_tensors[1] is None
            return cw.ones((7,), device=device)

    with pytest.raises(cw.ShapeMismatch, match=r"gradient of shape \(7,\) for input 0 of shape \(1,\)"):
        Same.apply(leaf([1], device)).sum().backward()


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
@pytest.mark.parametrize("kind", ["SGD", "AdamW", "Muon"])
def test_master_weights_follow_assignments(device, dtype, kind):
    layer = nn.Linear(3, 2, bias=False, dtype=dtype, device=device)
    optimizer = getattr(cw.optim, kind)(layer.parameters(), lr=0.0, weight_decay=0.0)

    def step():
        layer.weight.grad = cw.ones((2, 3), dtype=dtype, device=device)
        optimizer.step()

    step()
    layer.load_state_dict({"weight": cw.full((2, 3), 7.0, device=device)})
    step()
    assert layer.weight.tolist() == [[7, 7, 7]] * 2
    # What rounds to the weights is kept: putting them back changes nothing.
    optimizer.lr = 2.0**-12
    step()
    before = {name: x.clone() for name, x in optimizer.state_dict().items() if "master" in name}
    weights = layer.weight.detach().clone()
    with cw.no_grad():
        layer.weight.copy_from(cw.zeros((2, 3), device=device))
        layer.weight.copy_from(weights)
    optimizer.lr = 0.0
    step()
    after = optimizer.state_dict()
    assert before and all(np.array_equal(after[name].numpy(), x.numpy()) for name, x in before.items())
