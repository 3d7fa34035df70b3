"""Shared by tests that compare with NumPy: dtypes, values, shapes, views and tolerances."""

import causeway as cw
import numpy as np

# The dtype NumPy computes in for each of ours; bf16 has none, its values are exact in float32.
NUMPY = {
    cw.f64: np.float64,
    cw.f32: np.float32,
    cw.f16: np.float16,
    cw.bf16: np.float32,
    cw.i64: np.int64,
    cw.i32: np.int32,
    cw.i16: np.int16,
    cw.i8: np.int8,
    cw.u8: np.uint8,
    cw.u16: np.uint16,
    cw.bool_: np.bool_,
}
FLOATS = [cw.f64, cw.f32, cw.f16, cw.bf16]
INTEGERS = [cw.i64, cw.i32, cw.i16, cw.i8, cw.u8, cw.u16]
NUMBERS = FLOATS + INTEGERS
ALL = [*NUMBERS, cw.bool_]

# Relative and absolute, by dtype.
TOLERANCE = {
    cw.f64: (1e-7, 1e-7),
    cw.f32: (1.3e-6, 1e-5),
    cw.f16: (1e-3, 1e-3),
    cw.bf16: (1.6e-2, 1e-5),
}

SHAPES = [(), (0,), (1,), (31,), (32,), (33,), (4, 0, 3), (2, 3, 4), (31, 33), (10007,)]

# The same view of a tensor and of an array of two dimensions or more.
VIEWS = {
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1],
    "every second": lambda x: x[..., ::2],
    "every third, backwards": lambda x: x[..., ::-3],
    "inner": lambda x: x[1:-1, 1:-1],
    "row": lambda x: x[1],
    "column": lambda x: x[..., 1],
}


def name(dtype):
    """For the names of parametrised tests."""
    return dtype.name if isinstance(dtype, cw.DType) else None


def tensor(array, dtype, device):
    return cw.array(np.asarray(array), dtype=dtype, device=device)


def host(x):
    """The values as a NumPy array; bf16 as float32."""
    return (x.to("f32") if x.dtype == cw.bf16 else x).numpy()


def rounded(array, dtype):
    """The array's values as the dtype holds them, as NumPy's counterpart type."""
    return host(cw.array(np.asarray(array), dtype=dtype))


def draw(rng, shape, dtype, low=-8.0, high=8.0):
    """Random values that the dtype holds exactly."""
    if dtype == cw.bool_:
        return rng.random(shape) < 0.5
    if dtype in INTEGERS:
        info = np.iinfo(NUMPY[dtype])
        low, high = max(int(low), info.min), min(int(high), info.max)
        return rng.integers(low, high, shape, endpoint=True).astype(NUMPY[dtype])
    return rounded(rng.uniform(low, high, shape), dtype)


def check(actual, expected, scale=1.0, dtype=None):
    """Equal for integers and bool, close by the dtype's tolerance for floats; NaN equals NaN."""
    expected = np.asarray(expected)
    assert actual.shape == expected.shape
    if dtype is not None:
        assert actual.dtype == dtype
    if actual.dtype not in TOLERANCE:
        np.testing.assert_array_equal(host(actual), expected)
        return
    rtol, atol = TOLERANCE[actual.dtype]
    got, wanted = host(actual).astype(np.float64), expected.astype(np.float64)
    np.testing.assert_allclose(got, wanted, rtol=rtol * scale, atol=atol * scale)
