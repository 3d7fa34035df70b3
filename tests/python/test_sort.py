"""Sorting along an axis against NumPy's stable sort."""

import causeway as cw
import numpy as np
import pytest
from oracle import ALL, FLOATS, VIEWS, check, draw, host, name, tensor


@pytest.mark.parametrize("dtype", ALL, ids=name)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sort(dtype, axis, device, rng):
    values = draw(rng, (33, 65), dtype, -5, 5)  # integers are full of ties
    x = tensor(values, dtype, device)
    order = np.argsort(values, axis=axis, kind="stable")
    check(cw.sort(x, axis=axis), np.sort(values, axis=axis), dtype=dtype)
    check(cw.argsort(x, axis=axis), order, dtype=cw.i64)


@pytest.mark.parametrize("length", [0, 1, 2, 31, 32, 33, 1025, 100003])
def test_lengths(length, device, rng):
    values = rng.normal(size=length).astype(np.float32)
    x = cw.array(values, device=device)
    check(x.sort(axis=0), np.sort(values))
    check(x.sort(axis=0, descending=True), np.sort(values)[::-1])


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_descending_is_stable(dtype, device, rng):
    values = draw(rng, 257, dtype, -3, 3)
    actual = tensor(values, dtype, device).argsort(descending=True)
    keys = -values.astype(np.int64) if not dtype.is_floating else -values.astype(np.float64)
    check(actual, np.argsort(keys, kind="stable"))


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_nan_last_and_zeros_equal(dtype, device):
    x = tensor([np.nan, 1, -np.inf, 0.0, -0.0, np.inf, np.nan, -1], dtype, device)
    assert x.argsort().tolist() == [2, 7, 3, 4, 1, 5, 0, 6]
    assert x.argsort(descending=True).tolist() == [0, 6, 5, 1, 3, 4, 7, 2]
    assert np.isnan(host(x.sort(axis=0))[-2:]).all()


@pytest.mark.parametrize("view", VIEWS)
def test_views(view, device, rng):
    values = draw(rng, (33, 65), cw.i32, -1000, 1000)
    x = VIEWS[view](tensor(values, cw.i32, device))
    check(x.sort(axis=0), np.sort(VIEWS[view](values), axis=0))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [0, 1, 5, 33])
def test_topk(k, largest, device, rng):
    values = draw(rng, (7, 33), cw.f32)
    found, places = cw.topk(cw.array(values, device=device), k, largest=largest)
    order = np.argsort(-values if largest else values, axis=1, kind="stable")[:, :k]
    check(places, order, dtype=cw.i64)
    check(found, np.take_along_axis(values, order, axis=1))


def test_topk_along_another_axis(device, rng):
    values = draw(rng, (33, 7), cw.f32)
    found, _ = cw.array(values, device=device).topk(3, axis=0)
    check(found, -np.sort(-values, axis=0)[:3])
