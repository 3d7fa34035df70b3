"""Exchange of tensors with other libraries without a copy."""

import gc

import causeway as cw
import numpy as np
import pytest
from oracle import ALL, VIEWS, check, draw, host, name, tensor


def live(device="cpu"):
    gc.collect()
    return cw.memory_stats(device)["current"]


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_capsules_of_every_dtype(dtype, device, rng):
    values = draw(rng, (5, 7), dtype)
    x = tensor(values, dtype, device)
    for version in (None, (0, 8), (1, 0), (1, 1), (2, 0)):
        y = cw.from_dlpack(x.__dlpack__(max_version=version))
        assert y.data_ptr == x.data_ptr
        check(y, values, dtype=dtype)
    y = cw.from_dlpack(x)
    assert (y.data_ptr, y.device) == (x.data_ptr, device)
    check(y, values, dtype=dtype)


@pytest.mark.parametrize("view", VIEWS)
def test_views_keep_their_strides(view, device, rng):
    values = draw(rng, (33, 65), cw.f32)
    x = VIEWS[view](tensor(values, cw.f32, device))
    y = cw.from_dlpack(x)
    assert (y.strides, y.data_ptr) == (x.strides, x.data_ptr)
    check(y, VIEWS[view](values))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_small_shapes(shape, device):
    assert cw.from_dlpack(cw.ones(shape, device=device)).shape == shape


def test_device(device):
    kind, index = cw.zeros(1, device=device).__dlpack_device__()
    assert (kind, index) == ((1, 0) if device == "cpu" else (2, int(device[5:])))


def test_a_capsule_is_consumed_once(device):
    for version in (None, (1, 0)):
        capsule = cw.ones(3, device=device).__dlpack__(max_version=version)
        assert cw.from_dlpack(capsule).tolist() == [1, 1, 1]
        with pytest.raises(cw.InvalidArgument, match=r"\[from_dlpack\].*consumed once"):
            cw.from_dlpack(capsule)


def test_memory_lives_as_long_as_someone_uses_it(device):
    before = live(device)
    x = cw.zeros(100003, device=device)
    held = live(device)
    capsule = x.__dlpack__(max_version=(1, 0))
    del x
    assert live(device) == held
    y = cw.from_dlpack(capsule)
    del capsule
    assert live(device) == held
    view = y[::2]
    del y
    assert live(device) == held
    del view
    assert live(device) == before


def test_an_unused_capsule_frees_its_memory(device):
    before = live(device)
    for version in (None, (1, 0)):
        cw.zeros(100003, device=device).__dlpack__(max_version=version)
    assert live(device) == before


def test_copies_are_made_on_demand(device):
    x = cw.ones(3, device=device)
    assert cw.from_dlpack(x.__dlpack__(copy=True)).data_ptr != x.data_ptr
    assert cw.from_dlpack(x.__dlpack__(copy=False)).data_ptr == x.data_ptr
    y = cw.from_dlpack(x.__dlpack__(dl_device=(1, 0)))
    assert y.device == "cpu"
    check(y, np.ones(3))


def test_read_only_memory_stays_read_only():
    values = np.ones(3)
    values.flags.writeable = False
    x = cw.asarray(values)
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__()
    with pytest.raises(cw.InvalidArgument, match="read-only"):
        cw.from_dlpack(x.__dlpack__(max_version=(1, 0)))[0] = 1


def test_numpy_round_trip():
    x = cw.arange(6, dtype="f32").reshape(2, 3)
    array = np.from_dlpack(x.T)
    assert array.ctypes.data == x.data_ptr
    np.testing.assert_array_equal(array, host(x).T)
    values = np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1]
    y = cw.from_dlpack(values)
    assert y.data_ptr == values.ctypes.data
    check(y, values)


def test_producers_without_max_version():
    class Old:
        def __init__(self, inner):
            self.inner = inner
            self.calls = 0

        def __dlpack_device__(self):
            return self.inner.__dlpack_device__()

        def __dlpack__(self, stream=None):
            self.calls += 1
            return self.inner.__dlpack__(stream=stream)

    source = Old(cw.ones(3))
    for _ in range(2):
        assert cw.from_dlpack(source).tolist() == [1, 1, 1]
    assert source.calls == 2


def test_errors_of_producers_pass_through():
    class Broken:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **arguments):
            raise BufferError("not today")

    with pytest.raises(BufferError, match="not today"):
        cw.from_dlpack(Broken())
    with pytest.raises(TypeError, match="__dlpack__"):
        cw.from_dlpack(3)
    with pytest.raises(cw.InvalidArgument, match=r"\[from_dlpack\].*convert it first"):
        cw.from_dlpack(np.zeros(3, np.complex64))
    with pytest.raises(cw.InvalidArgument, match="CPU tensor has no stream"):
        cw.ones(1).__dlpack__(stream=1)
    assert not hasattr(cw.ones(1), "__cuda_array_interface__")


