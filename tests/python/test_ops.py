"""Arithmetic, element by element, against NumPy."""

import math

import causeway as cw
import numpy as np
import pytest
from oracle import (ALL, FLOATS, INTEGERS, NUMBERS, NUMPY, SHAPES, VIEWS, check, draw, host, name,
                    rounded, tensor)

erf = np.vectorize(math.erf, otypes=[np.float64])

# Of floating numbers: the function in float64, and where to draw from.
UNARY = {
    "negative": (np.negative, -8, 8),
    "absolute": (np.abs, -8, 8),
    "abs": (np.abs, -8, 8),
    "sign": (np.sign, -2, 2),
    "square": (np.square, -8, 8),
    "relu": (lambda x: np.maximum(x, 0), -8, 8),
    "sqrt": (np.sqrt, 0, 8),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 8),
    "reciprocal": (lambda x: 1 / x, 0.1, 8),
    "exp": (np.exp, -8, 8),
    "expm1": (np.expm1, -1, 4),
    "log": (np.log, 0.01, 8),
    "log1p": (np.log1p, -0.9, 8),
    "log2": (np.log2, 0.01, 8),
    "sin": (np.sin, -8, 8),
    "cos": (np.cos, -8, 8),
    "tan": (np.tan, -1.2, 1.2),
    "tanh": (np.tanh, -4, 4),
    "erf": (erf, -3, 3),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -8, 8),
    "silu": (lambda x: x / (1 + np.exp(-x)), -8, 8),
    "gelu": (lambda x: x / 2 * (1 + erf(x / math.sqrt(2))), -4, 4),
    "gelu_tanh": (
        lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))), -4, 4),
    "floor": (np.floor, -8, 8),
    "ceil": (np.ceil, -8, 8),
    "round": (np.round, -8, 8),
    "trunc": (np.trunc, -8, 8),
}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "remainder": np.remainder,
    "minimum": np.minimum,
    "maximum": np.maximum,
}
COMPARE = ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
BROADCASTS = [((3, 4), (4,)), ((3, 1), (1, 4)), ((2, 3, 4), ()), ((5, 1, 3), (4, 1)),
              ((0, 3), (1, 3)), ((33, 1), (33, 65)), ((1,), (31,))]
SPECIAL = [float("nan"), float("inf"), float("-inf"), -0.0, 0.0, 1.0, -1.5, 2.5, 3e38, 1e-40]


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_unary(op, dtype, device, rng):
    function, low, high = UNARY[op]
    for shape in SHAPES:
        values = draw(rng, shape, dtype, low, high)
        expected = function(values.astype(np.float64))
        x = tensor(values, dtype, device)
        check(getattr(cw, op)(x), expected, dtype=dtype)
    check(getattr(x, op)(), expected, dtype=dtype)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("op", ["negative", "sin", "exp"])
def test_unary_of_views(op, view, device, rng):
    values = draw(rng, (33, 65), cw.f32)
    x = VIEWS[view](tensor(values, cw.f32, device))
    check(getattr(cw, op)(x), getattr(np, op)(VIEWS[view](values)))


@pytest.mark.parametrize("dtype", [cw.f64, cw.f32], ids=name)
@pytest.mark.parametrize("op", ["exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tanh",
                                "floor", "ceil", "round", "trunc", "abs", "negative", "square",
                                "reciprocal"])
def test_unary_of_special_values(op, dtype, device):
    values = np.array(SPECIAL, dtype=NUMPY[dtype])
    with np.errstate(all="ignore"):
        expected = getattr(np, op)(values)
    actual = host(getattr(cw, op)(tensor(values, dtype, device)))
    np.testing.assert_allclose(actual, expected, rtol=4e-6)
    zero = (values == 0) & (expected == 0)
    np.testing.assert_array_equal(np.signbit(actual[zero]), np.signbit(expected[zero]))


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize("op", ["sin", "tan", "tanh", "erf", "expm1", "log1p", "sqrt", "floor",
                                "ceil", "round", "trunc"])
def test_minus_zero_stays(op, dtype, device):
    x = getattr(cw, op)(tensor(np.full(33, -0.0), dtype, device))
    assert np.signbit(host(x)).all()


def test_activations_at_infinity(device):
    x = cw.array([float("inf"), float("-inf"), float("nan")], device=device)
    np.testing.assert_array_equal(host(cw.relu(x)), [np.inf, 0, np.nan])
    np.testing.assert_array_equal(host(cw.sigmoid(x)), [1, 0, np.nan])
    np.testing.assert_array_equal(host(cw.sign(x)), [1, -1, np.nan])
    np.testing.assert_array_equal(host(cw.erf(x)), [1, -1, np.nan])


