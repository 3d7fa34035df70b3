"""Every differentiable operation, once for the library and once for PyTorch.

A case has inputs by kind and shape and two functions of them: `ours(cw, F, *inputs)` and
`theirs(torch, TF, *inputs)`. tests/python/test_gradcheck.py uses the first alone, where there is no
PyTorch.
"""

from dataclasses import dataclass
from typing import Any, Callable

import numpy as np


@dataclass
class Input:
    kind: str  # normal, wide (none near +-3), positive, apart (no two equal, none near 0), unit (in (0, 1)), index:<n>
    shape: tuple[int, ...]

    @property
    def tracked(self):
        return not self.kind.startswith("index")

    def draw(self, rng):
        if self.kind.startswith("index"):
            return rng.integers(0, int(self.kind.split(":")[1]), self.shape)
        if self.kind == "positive":
            return rng.uniform(0.5, 2.0, self.shape)
        if self.kind == "wide":
            x = rng.normal(size=self.shape) * 2.7
            return np.where(np.abs(np.abs(x) - 3) < 0.05, x * 1.1, x)
        if self.kind == "unit":
            return rng.uniform(0.1, 0.9, self.shape)
        if self.kind == "apart":
            n = int(np.prod(self.shape))
            steps = rng.permutation(n) - n / 2 + 0.25
            return (steps * 0.11).reshape(self.shape)
        return rng.normal(size=self.shape)


@dataclass
class Case:
    name: str
    inputs: list[Input]
    ours: Callable[..., Any]
    theirs: Callable[..., Any]
    halves: bool = True  # whether f16 and bf16 are compared too
    scale: float = 1.0  # of the tolerance, for long sums
    strided: bool = True  # whether inputs may be views


def normal(*shape):
    return Input("normal", shape)


def apart(*shape):
    return Input("apart", shape)


def positive(*shape):
    return Input("positive", shape)


def unit(*shape):
    return Input("unit", shape)


def index(n, *shape):
    return Input(f"index:{n}", shape)


def unary_cases():
    plain = {
        "negative": ("neg", normal), "absolute": ("abs", apart), "square": ("square", normal),
        "relu": ("relu", apart), "sqrt": ("sqrt", positive), "rsqrt": ("rsqrt", positive),
        "reciprocal": ("reciprocal", positive), "exp": ("exp", normal), "expm1": ("expm1", normal),
        "log": ("log", positive), "log1p": ("log1p", positive), "log2": ("log2", positive),
        "sin": ("sin", normal), "cos": ("cos", normal), "tan": ("tan", unit),
        "tanh": ("tanh", normal), "erf": ("erf", normal), "sigmoid": ("sigmoid", normal),
        "sign": ("sign", apart), "floor": ("floor", apart), "ceil": ("ceil", apart),
        "trunc": ("trunc", apart),
    }
    for ours, (theirs, kind) in plain.items():
        yield Case(ours, [kind(3, 5)], lambda cw, F, x, n=ours: getattr(cw, n)(x),
                   lambda t, TF, x, n=theirs: getattr(t, n)(x))
    yield Case("silu", [normal(3, 5)], lambda cw, F, x: cw.silu(x), lambda t, TF, x: TF.silu(x))
    yield Case("gelu", [normal(3, 5)], lambda cw, F, x: cw.gelu(x), lambda t, TF, x: TF.gelu(x))
    yield Case("gelu_tanh", [normal(3, 5)], lambda cw, F, x: cw.gelu_tanh(x),
               lambda t, TF, x: TF.gelu(x, approximate="tanh"))
    for name, args in {"leaky_relu": (0.1,), "elu": (0.7,), "selu": (), "softplus": (2.0, 5.0),
                       "hardsigmoid": (), "hardswish": (), "hardtanh": (-0.6, 0.8)}.items():
        kind = "wide" if name in ("hardsigmoid", "hardswish") else "apart"
        yield Case(name, [Input(kind, (7, 9))], lambda cw, F, x, n=name, a=args: getattr(F, n)(x, *a),
                   lambda t, TF, x, n=name, a=args: getattr(TF, n)(x, *a))
    yield Case("clip", [apart(4, 5)], lambda cw, F, x: cw.clip(x, -0.4, 0.5),
               lambda t, TF, x: t.clip(x, -0.4, 0.5))