@pytest.mark.parametrize("dtype", [d for d in ALL if d != cw.u16], ids=name)
def test_torch(dtype, device, rng):
    torch = pytest.importorskip("torch")
    if device != "cpu" and not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    values = draw(rng, (5, 7), dtype)
    x = tensor(values, dtype, device)
    theirs = torch.from_dlpack(x)
    assert theirs.data_ptr() == x.data_ptr
    np.testing.assert_array_equal(theirs.cpu().to(torch.float64).numpy(), values.astype(np.float64))
    back = cw.from_dlpack(theirs.T)
    assert (back.data_ptr, back.strides) == (x.data_ptr, (1, 7))
    check(back, values.T, dtype=dtype)
    theirs.zero_()
    if device != "cpu":
        torch.cuda.synchronize()
    assert not x.any().item()
    assert cw.array(theirs).data_ptr != x.data_ptr
    assert cw.asarray(theirs).data_ptr == x.data_ptr


def test_torch_method(device):
    torch = pytest.importorskip("torch")
    before = live()
    for dtype in (cw.f32, cw.bf16, cw.i64, cw.u8, cw.bool_):
        x = cw.arange(12).reshape(3, 4).to(dtype).to(device).T
        theirs = x.torch()
        assert isinstance(theirs, torch.Tensor)
        assert theirs.data_ptr() == x.data_ptr
        assert tuple(theirs.shape) == x.shape and tuple(theirs.stride()) == x.strides
        assert theirs.device.type == device.split(":")[0]
        assert cw.from_dlpack(theirs).data_ptr == x.data_ptr
        assert theirs.tolist() == x.tolist()
    del x, theirs
    assert live() == before


def test_torch_on_side_streams(cuda):
    torch = pytest.importorskip("torch")
    side = torch.cuda.Stream()
    for _ in range(20):
        big = cw.full((2048, 2048), 1.0, device=cuda) @ cw.full((2048, 2048), 1.0, device=cuda)
        with torch.cuda.stream(side):
            theirs = big.torch() + 1  # waits for the product
            back = cw.from_dlpack(theirs)  # waits for the addition
        assert (back * 2).min().item() == 4098
        del big, theirs, back


def test_torch_keeps_memory_alive():
    torch = pytest.importorskip("torch")
    before = live()
    theirs = torch.from_dlpack(cw.full(100003, 2.0))
    assert theirs.sum().item() == 200006
    del theirs
    assert live() == before


def test_streams_of_consumers(cuda):
    x = cw.ones(100003, device=cuda)
    for stream in (None, 1, 2, -1):
        check(cw.from_dlpack(x.__dlpack__(stream=stream)), np.ones(100003))
    with pytest.raises(cw.InvalidArgument, match="stream 0 is ambiguous"):
        x.__dlpack__(stream=0)
    for _ in range(20):
        # The producer's current stream is the one the consumer's must wait for.
        other = cw.Stream(cuda)
        with cw.stream(cw.Stream(cuda)):
            big = cw.full((2048, 2048), 1.0, device=cuda) @ cw.full((2048, 2048), 1.0, device=cuda)
            capsule = big.__dlpack__(stream=other.handle)
        with cw.stream(other):
            taken = cw.from_dlpack(capsule)
            assert (taken + 1).min().item() == 2049
        del capsule, big, taken
    cw.synchronize(cuda)


def test_cuda_array_interface(cuda, rng):
    values = draw(rng, (33, 65), cw.f32)
    x = tensor(values, cw.f32, cuda)
    described = x.T.__cuda_array_interface__
    assert described["version"] == 3
    assert described["shape"] == (65, 33)
    assert described["strides"] == (4, 260)
    assert described["data"] == (x.data_ptr, False)
    assert described["stream"] == cw.current_stream(cuda).handle

    class Foreign:
        __cuda_array_interface__ = described

    y = cw.asarray(Foreign())
    assert y.data_ptr == x.data_ptr
    check(y, values.T)
    assert not hasattr(x.to("bf16"), "__cuda_array_interface__")


def test_cupy(cuda, rng):
    cupy = pytest.importorskip("cupy")
    values = draw(rng, (33, 65), cw.f32)
    x = tensor(values, cw.f32, cuda)
    for theirs in (cupy.from_dlpack(x), cupy.asarray(x)):
        assert theirs.data.ptr == x.data_ptr
        np.testing.assert_array_equal(theirs.get(), values)
    check(cw.from_dlpack(cupy.asarray(values)), values)