@pytest.mark.parametrize("dtype", INTEGERS, ids=name)
def test_unary_of_integers(dtype, device, rng):
    values = draw(rng, 33, dtype, -9, 9)
    x = tensor(values, dtype, device)
    check(cw.square(x), np.square(values), dtype=dtype)
    check(cw.negative(x), np.negative(values), dtype=dtype)
    check(cw.sign(x), np.sign(values), dtype=dtype)
    check(cw.floor(x), values, dtype=dtype)
    check(cw.exp(x), np.exp(values.astype(np.float64)), dtype=cw.f32)


def promoted(a, b):
    """The rule of core/dtype.h."""
    if a == b:
        return a
    floats = [dtype for dtype in (a, b) if dtype.is_floating]
    if len(floats) == 1:
        return floats[0]
    if len(floats) == 2:
        return cw.f64 if cw.f64 in floats else cw.f32
    joint = np.promote_types(NUMPY[a], NUMPY[b])
    return next(dtype for dtype in [*INTEGERS, cw.bool_] if NUMPY[dtype] == joint)


@pytest.mark.parametrize("a", ALL, ids=name)
@pytest.mark.parametrize("b", ALL, ids=name)
def test_promotion(a, b, device, rng):
    left, right = draw(rng, 33, a, 0, 5), draw(rng, 33, b, 1, 5)
    x, y = tensor(left, a, device), tensor(right, b, device)
    joint = promoted(a, b)
    wide = NUMPY[joint]
    check(x + y, left.astype(wide) + right.astype(wide), dtype=joint)
    check(x * y, left.astype(wide) * right.astype(wide), dtype=joint)
    quotient = joint if joint.is_floating else cw.f32
    divisor = np.where(right == 0, 1, right)
    check(x / tensor(divisor, b, device), left.astype(np.float64) / divisor, dtype=quotient)
    check(x < y, left.astype(wide) < right.astype(wide), dtype=cw.bool_)


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_binary_broadcasts(op, dtype, device, rng):
    for shape_a, shape_b in BROADCASTS:
        a, b = draw(rng, shape_a, dtype), draw(rng, shape_b, dtype)
        b = np.where(b == 0, NUMPY[dtype](1), b)
        actual = getattr(cw, op)(tensor(a, dtype, device), tensor(b, dtype, device))
        wide = np.float64 if dtype.is_floating or op == "divide" else NUMPY[dtype]
        check(actual, BINARY[op](a.astype(wide), b.astype(wide)))


@pytest.mark.parametrize("left", VIEWS)
@pytest.mark.parametrize("right", ["transposed", "backwards"])
def test_binary_of_views(left, right, device, rng):
    a, b = draw(rng, (65, 65), cw.f32), draw(rng, (65, 65), cw.f32)
    x, y = VIEWS[left](tensor(a, cw.f32, device)), VIEWS[right](tensor(b, cw.f32, device))
    expected, other = VIEWS[left](a), VIEWS[right](b)
    part = tuple(slice(size) for size in expected.shape[-2:])
    check(x + y[part], expected + other[part])
    check(cw.maximum(y[part], x), np.maximum(other[part], expected))


@pytest.mark.parametrize("op", ["minimum", "maximum", "add", "multiply", "remainder", "power"])
def test_binary_of_special_values(op, device):
    a, b = (array.reshape(-1) for array in np.meshgrid(*[np.array(SPECIAL, np.float32)] * 2))
    with np.errstate(all="ignore"):
        expected = getattr(np, op)(a, b)
    actual = host(getattr(cw, op)(tensor(a, cw.f32, device), tensor(b, cw.f32, device)))
    np.testing.assert_allclose(actual, expected, rtol=4e-6, atol=1e-44)


@pytest.mark.parametrize("op", COMPARE)
@pytest.mark.parametrize("dtype", [*NUMBERS, cw.bool_], ids=name)
def test_compare(op, dtype, device, rng):
    a, b = draw(rng, (7, 33), dtype, -2, 2), draw(rng, 33, dtype, -2, 2)
    x, y = tensor(a, dtype, device), tensor(b, dtype, device)
    check(getattr(cw, op)(x, y), getattr(np, op)(a, b), dtype=cw.bool_)
    check(getattr(cw, op)(x, 1), getattr(np, op)(a, 1), dtype=cw.bool_)
    check(getattr(cw, op)(1, x), getattr(np, op)(1, a), dtype=cw.bool_)


def test_compare_of_special_values(device):
    values = np.array(SPECIAL, np.float32)
    x = cw.array(values, device=device)
    for op in COMPARE:
        check(getattr(cw, op)(x, x[::-1]), getattr(np, op)(values, values[::-1]))
    check(cw.isnan(x), np.isnan(values))
    check(cw.isinf(x), np.isinf(values))
    check(cw.isfinite(x), np.isfinite(values))
    check(x.logical_not(), np.logical_not(values))


