"""Reductions and cumulative sums against NumPy."""

import itertools

import causeway as cw
import numpy as np
import pytest
from oracle import ALL, FLOATS, INTEGERS, NUMBERS, SHAPES, VIEWS, check, draw, host, name, tensor

REDUCTIONS = ["sum", "mean", "prod", "min", "max"]


def reference(op, values, **arguments):
    """NumPy's answer in wide types."""
    wide = np.float64 if values.dtype.kind == "f" or op == "mean" else np.int64
    if op in ("min", "max"):
        return getattr(np, op)(values, **arguments)
    return getattr(np, op)(values.astype(wide), **arguments)


def result_dtype(op, dtype):
    if op in ("min", "max") or dtype.is_floating:
        return dtype
    return cw.f32 if op == "mean" else cw.i64


def axes_of(n_dims):
    every = range(n_dims)
    yield None
    for count in range(1, n_dims + 1):
        yield from itertools.combinations(every, count)
    if n_dims > 0:
        yield from (0, -1)


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_axes(op, dtype, device, rng):
    low, high = (0.9, 1.1) if op == "prod" and dtype.is_floating else (-2, 2)
    values = draw(rng, (3, 5, 7), dtype, low, high)
    x = tensor(values, dtype, device)
    for axis in axes_of(3):
        for keepdims in (False, True):
            expected = reference(op, values, axis=axis, keepdims=keepdims)
            actual = getattr(cw, op)(x, axis=axis, keepdims=keepdims)
            check(actual, expected, scale=4, dtype=result_dtype(op, dtype))
    check(getattr(x, op)(), reference(op, values), scale=4)


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("shape", [shape for shape in SHAPES if 0 not in shape])
def test_shapes(op, shape, device, rng):
    values = draw(rng, shape, cw.f32, 0.9, 1.1) if op == "prod" else draw(rng, shape, cw.f32)
    check(getattr(cw, op)(tensor(values, cw.f32, device)), reference(op, values), scale=20)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_long_sums_do_not_drift(dtype, device, rng):
    values = draw(rng, (3, 100003), dtype, 0, 1)
    x = tensor(values, dtype, device)
    exact = values.astype(np.float64)
    check(x.mean(axis=1), exact.mean(axis=1))
    check(x.mean(axis=0), exact.mean(axis=0))
    if dtype not in (cw.f16, cw.bf16):
        check(x.sum(axis=1), exact.sum(axis=1), scale=2)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("op", ["sum", "max", "argmin"])
def test_views(op, view, device, rng):
    values = VIEWS[view](draw(rng, (33, 65), cw.f32))
    x = VIEWS[view](tensor(draw(np.random.default_rng(7), (33, 65), cw.f32), cw.f32, device))
    for axis in (None, 0, -1):
        check(getattr(x, op)(axis=axis), getattr(np, op)(values.astype(np.float64), axis=axis),
              scale=4)


def test_expanded(device):
    x = cw.array([[1.0], [2.0]], device=device).expand(2, 1000)
    check(x.sum(axis=1), [1000, 2000])
    check(x.sum(axis=0), np.full(1000, 3))
    check(x.var(axis=None), 0.25)
    check(x.var(), 0.25 * 2000 / 1999)


@pytest.mark.parametrize("op", ["min", "max", "sum", "mean", "prod"])
def test_nan_wins(op, device):
    values = np.ones((3, 65), np.float32)
    values[1, 40] = np.nan
    actual = host(getattr(cw, op)(cw.array(values, device=device), axis=1))
    assert np.isnan(actual).tolist() == [False, True, False]


def test_infinities(device):
    x = cw.array([[float("inf"), 1.0], [float("-inf"), 1.0]], device=device)
    np.testing.assert_array_equal(host(x.sum(axis=1)), [np.inf, -np.inf])
    np.testing.assert_array_equal(host(x.max(axis=0)), [np.inf, 1])
    assert np.isnan(x.sum().item())


def test_nothing(device):
    x = cw.zeros((3, 0), device=device)
    check(x.sum(axis=1), np.zeros(3))
    check(x.prod(axis=1), np.ones(3))
    assert np.isnan(host(x.mean(axis=1))).all()
    check(x.any(axis=1), np.zeros(3, bool))
    check(x.all(axis=1), np.ones(3, bool))
    assert x.max(axis=0).shape == (0,)
    assert x.sum(axis=0, keepdims=True).shape == (1, 0)
    for op in ("min", "max", "argmin", "argmax"):
        with pytest.raises(cw.InvalidArgument, match=rf"\[{op}\].*\(3, 0\)"):
            getattr(x, op)(axis=1)


