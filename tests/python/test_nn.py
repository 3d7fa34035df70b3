"""Modules: names, state, training and use, layers, first values, step graphs."""

import copy

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


def test_first_values():
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
    with pytest.raises(cw.ShapeMismatch, match="heads, length, size"):
        F.scaled_dot_product_attention(x, x, x)
    with pytest.raises(cw.InvalidArgument, match=r'"mean", "sum" or "none"'):
        F.mse_loss(x, x, reduction="median")


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [(nn.Linear, (4, 4)), (nn.LayerNorm, (4,)), (nn.RMSNorm, (4,)), (nn.Dropout, (0.0,)),
     (nn.MLP, (4, 8)), (nn.Sequential, (nn.Tanh(),)), (nn.Tanh, ())],
)  # fmt: skip
def test_layers_may_be_derived_from(kind, arguments):
    class Hundredfold(kind):
        def forward(self, x):
            return super().forward(x) * 100.0

    layer, x = Hundredfold(*arguments), cw.array([[1.0, 2.0, 3.0, 4.0]])
    want = (kind.forward(layer, x) * 100.0).tolist()
    for model in (layer, nn.Sequential(layer), copy.deepcopy(layer)):
        assert model(x).tolist() == want


def test_what_is_added_to_derived_layers_is_trained(device):
    class Adapted(nn.Linear):
        def __init__(self):
            super().__init__(4, 4, device=device)
            self.down = nn.Parameter(cw.ones((4, 1), device=device))
            self.up = nn.Linear(1, 4, device=device)
            self.rank = 1

        def forward(self, x):
            return super().forward(x) + self.up(x @ self.down)

    layer = Adapted()
    names = [name for name, _ in layer.named_parameters()]
    assert names == ["weight", "bias", "down", "up.weight", "up.bias"] and layer.rank == 1
    layer(cw.ones((2, 4), device=device)).sum().backward()
    assert all(p.grad is not None for p in layer.parameters())
    layer.to("f64")
    assert layer.down.dtype == cw.f64 == layer.weight.dtype
    layer.down = None
    assert layer.down is None and "down" not in layer.state_dict()
    chain = nn.Sequential(nn.Linear(1, 1))
    chain.extra = nn.Linear(1, 2)
    assert "extra.weight" in chain.state_dict()


def test_weights_may_be_assigned(device):
    table, head = nn.Embedding(5, 3, device=device), nn.Linear(3, 5, bias=False, device=device)
    head.weight = table.weight
    assert head.weight.data_ptr == table.weight.data_ptr
    assert len(nn.Sequential(table, head).parameters()) == 1
    with pytest.raises(AttributeError, match="no parameter 'bias'; derive"):
        head.bias = nn.Parameter(cw.ones(5, device=device))
    with pytest.raises(AttributeError):
        head.width = 3
    with pytest.raises(AttributeError, match="no attribute 'width'"):
        head.width  # noqa: B018
    with pytest.raises(TypeError, match="is a parameter"):
        head.weight = cw.ones((5, 3), device=device)
    with pytest.raises(TypeError, match="'qkv' of Attention is its own"):
        nn.Attention(4, 2, device=device).register_module("qkv", nn.Linear(4, 12, device=device))


def test_parts_and_attributes_agree():
    m = nn.Module()
    m.layer = nn.Linear(1, 1)
    other = nn.Linear(1, 1)
    m.register_module("layer", other)
    assert m.layer is other and [part for _, part in m.named_children()] == [other]
    m.layer = None
    assert m.named_children() == [] and m.layer is None
    m.w = nn.Parameter(cw.ones(1))
    m.register_module("w", other)
    assert [name for name, _ in m.named_parameters()] == ["w.weight", "w.bias"]
    chain = nn.Sequential(nn.Linear(1, 1))
    chain.register_module("0", other)
    assert chain[0] is other and len(chain) == 1
    for wrong in (None, 3):
        with pytest.raises((TypeError, cw.InvalidArgument)):
            nn.Sequential(wrong)
    with pytest.raises(cw.InvalidArgument, match="detach"):
        m.register_parameter("v", other.weight * 2.0)
    other.weight.requires_grad_(False)
    m.register_parameter("v", other.weight)
    assert not other.weight.requires_grad and not m.v.requires_grad
    assert nn.Flatten()(cw.ones((0, 3, 2))).shape == (0, 6)