def binary_cases():
    shapes = {"": ((3, 4), (3, 4)), " broadcast": ((3, 1, 4), (5, 1)), " scalar": ((2, 3), ())}
    functions = {
        "add": (normal, normal), "subtract": (normal, normal), "multiply": (normal, normal),
        "divide": (normal, positive), "power": (positive, normal),
        "remainder": (apart, positive), "minimum": (normal, normal), "maximum": (normal, normal),
    }
    for name, (kind_a, kind_b) in functions.items():
        for label, (a, b) in shapes.items():
            theirs = {"power": "pow"}.get(name, name)
            yield Case(name + label, [kind_a(*a), kind_b(*b)],
                       lambda cw, F, x, y, n=name: getattr(cw, n)(x, y),
                       lambda t, TF, x, y, n=theirs: getattr(t, n)(x, y),
                       halves=name not in ("remainder", "power"))
    numbers = {
        "x + 2": lambda x: x + 2, "2 - x": lambda x: 2 - x, "x * 3": lambda x: x * 3,
        "x / 4": lambda x: x / 4, "5 / x": lambda x: 5 / x, "x ** 3": lambda x: x**3,
        "2 ** x": lambda x: 2**x, "x ** 0.5": lambda x: x**0.5,
    }
    for name, function in numbers.items():
        yield Case(name, [positive(3, 4)], lambda cw, F, x, f=function: f(x),
                   lambda t, TF, x, f=function: f(x))
    yield Case("where", [normal(3, 4), normal(4)],
               lambda cw, F, a, b: cw.where(a.detach() > 0, a, b),
               lambda t, TF, a, b: t.where(a.detach() > 0, a, b))


def reduce_cases():
    for name in ("sum", "mean"):
        for axis in (None, 0, -1, (0, 2)):
            yield Case(f"{name} axis={axis}", [normal(3, 4, 5)],
                       lambda cw, F, x, n=name, a=axis: getattr(cw, n)(x, axis=a),
                       lambda t, TF, x, n=name, a=axis: getattr(t, n)(x) if a is None
                       else getattr(t, n)(x, dim=a), scale=4)
    yield Case("prod", [normal(3, 4)], lambda cw, F, x: cw.prod(x, axis=1),
               lambda t, TF, x: t.prod(x, dim=1), scale=4)
    for name in ("max", "min"):
        yield Case(name, [apart(4, 5)], lambda cw, F, x, n=name: getattr(cw, n)(x, axis=1),
                   lambda t, TF, x, n=name: getattr(t, f"a{n}")(x, dim=1))
    yield Case("var", [normal(4, 6)], lambda cw, F, x: cw.var(x, axis=1, correction=1),
               lambda t, TF, x: t.var(x, dim=1, correction=1), scale=4)
    yield Case("std", [normal(4, 6)], lambda cw, F, x: cw.std(x, axis=0),
               lambda t, TF, x: t.std(x, dim=0, correction=0), scale=4)
    yield Case("cumsum", [normal(3, 5)], lambda cw, F, x: cw.cumsum(x, axis=1),
               lambda t, TF, x: t.cumsum(x, dim=1), scale=4)
    yield Case("sort", [apart(3, 7)], lambda cw, F, x: cw.sort(x, axis=0),
               lambda t, TF, x: t.sort(x, dim=0).values)
    yield Case("topk", [apart(3, 7)], lambda cw, F, x: cw.topk(x, 3)[0],
               lambda t, TF, x: t.topk(x, 3).values)