def test_variance_of_too_few(device):
    x = cw.array([[1.0, 2.0], [3.0, 3.0]], device=device)
    for correction in (2, 5):
        assert str(x.var(axis=1, correction=correction).tolist()) == "[inf, nan]"


@pytest.mark.parametrize("dtype", [cw.f64, cw.f32, cw.bf16, cw.i32, cw.u8], ids=name)
@pytest.mark.parametrize("correction", [0, 1])
def test_variance(dtype, correction, device, rng):
    values = draw(rng, (7, 33), dtype, 0, 8)
    x, exact = tensor(values, dtype, device), values.astype(np.float64)
    for axis in (None, 0, 1, (0, 1)):
        expected = exact.var(axis=axis, ddof=correction)
        check(x.var(axis=axis, correction=correction), expected, scale=4)
        check(cw.std(x, axis=axis, correction=correction), np.sqrt(expected), scale=4)
    check(x.var(axis=0, keepdims=True), exact.var(axis=0, keepdims=True), scale=4)


def test_variance_of_a_large_mean(device, rng):
    values = (1e4 + rng.normal(size=(2, 10007))).astype(np.float32)
    check(cw.array(values, device=device).var(axis=1), values.astype(np.float64).var(axis=1),
          scale=100)


@pytest.mark.parametrize("dtype", ALL, ids=name)
@pytest.mark.parametrize("op", ["argmin", "argmax"])
def test_positions(op, dtype, device, rng):
    values = draw(rng, (5, 33, 3), dtype, -3, 3)  # full of ties
    x = tensor(values, dtype, device)
    for axis in (None, 0, 1, -1):
        for keepdims in (False, True):
            check(getattr(x, op)(axis=axis, keepdims=keepdims),
                  getattr(np, op)(values, axis=axis, keepdims=keepdims), dtype=cw.i64)


def test_positions_of_nan_and_zeros(device):
    values = np.array([[1, np.nan, 5, np.nan], [-0.0, 0.0, -0.0, 0.0]], np.float32)
    x = cw.array(values, device=device)
    assert x.argmax(axis=1).tolist() == values.argmax(axis=1).tolist() == [1, 0]
    assert x.argmin(axis=1).tolist() == values.argmin(axis=1).tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_any_and_all(dtype, device, rng):
    values = draw(rng, (33, 3), dtype, -1, 1)
    values[:, 0], values[:, 1] = 0, 1
    x = tensor(values, dtype, device)
    for axis in (None, 0, 1):
        check(x.any(axis=axis), values.astype(bool).any(axis=axis), dtype=cw.bool_)
        check(x.all(axis=axis), values.astype(bool).all(axis=axis), dtype=cw.bool_)


@pytest.mark.parametrize("dtype", [*NUMBERS, cw.bool_], ids=name)
def test_cumsum(dtype, device, rng):
    values = draw(rng, (5, 33), dtype, 0, 2)
    x = tensor(values, dtype, device)
    wide = values.astype(np.float64 if dtype.is_floating else np.int64)
    for axis in (None, 0, 1, -2):
        check(x.cumsum(axis=axis), wide.cumsum(axis=axis), scale=4,
              dtype=dtype if dtype.is_floating else cw.i64)


@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 100003])
def test_cumsum_lengths(length, device, rng):
    values = rng.integers(-9, 9, length)
    check(cw.array(values, device=device).cumsum(axis=0), values.cumsum())
    floats = rng.random(length).astype(np.float32)
    exact = floats.astype(np.float64).cumsum()
    check(cw.array(floats, device=device).cumsum(axis=0), exact, scale=2)


def test_sums_of_small_integers_do_not_overflow(device):
    for dtype in INTEGERS:
        assert cw.full(1000, 100, dtype, device).sum().item() == 100000
    assert cw.ones(1000, "bool", device).sum().item() == 1000


def test_the_same_bits_at_any_number_of_threads(rng):
    values = cw.array(rng.normal(size=(3, 100003)).astype(np.float32))
    before = cw.threads()
    try:
        results = []
        for threads in (1, 2, 3):
            cw.set_threads(threads)
            results.append((values.sum(axis=1).tolist(), values.var(axis=0).sum().tolist()))
    finally:
        cw.set_threads(before)
    assert results[0] == results[1] == results[2]
