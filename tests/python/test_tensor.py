"""Tensors: creation, attributes, views and copies."""

import copy
import pickle

import causeway as cw
import numpy as np
import pytest
from oracle import ALL, FLOATS, INTEGERS, NUMPY, SHAPES, VIEWS, check, draw, host, name, tensor


@pytest.mark.parametrize("shape", SHAPES)
def test_attributes(shape, device):
    x = cw.empty(shape, "f16", device)
    assert x.shape == shape
    assert x.ndim == len(shape)
    assert x.size == np.prod(shape, dtype=int)
    assert x.itemsize == 2
    assert x.nbytes == 2 * x.size
    assert x.dtype == cw.f16
    assert x.device == device
    assert x.is_contiguous


def test_strides_count_elements(device):
    x = cw.zeros((2, 3, 4), device=device)
    assert x.strides == (12, 4, 1)
    assert x.T.strides == (1, 4, 12)
    assert x[:, ::-1].strides == (12, -4, 1)
    assert not x.T.is_contiguous


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_every_dtype_makes_the_round_trip(dtype, device, rng):
    values = draw(rng, (5, 7), dtype)
    x = tensor(values, dtype, device)
    assert x.dtype == dtype
    check(x, values)
    check(x.clone(), values, dtype=dtype)
    check(x.to("cpu").to(device), values, dtype=dtype)


@pytest.mark.parametrize("source", ALL, ids=name)
@pytest.mark.parametrize("target", ALL, ids=name)
def test_conversion(source, target, device, rng):
    values = draw(rng, 33, source, 0, 7)
    check(tensor(values, source, device).astype(target), values.astype(NUMPY[target]), dtype=target)


def test_names_of_dtypes():
    for spelling in ("f32", "float32", np.float32, np.dtype("float32"), cw.f32, float):
        assert cw.zeros(1, dtype=spelling).dtype == cw.f32
    assert cw.zeros(1, dtype=int).dtype == cw.i64
    for spelling in ("bool", bool, np.bool_, np.dtype(bool), cw.bool_):
        assert cw.zeros(1, dtype=spelling).dtype == cw.bool_
    assert cw.zeros(1, dtype="bfloat16").dtype == cw.bf16
    assert cw.bf16.itemsize == 2
    assert cw.bf16.is_floating and not cw.u16.is_floating


def test_to_takes_devices_and_dtypes(device):
    x = cw.ones(3)
    assert x.to(device).device == device
    assert x.to("f16").dtype == cw.f16
    both = x.to(device, cw.i32)
    assert (both.device, both.dtype) == (device, cw.i32)
    with pytest.raises(TypeError, match="devices"):
        x.to(3)


def test_array_copies_and_asarray_shares():
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    copied, shared = cw.array(values), cw.asarray(values)
    values[0, 0] = 9
    assert copied[0, 0].item() == 0
    assert shared[0, 0].item() == 9
    assert cw.asarray(shared).data_ptr == shared.data_ptr
    assert cw.array(shared).data_ptr != shared.data_ptr


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        (1, cw.i64),
        (1.5, cw.f32),
        (True, cw.bool_),
        ([], cw.f32),
        ([1, 2], cw.i64),
        ([[1.0, 2.0], [3.0, 4.0]], cw.f32),
        ([True, False], cw.bool_),
        (np.float64(2), cw.f64),
        (np.arange(3, dtype=np.uint16), cw.u16),
        (range(4), cw.i64),
    ],
)
def test_array_of_lists_and_numbers(values, dtype, device):
    x = cw.array(values, device=device)
    check(x, np.asarray(values), dtype=dtype)
    assert x.device == device


@pytest.mark.parametrize("view", VIEWS)
def test_numpy_views_come_without_a_copy(view):
    values = VIEWS[view](np.arange(63, dtype=np.float32).reshape(7, 9))
    x = cw.asarray(values)
    assert x.data_ptr == values.ctypes.data
    check(x, values)


def test_numpy_arrays_that_cannot_be_shared_are_copied():
    swapped = np.arange(4, dtype=">i4")
    with pytest.raises(cw.InvalidArgument, match='">i4".*convert'):
        cw.asarray(swapped)
    record = np.zeros(3, dtype=[("tag", "u1"), ("value", "<f4")])
    record["value"] = [1, 2, 3]
    check(cw.asarray(record["value"]), [1, 2, 3], dtype=cw.f32)


