"""Indexing, gather, scatter, concatenation and splitting against NumPy."""

import causeway as cw
import numpy as np
import pytest
from oracle import ALL, NUMBERS, check, draw, name, tensor

KEYS = {
    "integer": 1,
    "negative integer": -1,
    "numpy integer": np.int32(1),
    "integers": (1, -2, 3),
    "slice": slice(1, 3),
    "step": (slice(None), slice(None, None, 2)),
    "backwards": slice(None, None, -1),
    "backwards by two": (Ellipsis, slice(4, 0, -2)),
    "to the very beginning": (Ellipsis, slice(2, None, -1)),
    "beyond the end": slice(1, 100),
    "before the start": slice(-100, 2),
    "empty": slice(2, 1),
    "empty backwards": slice(0, 2, -1),
    "ellipsis": (Ellipsis, 0),
    "ellipsis inside": (0, Ellipsis, slice(1, None)),
    "ellipsis alone": Ellipsis,
    "new axis": None,
    "new axes": (slice(None), None, 0, None),
    "new axis and ellipsis": (None, Ellipsis, None),
    "nothing": (),
    "list": [2, 0, 0],
    "negative list": [-1, 0, -3],
    "empty list": [],
    "list behind": (slice(None), [1, 3]),
    "list behind ellipsis": (Ellipsis, [4, 0]),
    "array": (slice(1, None), np.array([0, 2, 1])),
    "2-D array": (slice(None), np.array([[0, 1], [2, 3]])),
    "0-D array": (slice(None), np.array(2)),
    "integer beside a list": (0, [1, 2]),
    "list beside an integer": ([2, 1], 0),
    "integer apart from a list": (0, slice(None), [1, 2, 0]),
    "list and new axis": ([0, 2], None, slice(1, 3)),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_get(key, device):
    values = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    x = cw.array(values, device=device)
    check(x[key], values[key])
    check(x.T[::-1].T[key], values[..., ::-1][key])


def test_views_share_and_lists_copy(device):
    x = cw.zeros((3, 4), device=device)
    x[1:, ::2] += 1
    x[0].copy_from(cw.arange(4, device=device))
    check(x, [[0, 1, 2, 3], [1, 0, 1, 0], [1, 0, 1, 0]])
    x[[0, 1]].copy_from(cw.zeros((2, 4), device=device))
    assert x[0, 3].item() == 3


def test_tensors_as_indices(device):
    values = np.arange(12).reshape(3, 4)
    x = cw.array(values, device=device)
    for dtype in ("i64", "i32", "u8"):
        check(x[cw.array([2, 0], dtype=dtype, device=device)], values[[2, 0]])
    check(x[:, cw.array([-1, 1], device=device)], values[:, [-1, 1]])


@pytest.mark.parametrize("key", [1, -1, (0, 2), slice(1, 3), (Ellipsis, slice(None, None, -2)),
                                 None, (), (slice(None), None, 0), slice(3, 3)], ids=str)
@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_set(key, dtype, device, rng):
    values = draw(rng, (3, 4, 5), dtype)
    x = tensor(values, dtype, device)
    x[key], values[key] = 1, 1
    check(x, values)
    source = draw(rng, values[key].shape, dtype)
    x[key], values[key] = tensor(source, dtype, device), source
    check(x, values)
    x[key] = cw.array(2.0, device=device)
    values[key] = 2
    check(x, values)


def test_set_of_overlapping_memory(device):
    values = np.arange(100003)
    x = cw.array(values, device=device)
    x[1:], values[1:] = x[:-1], values[:-1].copy()
    check(x, values)
    x[:], values[:] = x[::-1], values[::-1].copy()
    check(x, values)


def test_set_takes_numpy_arrays():
    x = cw.zeros((2, 3))
    x[:, 1:] = np.array([1, 2])
    check(x, [[0, 1, 2], [0, 1, 2]])


@pytest.mark.parametrize("dtype", ALL, ids=name)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_index_select_and_gather(dtype, axis, device, rng):
    values = draw(rng, (5, 33, 3), dtype)
    x = tensor(values, dtype, device)
    index = rng.integers(0, values.shape[axis], 65)
    check(cw.index_select(x, cw.array(index, device=device), axis), values.take(index, axis))
    check(x.take(cw.array(index, dtype="i32", device=device), axis), values.take(index, axis))
    shape = list(values.shape)
    shape[axis] = 7
    index = rng.integers(0, values.shape[axis], shape)
    expected = np.take_along_axis(values, index, axis)
    check(cw.gather(x, cw.array(index, device=device), axis), expected)
    check(x.T.T.take_along_axis(cw.array(index, device=device), axis), expected)


@pytest.mark.parametrize("dtype", ALL, ids=name)
@pytest.mark.parametrize("axis", [0, 1])
def test_scatter(dtype, axis, device, rng):
    values = draw(rng, (33, 65), dtype)
    shape = [33, 65]
    shape[axis] = 9
    index = rng.integers(0, values.shape[axis], shape)  # places are hit again and again
    source = draw(rng, shape, dtype)
    x, places = tensor(values, dtype, device), cw.array(index, device=device)
    result = cw.scatter(x, places, tensor(source, dtype, device), axis)
    expected = values.copy()
    rows, columns = np.indices(shape)
    for k in range(9):  # in order: the last write stands
        part = (slice(k, k + 1), slice(None)) if axis == 0 else (slice(None), slice(k, k + 1))
        where = (index[part], columns[part]) if axis == 0 else (rows[part], index[part])
        expected[where] = source[part]
    check(result, expected, dtype=dtype)
    check(x, values)


@pytest.mark.parametrize("dtype", NUMBERS, ids=name)
def test_scatter_add(dtype, device, rng):
    values, source = draw(rng, (7, 5), dtype, 0, 3), draw(rng, (33, 5), dtype, 0, 3)
    index = rng.integers(0, 7, (33, 5))
    expected = values.astype(np.float64)
    np.add.at(expected, (index, np.arange(5)), source)
    x = tensor(values, dtype, device)
    actual = x.scatter_add(cw.array(index, device=device), tensor(source, dtype, device), axis=0)
    check(actual, expected, scale=8, dtype=dtype)


def test_scatter_expands_the_source(device):
    x = cw.zeros((2, 3), device=device)
    index = cw.array([[0, 2], [1, 1]], device=device)
    check(x.scatter(index, cw.array(5.0, device=device), axis=1), [[5, 0, 5], [0, 5, 0]])


def test_messages_name_the_index_given(device):
    x = cw.zeros((3, 2), device=device)
    for index in ([0, -4], [3]):
        with pytest.raises(cw.InvalidArgument, match=rf"index {index[-1]} is out of range .* size 3"):
            x[index].numpy()


@pytest.mark.parametrize("operation", ["index_select", "gather", "scatter", "scatter_add"])
def test_indices_out_of_range(operation, device):
    x = cw.zeros((3, 2), device=device)
    index = cw.array([0, 7] if operation == "index_select" else [[0, 7]], device=device)
    arguments = [index] if operation in ("index_select", "gather") else [index, x[:1]]
    with pytest.raises(cw.InvalidArgument, match=r"index 7 is out of range for axis 0 of size 3"):
        getattr(cw, operation)(x, *arguments, axis=0)
        cw.synchronize(device)
    check(x + 1, np.ones((3, 2)))  # the device goes on


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate_and_stack(axis, device, rng):
    parts = [draw(rng, (3, 4), cw.f32) for _ in range(3)]
    tensors = [cw.array(part, device=device) for part in parts]
    check(cw.concatenate(tensors, axis), np.concatenate(parts, axis))
    check(cw.stack(tensors, axis), np.stack(parts, axis))
    turned = [x.T for x in tensors]
    check(cw.concatenate(turned, axis), np.concatenate([part.T for part in parts], axis))


def test_concatenate_promotes_and_takes_empty_parts(device):
    parts = [cw.ones((2, 2), "i32", device), cw.zeros((0, 2), "f16", device)]
    check(cw.concatenate(parts), np.ones((2, 2)), dtype=cw.f16)


def test_split(device):
    x = cw.arange(14, device=device).reshape(2, 7)
    assert [part.shape for part in cw.split(x, 3, axis=1)] == [(2, 3), (2, 3), (2, 1)]
    parts = x.split([1, 0, 6], axis=1)
    assert [part.shape for part in parts] == [(2, 1), (2, 0), (2, 6)]
    parts[0] += 100
    assert x[:, 0].tolist() == [100, 107]
    with pytest.raises(cw.ShapeMismatch, match=r"\[split\].*add up to 5.*\(2, 7\)"):
        x.split([2, 3], axis=1)


@pytest.mark.parametrize("dtype", [cw.f32, cw.i8, cw.bool_], ids=name)
def test_pad(dtype, device, rng):
    values = draw(rng, (3, 4), dtype)
    x = tensor(values, dtype, device)
    expected = np.pad(values, [(1, 2), (0, 3)], constant_values=1)
    check(cw.pad(x, [(1, 2), (0, 3)], 1), expected, dtype=dtype)
    check(x.T.pad(2), np.pad(values.T, 2))
