"""Modules: names, state, training and evaluation mode, layers, initialisation, step graphs."""

import causeway as cw
import numpy as np
import pytest
from causeway import nn

F = nn.functional


class Block(nn.Module):
    def __init__(self, device="cpu"):
        super().__init__()
        self.norm = nn.LayerNorm(8, device=device)
        self.mlp = nn.MLP(8, 16, device=device)
        self.scale = nn.Parameter(cw.ones((8,), device=device))
        self.register_buffer("count", cw.zeros((1,), device=device))

    def forward(self, x):
        return x + self.mlp(self.norm(x)) * self.scale


def test_names_are_in_order(device):
    names = [name for name, _ in nn.Sequential(nn.Linear(3, 8, device=device), Block(device)).named_parameters()]
    assert names == ["0.weight", "0.bias", "1.scale", "1.norm.weight", "1.norm.bias",
                     "1.mlp.in.weight", "1.mlp.in.bias", "1.mlp.out.weight", "1.mlp.out.bias"]
    block = Block(device)
    assert [name for name, _ in block.named_buffers()] == ["count"]
    assert block.n_parameters == 8 * 16 * 2 + 16 + 8 + 24
    assert block.count.shape == (1,)
    with pytest.raises(AttributeError, match="no attribute 'missing'"):
        _ = block.missing


@pytest.mark.parametrize("dtype,slack", [("f64", 1e-14), ("f32", 1e-6)])
def test_activation_of_an_mlp_far_out(device, dtype, slack):
    values = np.linspace(-60, 60, 4001)[:, None]
    x = cw.asarray(values).to(dtype).to(device)
    x.requires_grad_()
    one, zero = (make(shape, dtype=dtype, device=device) for make, shape in ((cw.ones, (1, 1)), (cw.zeros, (1,))))
    y = F.mlp(x, one, zero, one, zero)
    y.sum().backward()
    values = x.detach().numpy().astype("f8")
    root, cube = np.sqrt(2 / np.pi), 0.044715
    t = np.tanh(root * (values + cube * values**3))
    slope = 0.5 * (1 + t) + 0.5 * values * (1 - t * t) * root * (1 + 3 * cube * values**2)
    np.testing.assert_allclose(y.detach().numpy(), 0.5 * values * (1 + t), rtol=slack, atol=slack)
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=slack, atol=slack)


def test_mlp_with_one_bias(device):
    x = cw.ones((2, 2), device=device)
    with pytest.raises(ValueError, match="both biases or none"):
        F.mlp(x, x, cw.ones((2,), device=device), x, None)


def test_state_through_a_file(device, tmp_path):
    cw.manual_seed(1)
    a = Block(device)
    b = Block(device)
    x = cw.Generator(2).normal((4, 8), device=device)
    assert not np.array_equal(a(x).numpy(), b(x).numpy())
    nn.save(a, tmp_path / "block.safetensors")
    nn.load(b, tmp_path / "block.safetensors")
    assert np.array_equal(a(x).numpy(), b(x).numpy())
    state = a.state_dict()
    del state["scale"]
    with pytest.raises(cw.Error, match='"scale" is missing'):
        b.load_state_dict(state)
    with pytest.raises(cw.Error, match='no "extra"'):
        b.load_state_dict({**a.state_dict(), "extra": cw.ones((1,))})
    with pytest.raises(cw.ShapeMismatch, match="scale"):
        b.load_state_dict({**a.state_dict(), "scale": cw.ones((3,))})


def test_one_seed_one_start_on_every_device(device):
    cw.manual_seed(5)
    a = nn.Linear(7, 9)
    cw.manual_seed(5)
    b = nn.Linear(7, 9, device=device)
    assert np.array_equal(a.weight.numpy(), b.weight.numpy())
    assert np.abs(a.weight.numpy()).max() <= 1 / np.sqrt(7)


def test_to_moves_and_converts(device):
    block = Block().to(device, "bf16")
    assert {(p.device.split(":")[0], p.dtype) for p in block.parameters()} == {
        (device.split(":")[0], cw.bf16)}
    assert block.count.dtype == cw.f32
    assert block(cw.ones((2, 8), dtype="bf16", device=device)).dtype == cw.bf16