def test_read_only_arrays_stay_read_only():
    values = np.zeros(3)
    values.flags.writeable = False
    x = cw.asarray(values)
    with pytest.raises(cw.InvalidArgument, match="read-only.*clone"):
        x[0] = 1
    assert not x.numpy().flags.writeable


def test_numpy_shares_memory_and_keeps_it_alive():
    x = cw.zeros((2, 3))
    array = x.T.numpy()
    assert array.strides == (4, 12)
    array[2, 1] = 5
    assert x[1, 2].item() == 5
    del x
    assert array[2, 1] == 5


def test_tensors_keep_numpy_memory_alive():
    x = cw.asarray(np.full(100003, 3.0))
    assert x.sum().item() == 300009


def test_array_protocol(device):
    x = cw.arange(3, device=device)
    np.testing.assert_array_equal(np.asarray(x), [0, 1, 2])
    assert np.asarray(x, dtype=np.float32).dtype == np.float32
    np.testing.assert_array_equal(np.add(x.to("cpu"), 1), [1, 2, 3])


def test_bf16_as_numpy():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = cw.array([1.5, -2.0]).to("bf16")
    assert x.numpy().dtype == ml_dtypes.bfloat16
    assert x.numpy().ctypes.data == x.data_ptr
    back = cw.asarray(x.numpy())
    assert back.dtype == cw.bf16
    assert back.tolist() == [1.5, -2.0]
    assert cw.empty(0, "bf16").numpy().dtype == ml_dtypes.bfloat16


def test_creation(device):
    check(cw.zeros((2, 3), device=device), np.zeros((2, 3)), dtype=cw.f32)
    check(cw.ones(4, "u8", device), np.ones(4), dtype=cw.u8)
    check(cw.full((2, 2), 7, device=device), np.full((2, 2), 7), dtype=cw.i64)
    check(cw.full(3, 0.5, "bf16", device), np.full(3, 0.5), dtype=cw.bf16)
    check(cw.eye(33, "f64", device), np.eye(33), dtype=cw.f64)
    check(cw.arange(5, device=device), np.arange(5), dtype=cw.i64)
    check(cw.arange(2, 11, 3, device=device), np.arange(2, 11, 3), dtype=cw.i64)
    check(cw.arange(1, 0, -0.25, device=device), np.arange(1, 0, -0.25), dtype=cw.f32)
    for arguments in [(0, 1, 5), (3, -3, 33), (2, 5, 1), (0, 1, 0), (0, 0.7, 100)]:
        check(cw.linspace(*arguments, dtype="f64", device=device), np.linspace(*arguments))
    check(cw.linspace(0, 1, 5, endpoint=False), np.linspace(0, 1, 5, endpoint=False))


def test_creation_like(device):
    x = cw.zeros((2, 3), "i16", device)
    for made, value in [(cw.zeros_like(x), 0), (cw.ones_like(x), 1), (cw.full_like(x, 5), 5)]:
        check(made, np.full((2, 3), value), dtype=cw.i16)
        assert made.device == device
    assert cw.empty_like(x, "f64").dtype == cw.f64


def test_views_share_memory(device):
    x = cw.arange(24, device=device).reshape(2, 3, 4)
    expected = np.arange(24).reshape(2, 3, 4)
    for ours, theirs in [
        (x.T, expected.T),
        (x.transpose(), expected.swapaxes(-1, -2)),
        (x.transpose(0, 2), expected.swapaxes(0, 2)),
        (x.permute(2, 0, 1), expected.transpose(2, 0, 1)),
        (x.permute((1, 2, 0)), expected.transpose(1, 2, 0)),
        (x.reshape(4, 6), expected.reshape(4, 6)),
        (x.reshape((-1, 8)), expected.reshape(-1, 8)),
        (x.flatten(), expected.reshape(-1)),
        (x.unsqueeze(1), expected[:, None]),
        (x[:1].squeeze(0), expected[0]),
        (x[:1, :, :1].squeeze(), expected[0, :, 0]),
        (x[:, :1].expand(2, 5, 4), np.broadcast_to(expected[:, :1], (2, 5, 4))),
        (x[0, 0].expand((3, 4)), np.broadcast_to(expected[0, 0], (3, 4))),
    ]:
        check(ours, theirs)
        assert ours.data_ptr == x.data_ptr


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [cw.f64, cw.i32, cw.bf16, cw.u8], ids=name)
def test_copies_of_views(view, dtype, device, rng):
    values = draw(rng, (33, 65), dtype)
    x, expected = VIEWS[view](tensor(values, dtype, device)), VIEWS[view](values)
    pickled = pickle.loads(pickle.dumps(x))
    for made in (x.contiguous(), x.clone(), x.copy(), copy.copy(x), copy.deepcopy(x), pickled):
        assert made.is_contiguous
        check(made, expected, dtype=dtype)
    check(x.flatten(), expected.reshape(-1))
    check(x.to("cpu"), expected)
    check(x.to("f64"), expected.astype(np.float64))
    assert x.tolist() == expected.tolist()