def view_cases():
    views = {
        "reshape": (lambda x: x.reshape(2, 12), None),
        "transpose": (lambda x: x.transpose(0, 2), None),
        "permute": (lambda x: x.permute(2, 0, 1), None),
        "unsqueeze": (lambda x: x.unsqueeze(1), None),
        "slice": (lambda x: x[:, 1:3], None),
        "step": (lambda x: x[::2], None),
        "select": (lambda x: x[1], None),
        "ellipsis": (lambda x: x[..., 0], None),
        "flatten": (lambda x: x.flatten(), None),
        "contiguous": (lambda x: x.transpose(0, 1).contiguous(), None),
    }
    for name, (ours, theirs) in views.items():
        yield Case(name, [normal(2, 3, 4)], lambda cw, F, x, f=ours: f(x) * f(x),
                   lambda t, TF, x, f=theirs or ours: f(x) * f(x))
    yield Case("expand", [normal(3, 1)], lambda cw, F, x: x.expand(2, 3, 4) * 2.0,
               lambda t, TF, x: x.expand(2, 3, 4) * 2.0)
    yield Case("index array", [normal(5, 3)], lambda cw, F, x: x[[0, 2, 2, 4]] * 1.5,
               lambda t, TF, x: x[[0, 2, 2, 4]] * 1.5)
    yield Case("concatenate", [normal(2, 3), normal(2, 4)],
               lambda cw, F, a, b: cw.concatenate([a, b], axis=1) * 2.0,
               lambda t, TF, a, b: t.cat([a, b], dim=1) * 2.0)
    yield Case("stack", [normal(2, 3), normal(2, 3)],
               lambda cw, F, a, b: cw.stack([a, b], axis=1) * 2.0,
               lambda t, TF, a, b: t.stack([a, b], dim=1) * 2.0)
    yield Case("split", [normal(2, 7)],
               lambda cw, F, x: (lambda p: p[0] * p[2][:, :1])(cw.split(x, 3, axis=1)),
               lambda t, TF, x: (lambda p: p[0] * p[2][:, :1])(t.split(x, 3, dim=1)))
    yield Case("pad", [normal(2, 3)], lambda cw, F, x: cw.pad(x, [(0, 0), (1, 2)]) * 3.0,
               lambda t, TF, x: TF.pad(x, (1, 2)) * 3.0)
    yield Case("index_select", [normal(3, 5), index(5, 4)],
               lambda cw, F, x, i: cw.index_select(x, i, axis=1),
               lambda t, TF, x, i: t.index_select(x, 1, i))
    yield Case("gather", [normal(3, 5), index(5, 3, 4)], lambda cw, F, x, i: cw.gather(x, i, axis=1),
               lambda t, TF, x, i: t.gather(x, 1, i))
    yield Case("scatter_add", [normal(3, 5), index(5, 3, 4), normal(3, 4)],
               lambda cw, F, x, i, s: cw.scatter_add(x, i, s, axis=1),
               lambda t, TF, x, i, s: t.scatter_add(x, 1, i, s))
    yield Case("embedding", [normal(6, 4), index(6, 3, 5)], lambda cw, F, w, i: F.embedding(i, w),
               lambda t, TF, w, i: TF.embedding(i, w))


def product_cases():
    shapes = {
        "": ((3, 4), (4, 5)), " batched": ((2, 3, 4), (2, 4, 5)), " one matrix": ((2, 3, 4), (4, 5)),
        " broadcast": ((2, 1, 3, 4), (5, 4, 2)), " vector": ((4,), (4, 3)), " dot": ((4,), (4,)),
    }
    for label, (a, b) in shapes.items():
        yield Case("matmul" + label, [normal(*a), normal(*b)],
                   lambda cw, F, x, y: cw.matmul(x, y), lambda t, TF, x, y: t.matmul(x, y), scale=8)
    yield Case("linear", [normal(2, 3, 8), normal(16, 8), normal(16)],
               lambda cw, F, x, w, b: F.linear(x, w, b), lambda t, TF, x, w, b: TF.linear(x, w, b),
               scale=8)
    yield Case("linear, no bias", [normal(3, 8), normal(5, 8)],
               lambda cw, F, x, w: F.linear(x, w), lambda t, TF, x, w: TF.linear(x, w), scale=8)
    yield Case("mlp", [normal(4, 8), normal(16, 8), normal(16), normal(8, 16), normal(8)],
               lambda cw, F, *a: F.mlp(*a),
               lambda t, TF, x, wi, bi, wo, bo: TF.linear(
                   TF.gelu(TF.linear(x, wi, bi), approximate="tanh"), wo, bo), scale=40)
    yield Case("mlp, no biases", [normal(4, 8), normal(16, 8), normal(8, 16)],
               lambda cw, F, x, wi, wo: F.mlp(x, wi, None, wo, None),
               lambda t, TF, x, wi, wo: TF.linear(TF.gelu(TF.linear(x, wi), approximate="tanh"), wo), scale=40)