def test_dropout_in_training_and_use(device):
    cw.manual_seed(0)
    layer = nn.Dropout(0.25)
    x = cw.ones((1000, 100), device=device)
    y = layer(x).numpy()
    assert set(np.unique(y)) == {np.float32(0), np.float32(1) / np.float32(0.75)}
    assert abs((y == 0).mean() - 0.25) < 0.01
    assert not np.array_equal(y, layer(x).numpy())
    layer.eval()
    assert np.array_equal(layer(x).numpy(), x.numpy())
    assert np.array_equal(F.dropout(x, 1.0).numpy(), np.zeros((1000, 100)))
    # The gradient has the forward's mask.
    cw.manual_seed(9)
    z = cw.ones((100,), device=device).requires_grad_()
    out = F.dropout(z, 0.5)
    out.sum().backward()
    assert np.array_equal(out.numpy(), z.grad.numpy())


def test_dropout_is_the_same_on_every_device(device):
    x = cw.Generator(1).normal((1000,))
    cw.manual_seed(3)
    a = F.dropout(x, 0.3).numpy()
    cw.manual_seed(3)
    b = F.dropout(x.to(device), 0.3).numpy()
    assert np.array_equal(a, b)


def test_batch_norm_running_statistics(device):
    layer = nn.BatchNorm2d(3, momentum=0.2, device=device)
    values = np.random.default_rng(0).normal(2.0, 3.0, (8, 3, 4, 4)).astype("f4")
    x = cw.array(values, device=device)
    layer(x)
    mean = values.mean(axis=(0, 2, 3))
    var = values.var(axis=(0, 2, 3), ddof=1)
    np.testing.assert_allclose(layer.running_mean.numpy(), 0.2 * mean, rtol=1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), 0.8 + 0.2 * var, rtol=1e-5)
    layer.eval()
    kept = layer.running_mean.numpy().copy()
    got = layer(x).numpy()
    scale = 1 / np.sqrt(layer.running_var.numpy() + 1e-5)
    want = (values - kept[:, None, None]) * scale[:, None, None]
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    assert np.array_equal(layer.running_mean.numpy(), kept)


def test_attention_with_a_context_sees_the_context_only(device):
    cw.manual_seed(0)
    layer = nn.Attention(16, 2, device=device)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 10, 16)).astype("f4")
    context = cw.array([4, 10, 1], device=device)
    y = layer.forward_context(cw.array(x, device=device), context).numpy()
    changed = x.copy()
    changed[0, 4:] += 1  # behind the context: row i's result depends on row i and the context
    z = layer.forward_context(cw.array(changed, device=device), context).numpy()
    np.testing.assert_allclose(y[0, :4], z[0, :4], rtol=1e-5, atol=1e-6)
    assert not np.allclose(y[0, 4:], z[0, 4:], rtol=1e-3)
    np.testing.assert_allclose(y[1:], z[1:], rtol=1e-5, atol=1e-6)


def test_a_python_module_inside_a_compiled_one(device):
    class Twice(nn.Module):
        def forward(self, x):
            return x * 2.0

    net = nn.Sequential(Twice(), nn.ReLU(), Twice())
    assert net(cw.array([-1.0, 3.0], dtype="f32", device=device)).numpy().tolist() == [0.0, 12.0]
    assert len(net) == 3 and isinstance(net[1], nn.ReLU)


def test_module_list(device):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4, device=device) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x)
            return x

    net = Net()
    assert [name for name, _ in net.named_parameters()][:2] == ["layers.0.weight", "layers.0.bias"]
    assert net(cw.ones((2, 4), device=device)).shape == (2, 4)


def test_initialisation():
    x = cw.empty((400, 300))
    nn.init.trunc_normal_(x, std=0.02, cut=2.0)
    assert np.abs(x.numpy()).max() <= 0.04 and x.numpy().std() == pytest.approx(0.02 * 0.88, rel=0.02)
    nn.init.kaiming_normal_(x, gain=np.sqrt(2))
    assert x.numpy().std() == pytest.approx(np.sqrt(2 / 300), rel=0.02)
    nn.init.xavier_uniform_(x)
    assert np.abs(x.numpy()).max() == pytest.approx(np.sqrt(6 / 700), rel=0.01)
    nn.init.zeros_(x)
    assert not x.numpy().any()