@pytest.mark.parametrize("dtype", [cw.f64, cw.f32, cw.i32, cw.u8], ids=name)
def test_operators_with_numbers(dtype, device, rng):
    values = draw(rng, 33, dtype, 1, 6)
    x = tensor(values, dtype, device)
    check(x + 2, values + 2, dtype=dtype)
    check(9 - x, 9 - values, dtype=dtype)
    check(x * 3, values * 3, dtype=dtype)
    check(x % 3, values % 3, dtype=dtype)
    check(7 % x, 7 % values, dtype=dtype)
    check(x**2, values**2, dtype=dtype)
    check(2**x, 2.0 ** values if dtype.is_floating else 2**values, dtype=dtype)
    wide = dtype if dtype.is_floating else cw.f32
    check(x / 2, values / 2.0, dtype=wide)
    check(1 / x, 1.0 / values, dtype=wide)
    check(x + 0.5, values + 0.5, dtype=wide)
    check(-x, -values, dtype=dtype)
    check(abs(x), abs(values), dtype=dtype)
    assert +x is not None


def test_operators_with_arrays_and_numpy_numbers():
    x, values = cw.ones((2, 3)), np.arange(3, dtype=np.float32)
    check(x + values, 1 + np.tile(values, (2, 1)))
    check(values - x, np.tile(values, (2, 1)) - 1)
    check(x * np.float32(2), np.full((2, 3), 2), dtype=cw.f32)
    check(np.int64(2) * x, np.full((2, 3), 2), dtype=cw.f32)


def test_numbers_keep_the_dtype(device):
    for dtype in FLOATS:
        assert (cw.ones(2, dtype, device) + 1.5).dtype == dtype
        assert (2 * cw.ones(2, dtype, device)).dtype == dtype
    assert (cw.ones(2, "bool", device) + 1).dtype == cw.i64


def test_logical_operators(device):
    a, b = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    x, y = cw.array(a, device=device), cw.array(b, device=device)
    check(x & y, a & b)
    check(x | y, a | b)
    check(x ^ y, a ^ b)
    check(~x, ~a)
    check(x & True, a)
    with pytest.raises(cw.InvalidArgument, match="bool tensors.*x != 0"):
        x & cw.ones(4, "i32", device)


def test_in_place(device):
    x = cw.arange(6, dtype="f32", device=device).reshape(2, 3)
    view, address = x[:, 1], x.data_ptr
    x += 1
    x *= cw.array([1.0, 2.0, 3.0], device=device)
    x -= 0.5
    x /= 2
    x **= 2
    expected = (((np.arange(6).reshape(2, 3) + 1) * [1, 2, 3] - 0.5) / 2) ** 2
    check(x, expected)
    check(view, expected[:, 1])
    assert x.data_ptr == address
    count = cw.arange(3, device=device)
    count %= 2
    check(count, [0, 1, 0], dtype=cw.i64)


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_where(dtype, device, rng):
    chosen, a, b = rng.random((7, 1)) < 0.5, draw(rng, (7, 33), dtype), draw(rng, 33, dtype)
    x, y = tensor(a, dtype, device), tensor(b, dtype, device)
    condition = cw.array(chosen, device=device)
    check(cw.where(condition, x, y), np.where(chosen, a, b), dtype=dtype)
    if dtype != cw.bool_:
        check(cw.where(condition, x, 1), np.where(chosen, a, 1), dtype=dtype)
        check(cw.where(condition, 0, y), np.where(chosen, 0, b), dtype=dtype)


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_clip(dtype, device, rng):
    values = draw(rng, (3, 33), dtype, 0, 8)
    x = tensor(values, dtype, device)
    check(cw.clip(x, 2, 5), np.clip(values, 2, 5), dtype=dtype)
    check(x.clip(max=5), np.minimum(values, 5), dtype=dtype)
    check(cw.clamp(x, 2), np.maximum(values, 2), dtype=dtype)


def test_clip_keeps_nan(device):
    x = cw.array([float("nan"), -9, 9], device=device)
    np.testing.assert_array_equal(host(x.clip(-1, 1)), [np.nan, -1, 1])


def test_rounding_of_the_halves(device, rng):
    values = rng.normal(size=1001).astype(np.float32)
    x = cw.array(values, device=device)
    np.testing.assert_array_equal(x.to("f16").numpy(), values.astype(np.float16))
    ml_dtypes = pytest.importorskip("ml_dtypes")
    np.testing.assert_array_equal(x.to("bf16").numpy(), values.astype(ml_dtypes.bfloat16))


def test_integers_wrap(device):
    x = cw.array([127, -128], dtype="i8", device=device)
    assert (x + 1).tolist() == [-128, -127]
    assert rounded([255, 256, 257], cw.u8).tolist() == [255, 0, 1]