def norm_cases():
    for axis in (-1, 0):
        yield Case(f"softmax axis={axis}", [normal(5, 7)],
                   lambda cw, F, x, a=axis: F.softmax(x, a),
                   lambda t, TF, x, a=axis: TF.softmax(x, a), scale=4)
        yield Case(f"log_softmax axis={axis}", [normal(5, 7)],
                   lambda cw, F, x, a=axis: F.log_softmax(x, a),
                   lambda t, TF, x, a=axis: TF.log_softmax(x, a), scale=4)
    for n in (7, 96, 256):
        yield Case(f"layer_norm {n}", [normal(5, n), normal(n), normal(n)],
                   lambda cw, F, x, w, b: F.layer_norm(x, w, b),
                   lambda t, TF, x, w, b: TF.layer_norm(x, x.shape[-1:], w, b), scale=8)
    yield Case("layer_norm, plain", [normal(5, 9)], lambda cw, F, x: F.layer_norm(x),
               lambda t, TF, x: TF.layer_norm(x, x.shape[-1:]), scale=8)
    yield Case("rms_norm", [normal(5, 9), normal(9)], lambda cw, F, x, w: F.rms_norm(x, w),
               lambda t, TF, x, w: TF.rms_norm(x, x.shape[-1:], w, 1e-5), scale=8)
    yield Case("add_layer_norm", [normal(5, 8), normal(5, 8), normal(8), normal(8)],
               lambda cw, F, x, r, w, b: (lambda p: p[0] * 0.5 + p[1])(F.add_layer_norm(x, r, w, b)),
               lambda t, TF, x, r, w, b: (x + r) * 0.5 + TF.layer_norm(x + r, x.shape[-1:], w, b),
               scale=12)
    yield Case("add_rms_norm", [normal(5, 8), normal(5, 8), normal(8)],
               lambda cw, F, x, r, w: (lambda p: p[0] * 0.5 + p[1])(F.add_rms_norm(x, r, w)),
               lambda t, TF, x, r, w: (x + r) * 0.5 + TF.rms_norm(x + r, x.shape[-1:], w, 1e-5),
               scale=12)
    yield Case("batch_norm training", [normal(4, 3, 5, 2), normal(3), normal(3)],
               lambda cw, F, x, w, b: F.batch_norm(x, None, None, w, b, True),
               lambda t, TF, x, w, b: TF.batch_norm(x, None, None, w, b, True), scale=12)

    def running(lib, like, value):
        # Running statistics are f32 but for f64.
        name = str(like.dtype).rpartition(".")[2]
        wide = "f64" if name in ("f64", "float64") else "f32"
        if lib.__name__ == "torch":
            return lib.full((3,), value, dtype=getattr(lib, {"f64": "float64", "f32": "float32"}[wide]),
                            device=like.device)
        return lib.full((3,), value, dtype=wide, device=like.device)

    yield Case("batch_norm inference", [normal(4, 3, 5), normal(3), normal(3)],
               lambda cw, F, x, w, b: F.batch_norm(x, running(cw, x, 0.3), running(cw, x, 1.7), w, b),
               lambda t, TF, x, w, b: TF.batch_norm(x, running(t, x, 0.3), running(t, x, 1.7), w, b),
               scale=8)


def loss_cases():
    for reduction in ("mean", "sum", "none"):
        yield Case(f"cross_entropy {reduction}", [normal(6, 5), index(5, 6)],
                   lambda cw, F, x, y, r=reduction: F.cross_entropy(x, y, reduction=r) * 0.7,
                   lambda t, TF, x, y, r=reduction: TF.cross_entropy(x, y, reduction=r) * 0.7,
                   scale=8)
    yield Case("cross_entropy ignoring", [normal(6, 5), index(5, 6)],
               lambda cw, F, x, y: F.cross_entropy(x, y, ignore_index=2),
               lambda t, TF, x, y: TF.cross_entropy(x, y, ignore_index=2), scale=8)
    yield Case("cross_entropy smoothed", [normal(6, 5), index(5, 6)],
               lambda cw, F, x, y: F.cross_entropy(x, y, label_smoothing=0.2),
               lambda t, TF, x, y: TF.cross_entropy(x, y, label_smoothing=0.2), scale=8)
    yield Case("cross_entropy probabilities", [normal(6, 5), index(5, 6)],
               lambda cw, F, x, y: F.cross_entropy(x, F.softmax(cw.eye(5, x.dtype, x.device)[y] * 2.0)),
               lambda t, TF, x, y: TF.cross_entropy(x, TF.softmax(TF.one_hot(y, 5).to(x.dtype) * 2.0, -1)),
               scale=8)
    yield Case("mse_loss", [normal(4, 5), normal(4, 5)], lambda cw, F, x, y: F.mse_loss(x, y),
               lambda t, TF, x, y: TF.mse_loss(x, y), scale=4)
    yield Case("l1_loss", [apart(4, 5), apart(4, 5)],
               lambda cw, F, x, y: F.l1_loss(x, y * 0.31, reduction="sum"),
               lambda t, TF, x, y: TF.l1_loss(x, y * 0.31, reduction="sum"), scale=8)
    yield Case("huber_loss", [normal(4, 5), normal(4, 5)],
               lambda cw, F, x, y: F.huber_loss(x, y, 0.7),
               lambda t, TF, x, y: TF.huber_loss(x, y, delta=0.7), scale=4)
    yield Case("pinball_loss", [apart(4, 5), apart(4, 5)],
               lambda cw, F, x, y: F.pinball_loss(x, y * 0.31, 0.2),
               lambda t, TF, x, y: t.maximum(0.2 * (y * 0.31 - x), -0.8 * (y * 0.31 - x)).mean(),
               scale=4)


