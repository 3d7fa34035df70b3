"""Modules: subclasses of layers, assignment of attributes, deep copies."""

import copy

import causeway as cw
import pytest
from causeway import nn


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [(nn.Linear, (4, 4)), (nn.LayerNorm, (4,)), (nn.RMSNorm, (4,)), (nn.Dropout, (0.0,)),
     (nn.MLP, (4, 8)), (nn.Sequential, (nn.Tanh(),)), (nn.Tanh, ())],
)  # fmt: skip
def test_layers_can_be_subclassed(kind, arguments):
    class Hundredfold(kind):
        def forward(self, x):
            return super().forward(x) * 100.0

    layer, x = Hundredfold(*arguments), cw.array([[1.0, 2.0, 3.0, 4.0]])
    want = (kind.forward(layer, x) * 100.0).tolist()
    for model in (layer, nn.Sequential(layer), copy.deepcopy(layer)):
        assert model(x).tolist() == want


def test_parameters_added_in_a_subclass_are_trained(device):
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
    class Derived(nn.Linear):
        pass

    for layer in (head, Derived(3, 5, bias=False, device=device)):
        with pytest.raises(AttributeError, match="cannot register parameter 'bias' on"):
            layer.bias = nn.Parameter(cw.ones(5, device=device))
        with pytest.raises(AttributeError, match="cannot register buffer 'weight' on"):
            layer.register_buffer("weight", cw.ones((5, 3), device=device))
        layer.weight = nn.Parameter(cw.full((5, 3), 2.0, device=device))
        with pytest.raises(AttributeError):  # it computes with that
            layer.weight = None
        with pytest.raises(AttributeError):
            del layer.weight
        assert layer(cw.ones((1, 3), device=device)).tolist() == [[6.0] * 5]
        assert list(layer.state_dict()) == ["weight"]
    with pytest.raises(AttributeError):
        head.width = 3
    with pytest.raises(AttributeError, match="no attribute 'width'"):
        head.width  # noqa: B018
    with pytest.raises(TypeError, match="is a parameter"):
        head.weight = cw.ones((5, 3), device=device)
    with pytest.raises(TypeError, match="'qkv' of Attention cannot be replaced"):
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


def test_deep_copies_are_independent(device):
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