def test_copies_of_leaves_are_leaves(device):
    for dtype in ("f32", "bf16"):
        leaf = cw.ones((2, 3), dtype, device).requires_grad_()
        again = copy.deepcopy({"a": leaf, "b": leaf})
        assert again["a"] is again["b"]
        for made in (again["a"], pickle.loads(pickle.dumps(leaf))):
            assert made.is_leaf and made.requires_grad and made.dtype == leaf.dtype
            assert made.device == leaf.device and made.data_ptr != leaf.data_ptr
            (made * 2.0).sum().backward()
        assert leaf.grad is None
        assert not copy.deepcopy(leaf.detach()).requires_grad
    assert pickle.loads(pickle.dumps(cw.zeros((0, 3), "i64", device))).shape == (0, 3)
    bits = pickle.dumps(cw.array([1.5, 2.5], device=device))
    for wrong, kind in ((b"cuda:9", cw.DeviceError), (b"marble", cw.InvalidArgument)):
        host = pickle.dumps(cw.ones(3), protocol=2)
        with pytest.raises(kind):
            pickle.loads(host.replace(b"X\x03\0\0\0cpu", b"X\x06\0\0\0" + wrong))
    with pytest.raises(Exception, match="damaged"):
        pickle.loads(bits.replace(b"f32", b"f64"))


def test_reshape_of_a_strided_tensor_without_elements(device):
    x = cw.zeros((0, 6), device=device)[:, ::2]
    assert x.reshape(3, 0).shape == (3, 0)
    assert x.reshape(0, 7).shape == (0, 7)


def test_numbers_out_of_tensors(device):
    assert isinstance(cw.array(2.5, device=device).item(), float)
    assert isinstance(cw.array(2, device=device).item(), int)
    assert cw.array([[True]], device=device).item() is True
    assert float(cw.array([3], device=device)) == 3.0
    assert int(cw.array(3.7, device=device)) == 3
    assert bool(cw.array([0.0], device=device)) is False
    assert cw.array(-(2**62) - 1, device=device).item() == -(2**62) - 1
    with pytest.raises(cw.ShapeMismatch, match=r"\[item\].*\(2,\).*exactly one"):
        cw.ones(2, device=device).item()
    with pytest.raises(cw.ShapeMismatch, match=r"any\(\) or all\(\)"):
        bool(cw.ones(2, device=device))


def test_len_and_iteration(device):
    x = cw.array([[1, 2], [3, 4]], device=device)
    assert len(x) == 2
    assert [row.tolist() for row in x] == [[1, 2], [3, 4]]
    for function in (len, iter):
        with pytest.raises(TypeError):
            function(cw.array(1))


def test_identity_is_the_hash(device):
    x, y = cw.zeros(2, device=device), cw.zeros(2, device=device)
    table = {x: "x", y: "y"}
    assert (table[x], table[y]) == ("x", "y")
    assert (x == None) is False  # noqa: E711: what a comparison with a stranger gives


def test_repr():
    assert repr(cw.array([[1, 2]])) == "tensor([[1, 2]], shape=(1, 2), dtype=i64, device=cpu)"
    assert "..." in repr(cw.zeros(10007))
    assert len(repr(cw.zeros((100, 100, 100)))) < 3000
    assert "nan" in repr(cw.array([float("nan"), 1.5]))


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS, ids=name)
def test_copy_from_broadcasts_and_converts(dtype, device):
    x = cw.zeros((2, 3), dtype, device)
    x.copy_from(cw.array([1.0, 2.0, 3.0], device=device))
    check(x, np.tile([1, 2, 3], (2, 1)), dtype=dtype)


def test_host_matches_tolist():
    assert host(cw.array([1.5]).to("bf16")).tolist() == cw.array([1.5]).to("bf16").tolist()