def attention_cases():
    shapes = [((2, 3, 5, 8), 5), ((2, 2, 20, 32), 20), ((1, 2, 70, 16), 70), ((1, 2, 33, 64), 47),
              ((1, 1, 130, 24), 130)]
    for (b, h, n, d), m in shapes:
        for causal in (False, True):
            if causal and n != m:
                continue
            yield Case(f"attention {b},{h},{n}x{m},{d}{' causal' if causal else ''}",
                       [normal(b, h, n, d), normal(b, h, m, d), normal(b, h, m, d)],
                       lambda cw, F, q, k, v, c=causal: F.scaled_dot_product_attention(
                           q, k, v, is_causal=c),
                       lambda t, TF, q, k, v, c=causal: TF.scaled_dot_product_attention(
                           q, k, v, is_causal=c), scale=20)

    def context(t, TF, q, k, v):
        limit = t.tensor([3, 7], device=q.device).reshape(2, 1, 1, 1)
        mask = t.arange(k.shape[2], device=q.device) < limit
        return TF.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    yield Case("attention context", [normal(2, 2, 9, 8), normal(2, 2, 9, 8), normal(2, 2, 9, 8)],
               lambda cw, F, q, k, v: F.scaled_dot_product_attention(
                   q, k, v, context=cw.array([3, 7], device=q.device)), context, scale=20)

    def packed(t, TF, x):
        q, k, v = x.reshape(2, 6, 3, 2, 8).permute(2, 0, 3, 1, 4)
        return TF.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(2, 6, 16)

    yield Case("attention_packed", [normal(2, 6, 48)],
               lambda cw, F, x: F.attention_packed(x, 2, is_causal=True), packed, scale=20)


def image_cases():
    settings = [
        ((2, 3, 7, 6), (4, 3, 3, 3), dict(padding=1)),
        ((1, 4, 8, 8), (6, 2, 3, 2), dict(stride=2, groups=2)),
        ((2, 2, 9, 9), (3, 2, 3, 3), dict(dilation=2, padding=(1, 2))),
        ((2, 4, 5, 5), (4, 1, 1, 1), dict(groups=4)),
        ((2, 80, 11, 9), (72, 40, 3, 3), dict(stride=(1, 2), padding=(2, 1), groups=2)),
        ((1, 2, 3, 3), (40, 2, 2, 2), dict(stride=3, padding=4)),
    ]
    for x, w, options in settings:
        yield Case(f"conv2d {x} {w} {options}", [normal(*x), normal(*w), normal(w[0])],
                   lambda cw, F, a, b, c, o=options: F.conv2d(a, b, c, **o),
                   lambda t, TF, a, b, c, o=options: TF.conv2d(a, b, c, **o), scale=40)
    for options in (dict(kernel_size=2), dict(kernel_size=3, stride=2, padding=1),
                    dict(kernel_size=(3, 2), stride=1)):
        yield Case(f"max_pool2d {options}", [apart(2, 3, 7, 6)],
                   lambda cw, F, x, o=options: F.max_pool2d(x, **o),
                   lambda t, TF, x, o=options: TF.max_pool2d(x, **o), scale=4)
        yield Case(f"avg_pool2d {options}", [normal(2, 3, 7, 6)],
                   lambda cw, F, x, o=options: F.avg_pool2d(x, **o),
                   lambda t, TF, x, o=options: TF.avg_pool2d(x, **o), scale=4)


