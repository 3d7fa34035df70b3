"""Fused functions against the same functions run operation by operation."""

import causeway as cw
import numpy as np
import pytest
from causeway import fusion


def softmax(x):
    e = cw.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x, gain, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = cw.square(centred).mean(axis=-1, keepdims=True)
    return centred * cw.rsqrt(variance + 1e-5) * gain + bias


def activations(x, y):
    return cw.where(x > y, cw.gelu(x) * y, cw.silu(y) - 2.0) + cw.sigmoid(x * y) ** 2


def ratio(x, y):
    return cw.abs(x) / (1.0 + y * y) - cw.maximum(x, 0.25) + cw.clip(y, -0.5, 0.5)


def statistics(x):
    return x.sum(axis=-1), cw.sqrt(cw.square(x).mean(axis=-1)), x.min(axis=-1, keepdims=True)


def centred(x, shift):
    return x - x.max(axis=-1, keepdims=True) * shift - x.min(axis=-1, keepdims=True)


def spread(x, scale):
    return x.max(axis=-1) - cw.square(x * scale).sum(axis=-1)


CASES = {
    "softmax": (softmax, [(3, 4, 33)]),
    "softmax of one row": (softmax, [(65,)]),
    "softmax of long rows": (softmax, [(3, 1500)]),
    "layer_norm": (layer_norm, [(31, 17), (17,), (17,)]),
    "layer_norm of long rows": (layer_norm, [(3, 700), (700,), (700,)]),
    "reduction with column": (centred, [(5, 70), (5, 1)]),
    "reduction alone": (spread, [(5, 70), (70,)]),
    "activations": (activations, [(8, 9), (8, 9)]),
    "row": (ratio, [(5, 1, 7), (7,)]),
    "column": (ratio, [(6, 7), (6, 1)]),
    "scalar": (ratio, [(6, 7), ()]),
    "outer": (ratio, [(6, 1), (1, 7)]),
    "row and column": (lambda x, y, z: ratio(x, y) * z, [(6, 7), (7,), (6, 1)]),
    "all scalars": (ratio, [(), ()]),
    "inner broadcast": (ratio, [(2, 3, 4), (2, 1, 4)]),
    "empty": (ratio, [(0, 4), (4,)]),
}
REDUCTIONS = [case for case in CASES if case.startswith(("softmax", "layer_norm", "reduction"))]


@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case, device):
    function, shapes = CASES[case]
    random = cw.Generator(5)
    values = [random.normal(shape, device=device) for shape in shapes]
    fused, plain = cw.fuse(function), function
    assert_same(values_and_gradients(fused, values), values_and_gradients(plain, values))


def values_and_gradients(function, values):
    """The result, and the gradients of its weighted sum with respect to the inputs."""
    inputs = [value.clone().requires_grad_() for value in values]
    result = function(*inputs)
    weights = cw.Generator(6).normal(result.shape, device=result.device)
    (result * weights).sum().backward()
    return [result.detach().numpy(), *(x.grad.numpy() for x in inputs)]


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("case", REDUCTIONS)
def test_block_per_row_agrees_with_thread_per_row(case, monkeypatch):
    """The form for GPUs, run by the interpreter, whose blocks have 64 threads."""
    function, shapes = CASES[case]
    values = [cw.Generator(5).normal(shape) for shape in shapes]
    by_thread = values_and_gradients(cw.fuse(function), values)
    monkeypatch.setattr(fusion, "_threads_per_row", lambda device, columns: 64)
    by_block = cw.fuse(function)
    assert_same(values_and_gradients(by_block, values), by_thread)
    (kernel,) = by_block._kernels.values()
    assert "__syncthreads" in kernel.cuda


def test_gradients_of_block_per_row_against_finite_differences(monkeypatch):
    monkeypatch.setattr(fusion, "_threads_per_row", lambda device, columns: 64)
    values = [cw.Generator(3).normal(shape, dtype="f64").requires_grad_() for shape in [(2, 70), (70,)]]
    fused = cw.fuse(lambda x, y: layer_norm(softmax(x * y), y, x.max(axis=-1, keepdims=True)))
    cw.gradcheck(lambda inputs: fused(*inputs), values)


