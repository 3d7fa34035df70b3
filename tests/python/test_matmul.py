"""Matrix products against NumPy in float64."""

import causeway as cw
import numpy as np
import pytest
from oracle import FLOATS, check, draw, host, name, tensor

SHAPES = [
    ((1, 1), (1, 1)),
    ((31, 33), (33, 32)),
    ((257, 129), (129, 65)),
    ((5, 0), (0, 3)),
    ((0, 4), (4, 3)),
    ((33,), (33,)),
    ((33,), (33, 5)),
    ((5, 33), (33,)),
    ((7, 3, 33), (7, 33, 5)),
    ((7, 3, 33), (33, 5)),
    ((3, 33), (7, 33, 5)),
    ((2, 1, 3, 4), (1, 5, 4, 6)),
    ((33,), (7, 33, 5)),
    ((7, 5, 33), (33,)),
    ((0, 3, 4), (4, 5)),
    ((600, 8, 9), (600, 9, 10)),
]


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
@pytest.mark.parametrize(("left", "right"), SHAPES, ids=str)
def test_shapes(left, right, dtype, device, rng):
    a, b = draw(rng, left, dtype, -1, 1), draw(rng, right, dtype, -1, 1)
    x, y = tensor(a, dtype, device), tensor(b, dtype, device)
    expected = np.matmul(a.astype(np.float64), b.astype(np.float64))
    check(x @ y, expected, scale=8, dtype=dtype)
    check(cw.matmul(x, y), expected, scale=8)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_views(dtype, device, rng):
    values = draw(rng, (65, 65), dtype, -1, 1)
    x, exact = tensor(values, dtype, device), values.astype(np.float64)
    views = [lambda m: m, lambda m: m.T, lambda m: m[::-1], lambda m: m[:, ::-1],
             lambda m: m[1:, 1:].T[:, 1:], lambda m: m[::2, ::3]]
    for left in views:
        for right in views:
            a, b = left(x), right(x)
            inner = min(a.shape[1], b.shape[0])
            expected = left(exact)[:, :inner] @ right(exact)[:inner]
            check(a[:, :inner] @ b[:inner], expected, scale=8)


def test_expanded(device):
    a = cw.arange(6, dtype="f32", device=device).reshape(2, 3)
    check(a[0].expand(4, 3) @ a.T, np.tile(host(a)[0] @ host(a).T, (4, 1)))
    check(a.expand(5, 2, 3) @ a.T, np.tile(host(a) @ host(a).T, (5, 1, 1)))


def test_mixed_types(device):
    a, b = cw.ones((2, 3), "f16", device), cw.ones((3, 2), "f32", device)
    check(a @ b, np.full((2, 2), 3), dtype=cw.f32)
    check(a.to("i32") @ b, np.full((2, 2), 3), dtype=cw.f32)


def test_large(device, rng):
    a, b = (rng.normal(size=(513, 511)).astype(np.float32) for _ in range(2))
    actual = cw.array(a, device=device) @ cw.array(b.T, device=device)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_the_halves_accumulate_in_f32(device):
    a, b = cw.ones((1, 4099), "f16", device), cw.ones((4099, 1), "f16", device)
    assert (a @ b).item() == 4100  # 4099 rounded to f16; a sum in f16 would stop at 2048


def test_tf32_can_be_allowed(device):
    assert not cw.allow_tf32()
    try:
        cw.set_allow_tf32(True)
        assert cw.allow_tf32()
        check(cw.eye(33, device=device) @ cw.eye(33, device=device), np.eye(33))
    finally:
        cw.set_allow_tf32(False)