def training(device, graph, steps=5, dtype="f32"):
    """Losses and weights of a small net with dropout, clipping and AdamW, step by step."""
    cw.manual_seed(11)
    net = nn.Sequential(nn.Linear(8, 32, device=device), nn.GELU(), nn.Dropout(0.2),
                        nn.LayerNorm(32, device=device), nn.Linear(32, 4, device=device)).to(dtype)
    optimizer = cw.optim.AdamW(net.parameters(), lr=1e-2, max_norm=0.7)
    source = cw.Generator(3)

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    run = cw.StepGraph(step, device=device)
    losses = []
    for i in range(steps):
        x = source.normal((16, 8), device=device).to(dtype)
        y = source.integers((16,), 0, 4, device=device)
        optimizer.lr = 1e-2 / (i + 1)
        if graph:
            losses.append(run(x, y).numpy().copy())
        else:
            cw.begin_step(device)
            losses.append(step(x, y).numpy().copy())
    return losses, [p.to("f32").numpy() for p in net.parameters()], run


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_a_replayed_step_equals_the_eager_one_bit_for_bit(device, dtype):
    eager, weights, _ = training(device, False, dtype=dtype)
    replayed, others, run = training(device, True, dtype=dtype)
    assert [x.tobytes() for x in eager] == [x.tobytes() for x in replayed]
    for a, b in zip(weights, others):
        assert np.array_equal(a, b)
    assert run.n_graphs == (0 if device == "cpu" else 1)


def test_a_replayed_step_allocates_nothing(cuda):
    _, _, run = training(cuda, True)
    x, y = cw.ones((16, 8), device=cuda), cw.zeros((16,), dtype="i64", device=cuda)
    run(x, y)
    before = cw.memory_stats(cuda)["allocations"]
    for _ in range(3):
        run(x, y)
    assert cw.memory_stats(cuda)["allocations"] == before


def test_one_graph_a_shape(cuda):
    run = cw.StepGraph(lambda x: x * 2.0, device=cuda)
    for n in (3, 5, 3, 5, 3, 5):
        x = cw.arange(n, device=cuda).to("f32")
        assert run(x).numpy().tolist() == [2.0 * i for i in range(n)]
    assert run.n_graphs == 2


def test_mistakes_name_shapes_and_fix(device):
    x = cw.ones((2, 3), device=device)
    with pytest.raises(cw.ShapeMismatch, match=r"\(2, 3\).*\(4, 5\)"):
        F.linear(x, cw.ones((4, 5), device=device))
    with pytest.raises(cw.InvalidArgument, match="one floating type"):
        F.linear(x, cw.ones((4, 3), dtype="f64", device=device))
    with pytest.raises(cw.ShapeMismatch, match="weight"):
        F.layer_norm(x, cw.ones((4,), device=device))
    with pytest.raises(cw.ShapeMismatch, match="classes"):
        F.cross_entropy(x, cw.ones((3,), dtype="i64", device=device))
    with pytest.raises(cw.ShapeMismatch, match=r"\(2, 0\): there are no classes"):
        F.cross_entropy(cw.ones((2, 0), device=device), cw.array([0, 0], device=device))
    with pytest.raises(cw.Error, match="7"):
        F.cross_entropy(x, cw.array([0, 7], device=device)).item()
    with pytest.raises(cw.ShapeMismatch, match="does not fit"):
        F.conv2d(cw.ones((1, 1, 2, 2), device=device), cw.ones((1, 1, 3, 3), device=device))
    with pytest.raises(cw.InvalidArgument, match=r"window \(0, 3\) must be at least 1"):
        F.conv2d(cw.ones((1, 1, 2, 2), device=device), cw.ones((1, 1, 0, 3), device=device))
    with pytest.raises(cw.InvalidArgument, match="half the window"):
        F.max_pool2d(cw.ones((1, 1, 4, 4), device=device), 2, padding=2)
    with pytest.raises(cw.InvalidArgument, match="heads"):
        nn.Attention(10, 3, device=device)
    with pytest.raises(cw.ShapeMismatch, match="heads"):
        q = cw.ones((1, 2, 3, 4), device=device)
        F.scaled_dot_product_attention(q, cw.ones((1, 3, 3, 4), device=device), q)
    with pytest.raises(cw.InvalidArgument, match=r'"mean", "sum" or "none"'):
        F.mse_loss(x, x, reduction="median")