def empty_cases():
    """Operations of nothing: no rows, no columns, nothing to sum."""
    def case(name, shapes, ours, theirs=None):
        return Case(f"{name} of {', '.join(str(shape) for shape in shapes)}",
                    [normal(*shape) for shape in shapes], ours, theirs or ours, scale=40)

    def with_bias(lib, F, x, w, b):
        return F.linear(x, w, b)

    for x, w in (((3, 0), (5, 0)), ((0, 4), (5, 4)), ((2, 0, 4), (5, 4)), ((40, 4), (0, 4)), ((0,), (5, 0))):
        yield case("linear", [x, w, w[:1]], with_bias)
    for rows, width, hidden in ((0, 8, 16), (40, 0, 16), (40, 8, 0)):
        yield case("mlp", [(rows, width), (hidden, width), (hidden,), (8, hidden), (8,)],
                   lambda cw, F, *a: F.mlp(*a),
                   lambda t, TF, x, wi, bi, wo, bo: TF.linear(
                       TF.gelu(TF.linear(x, wi, bi), approximate="tanh"), wo, bo))
    for a, b in (((40, 0), (0, 5)), ((0, 3), (3, 4)), ((3, 4), (4, 0)), ((0, 2, 3), (0, 3, 4)),
                 ((2, 40, 0), (0, 5)), ((0,), (0, 3)), ((0,), (0,))):
        yield case("matmul", [a, b], lambda lib, F, x, y: lib.matmul(x, y))
    for a, b in (((0, 3), (1, 3)), ((2, 0), (1,)), ((0,), ())):
        yield case("multiply", [a, b], lambda lib, F, x, y: lib.multiply(x, y))
    for shape in ((0, 4), (3, 0)):
        yield case("relu", [shape], lambda lib, F, x: lib.relu(x))
        yield case("sum", [shape], lambda cw, F, x: cw.sum(x, axis=0), lambda t, TF, x: t.sum(x, dim=0))
        yield case("prod", [shape], lambda cw, F, x: cw.prod(x, axis=1), lambda t, TF, x: t.prod(x, dim=1))
        yield case("cumsum", [shape], lambda cw, F, x: cw.cumsum(x, axis=1),
                   lambda t, TF, x: t.cumsum(x, dim=1))
        yield case("sort", [shape], lambda cw, F, x: cw.sort(x, axis=0), lambda t, TF, x: t.sort(x, dim=0).values)
        yield case("softmax", [shape], lambda lib, F, x: F.softmax(x, -1))
        yield case("log_softmax", [shape], lambda lib, F, x: F.log_softmax(x, 0))
    yield case("concatenate", [(2, 0), (2, 3)], lambda cw, F, a, b: cw.concatenate([a, b], axis=1),
               lambda t, TF, a, b: t.cat([a, b], dim=1))
    for table, places in (((6, 4), (0,)), ((6, 0), (3,)), ((6, 4), (2, 0))):
        yield Case(f"embedding of {table}, {places}", [normal(*table), index(6, *places)],
                   lambda cw, F, w, i: F.embedding(i, w), lambda t, TF, w, i: TF.embedding(i, w))
    yield case("layer_norm", [(0, 9), (9,), (9,)], lambda cw, F, x, w, b: F.layer_norm(x, w, b),
               lambda t, TF, x, w, b: TF.layer_norm(x, (9,), w, b))
    yield case("rms_norm", [(2, 0, 9), (9,)], lambda cw, F, x, w: F.rms_norm(x, w),
               lambda t, TF, x, w: TF.rms_norm(x, (9,), w, 1e-5))
    yield Case("cross_entropy of (0, 5)", [normal(0, 5), index(5, 0)],
               lambda cw, F, x, y: F.cross_entropy(x, y, reduction="sum"),
               lambda t, TF, x, y: TF.cross_entropy(x, y, reduction="sum"))
    yield case("mse_loss", [(0, 5), (0, 5)], lambda lib, F, x, y: F.mse_loss(x, y, reduction="sum"))
    for q, k in (((0, 2, 5, 8), (0, 2, 5, 8)), ((2, 2, 0, 8), (2, 2, 5, 8))):
        yield case("attention", [q, k, k],
                   lambda lib, F, q, k, v: F.scaled_dot_product_attention(q, k, v))
    yield case("conv2d", [(0, 3, 4, 4), (2, 3, 3, 3), (2,)], lambda lib, F, x, w, b: F.conv2d(x, w, b))
    yield case("max_pool2d", [(0, 2, 4, 4)], lambda lib, F, x: F.max_pool2d(x, 2))
    yield case("avg_pool2d", [(0, 2, 4, 4)], lambda lib, F, x: F.avg_pool2d(x, 2))


def all_cases():
    return [*unary_cases(), *binary_cases(), *reduce_cases(), *view_cases(), *product_cases(),
            *norm_cases(), *loss_cases(), *attention_cases(), *image_cases(),
            *empty_cases()]
