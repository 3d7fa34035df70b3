"""Property-based tests with random shapes and subscripts."""

import causeway as cw
import numpy as np
import pytest
from oracle import check

pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from hypothesis.extra import numpy as arrays  # noqa: E402

DEVICES = st.sampled_from([entry["device"] for entry in cw.devices()])
SHAPES = arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
quick = settings(max_examples=150, deadline=None)


def numbers(shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)


@quick
@given(DEVICES, SHAPES, st.data())
def test_any_subscript(device, shape, data):
    values = numbers(shape)
    x = cw.array(values, device=device)
    key = data.draw(arrays.basic_indices(shape, allow_newaxis=True, max_dims=6))
    check(x[key], values[key])
    x[key], values[key] = -1, -1
    check(x, values)


@quick
@given(DEVICES, SHAPES, st.data())
def test_any_subscript_of_a_view(device, shape, data):
    values = numbers(shape)
    x = cw.array(values, device=device)
    for _ in range(3):
        key = data.draw(arrays.basic_indices(values.shape, allow_newaxis=True, max_dims=5))
        x, values = x[key].T, np.asarray(values[key]).T
    check(x, values)
    check(x.clone() + 1, values + 1)
    check(x.sum(), values.astype(np.float64).sum(), scale=4)


@quick
@given(DEVICES, arrays.mutually_broadcastable_shapes(num_shapes=3, max_dims=4, max_side=4))
def test_any_broadcast(device, shapes):
    a, b, c = (numbers(shape) for shape in shapes.input_shapes)
    x, y, z = (cw.array(values, device=device) for values in (a, b, c))
    check(x + y * z, a + b * c)
    check(cw.where(x > y, y, z), np.where(a > b, b, c))
    assert (x + y + z).shape == shapes.result_shape


@quick
@given(DEVICES, SHAPES, st.data())
def test_any_reshape_of_a_view(device, shape, data):
    values = numbers(shape)
    x = cw.array(values, device=device)
    key = data.draw(arrays.basic_indices(shape))
    x, values = x[key].T, np.asarray(values[key]).T
    parts = data.draw(st.permutations([*values.shape, 1]))
    check(x.reshape(parts), values.reshape(parts))
    check(x.flatten(), values.reshape(-1))


@quick
@given(DEVICES, SHAPES, st.data())
def test_any_reduction(device, shape, data):
    values = numbers(shape)
    x = cw.array(values, device=device)
    order = data.draw(st.permutations(range(len(shape))))
    x, values = (x.permute(*order), values.transpose(order)) if order else (x, values)
    axes = data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)) if shape else set()
    axis, keepdims = tuple(axes) or None, data.draw(st.booleans())
    exact = values.astype(np.float64)
    check(x.sum(axis=axis, keepdims=keepdims), exact.sum(axis=axis, keepdims=keepdims), scale=4)
    if values.size:
        check(x.max(axis=axis, keepdims=keepdims), values.max(axis=axis, keepdims=keepdims))


@quick
@given(DEVICES, arrays.arrays(np.float32, SHAPES, elements=st.floats(width=32)), st.data())
def test_any_sort(device, values, data):
    if values.ndim == 0:
        return
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    x = cw.array(values, device=device)
    check(x.argsort(axis=axis), np.argsort(values, axis=axis, kind="stable"))