@pytest.mark.parametrize("threads", [64, 256])
def test_block_per_row_compiles(threads, monkeypatch):
    monkeypatch.setattr(fusion, "_threads_per_row", lambda device, columns: threads)
    fused = cw.fuse(softmax)
    plan = fused._plan((x := cw.ones((2, 3)),), [x])
    assert plan.dim == 2 * threads and plan.block_dim == threads
    try:
        assert ".entry fused(" in plan.kernel.ptx("sm_90")
    except cw.DeviceError as error:
        pytest.skip(str(error))
    assert ".entry adj_fused(" in cw.RawKernel(plan.kernel.adjoint, "adj_fused").ptx("sm_90")


def test_strided_inputs(device):
    x, y = (cw.Generator(1).normal((6, 8), device=device) for _ in range(2))
    fused = cw.fuse(ratio)
    for a, b in [(x.T, y.T), (x[:, ::2], y[:, ::2]), (x, y.reshape((8, 6)).T), (x[:, 1:2], y)]:
        np.testing.assert_allclose(fused(a, b).numpy(), ratio(a, b).numpy(), rtol=1e-6, atol=1e-6)
    rows = cw.Generator(2).normal((70, 6), device=device).T
    np.testing.assert_allclose(cw.fuse(softmax)(rows).numpy(), softmax(rows).numpy(), rtol=1e-5, atol=1e-6)


def test_elementwise_text_divides_only_where_it_must():
    def text(*shapes):
        fused = cw.fuse(lambda *xs: sum(xs[1:], xs[0]))
        fused(*(cw.ones(shape) for shape in shapes))
        return next(iter(fused._kernels.values())).cuda

    assert not set("/%") & set(text((3, 4), (3, 4), ()))
    assert text((3, 4), (4,)).count("%") == 1 and "/" not in text((3, 4), (4,))
    assert text((3, 4), (3, 1)).count("/") == 1 and "%" not in text((3, 4), (3, 1))
    assert text((3, 4), (4,), (3, 1)).count("/") == 1 and "%" not in text((3, 4), (4,), (3, 1))


def test_several_results(device):
    x = cw.Generator(1).normal((5, 6), device=device)
    for ours, theirs in zip(cw.fuse(statistics)(x), statistics(x), strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-6)


def test_dtypes(device):
    x = cw.Generator(1).normal((4, 5), device=device)
    half = cw.fuse(lambda x: (x.to(cw.f32) * 2.0).to(cw.f16))(x.to("f16"))
    assert half.dtype == cw.f16
    np.testing.assert_array_equal(half.numpy(), (x.to("f16").to("f32") * 2.0).to("f16").numpy())
    wide = cw.fuse(lambda a, b: a + b)(x, x.to("f64"))
    assert wide.dtype == cw.f64
    mask = cw.fuse(lambda a: cw.logical_not(a > 0))(x)
    assert mask.dtype == cw.bool_ and mask.numpy().tolist() == (x.numpy() <= 0).tolist()
    whole = cw.fuse(lambda a: a.to(cw.i32) * 3)(x * 10)
    np.testing.assert_array_equal(whole.numpy(), np.trunc(x.numpy() * np.float32(10)).astype("i4") * 3)


def test_one_kernel_for_each_class_of_shapes():
    traced = []

    @cw.fuse
    def f(x, y, power):
        traced.append(1)
        return (x + y) ** power

    for rows in (3, 4, 5):
        f(cw.ones((rows, 7)), cw.ones(7), 2)
    assert len(traced) == 1
    f(cw.ones((3, 7)), cw.ones((3, 7)), 2)
    f(cw.ones((3, 7)), cw.ones(7), 3)
    assert len(traced) == 3
    f(cw.ones((3, 7)), cw.ones(7), 3.0)  # another type of constant
    assert len(traced) == 4
    assert cw.exp(cw.zeros(1)).item() == 1  # the package is as before


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.sum(), "sum reduces over axis=-1 only, got axis=None"),
        (lambda x: x - x.sum(axis=-1), "pass keepdims=True"),
        (lambda x: x if x > 0 else -x, "branches on a value; use cw.where"),
        (lambda x: x + np.ones(3), "is no operand of a fused function"),
        (lambda x: 3.0, "the function returned a float"),
    ],
)
def test_what_cannot_be_fused(function, message):
    with pytest.raises(TypeError, match=message):
        cw.fuse(function)(cw.ones((2, 3)))


def test_shapes_must_broadcast():
    with pytest.raises(cw.ShapeMismatch, match="do not broadcast"):
        cw.fuse(lambda x, y: x + y)(cw.ones(3), cw.ones(4))
    with pytest.raises(TypeError, match="at least one tensor"):
        cw.fuse(lambda x: x)(3.0)