class Everything(nn.Module):
    """Layers of every kind, a tied weight, a frozen one, a part in use, and what Python adds."""

    def __init__(self, device):
        super().__init__()
        where = {"device": device}
        self.images = nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2, padding=(1, 0), groups=1, bias=False, **where),
            nn.BatchNorm2d(4, momentum=0.3, **where), nn.ReLU(), nn.MaxPool2d(2, stride=1, padding=1),
            nn.AvgPool2d((1, 2)), nn.Flatten())  # fmt: skip
        self.table = nn.Embedding(8, 6, **where)
        self.rows = nn.ModuleList([nn.LayerNorm(6, 1e-3, **where), nn.RMSNorm(6, **where)])
        self.attention = nn.Attention(6, 2, causal=True, bias=False, **where)
        self.mlp = nn.MLP(6, 12, **where)
        self.head = nn.Linear(6, 8, bias=False, **where)
        self.head.register_parameter("weight", self.table.weight)
        self.drop, self.slope = nn.Dropout(0.25), nn.LeakyReLU(0.3)
        self.scale = nn.Parameter(cw.ones((1,), device=device))
        self.register_buffer("count", cw.array([7], device=device))
        self.mlp.parameters()[0].requires_grad_(False)
        self.images.eval()
        self.notes, self.again = {"seen": [1, 2]}, self.head

    def forward(self, images, tokens):
        x = self.rows[1](self.mlp(self.attention(self.rows[0](self.table(tokens)))))
        return self.slope(self.head(self.drop(x))).sum() * self.scale + self.images(images).sum()


def test_deep_copies_are_apart_and_alike(device):
    net = Everything(device)
    cw.manual_seed(3)
    drawn = nn.Linear(3, 3).weight.tolist()
    cw.manual_seed(3)
    again = copy.deepcopy(net)
    assert nn.Linear(3, 3).weight.tolist() == drawn  # no randomness was used
    assert repr(again) == repr(net) and type(again) is Everything
    for mine, other in zip(net.named_parameters(), again.named_parameters()):
        assert mine[0] == other[0] and mine[1].data_ptr != other[1].data_ptr
        assert mine[1].tolist() == other[1].tolist()
        assert mine[1].requires_grad == other[1].requires_grad and other[1].is_leaf
    assert len(net.parameters()) == len(again.parameters())
    assert again.head.weight.data_ptr == again.table.weight.data_ptr  # tied, as they were
    assert again.again is again.head and again.notes == net.notes and again.notes is not net.notes
    assert again.count.tolist() == [7] and again.count.data_ptr != net.count.data_ptr
    assert not again.images.training and again.training and again.mlp.training
    conv, pool = again.images[0], again.images[3]
    assert (conv.stride, conv.padding, conv.kernel_size) == ((2, 2), (1, 0), (3, 3))
    assert (pool.kernel_size, pool.stride, type(pool)) == ((2, 2), (1, 1), nn.MaxPool2d)

    images = cw.Generator(1).normal((2, 3, 9, 8), device=device)
    tokens = cw.array([[1, 2, 3]], device=device)
    results = []
    for model in (net, again):
        cw.manual_seed(1)
        loss = model(images, tokens)
        loss.sum().backward()
        results.append([loss.tolist()] + [p.grad.tolist() for p in model.parameters() if p.requires_grad])
    assert results[0] == results[1]
    optimizer = cw.optim.SGD(again.parameters(), lr=0.5)
    before = net.scale.item()
    optimizer.step()
    assert net.scale.item() == before != again.scale.item()
    pair = copy.deepcopy({"a": net.head, "b": net.table})
    assert pair["a"].weight.data_ptr == pair["b"].weight.data_ptr


def test_deep_copies_of_odd_modules(device):
    x = cw.arange(6, dtype="f32", device=device)
    m = nn.Module()
    m.register_buffer("a", x[0:2])
    m.register_buffer("b", x[2:6])
    m.w = nn.Parameter(x[:2].clone())
    m.all, m.cache = [m.w, m.w], m.w * 2.0
    made = copy.deepcopy(m)
    assert made.a.tolist() == [0, 1] and made.b.tolist() == [2, 3, 4, 5]
    made.w.grad = cw.ones((2,), device=device)
    assert made.all[0].grad is not None and made.all[1].data_ptr == made.w.data_ptr
    assert not made.cache.requires_grad and made.cache.tolist() == [0, 2]
    layer = nn.Linear(2, 2, device=device)
    layer.register_module("more", nn.Linear(2, 1, device=device))
    assert "more.weight" in copy.deepcopy(layer).state_dict()


def test_deep_copies_of_other_types(device):
    layer = nn.Linear(3, 2, device=device).to("bf16")
    again = copy.deepcopy(layer)
    assert again.weight.dtype == cw.bf16 and again.weight.device == layer.weight.device

    class Wider(nn.Linear):
        def __init__(self, factor):
            super().__init__(2 * factor, 2 * factor)
            self.factor = factor

    assert copy.deepcopy(Wider(3)).factor == 3
    assert copy.deepcopy(Wider(3)).weight.shape == (6, 6)
