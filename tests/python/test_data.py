"""Files of tensors, against NumPy's and Hugging Face's readers and writers."""

import causeway as cw
import numpy as np
import pytest
from oracle import ALL, NUMPY, SHAPES, VIEWS, check, draw, name, tensor

NPY = [dtype for dtype in ALL if dtype != cw.bf16]


@pytest.mark.parametrize("dtype", NPY, ids=name)
def test_npy_is_numpys(dtype, device, rng, tmp_path):
    for index, shape in enumerate(SHAPES):
        values, path = draw(rng, shape, dtype), tmp_path / f"{index}.npy"
        cw.save_npy(path, tensor(values, dtype, device))
        np.testing.assert_array_equal(np.load(path), values)
        assert np.load(path).dtype == NUMPY[dtype]
        np.save(tmp_path / "theirs.npy", values)
        assert path.read_bytes() == (tmp_path / "theirs.npy").read_bytes()
        loaded = cw.load_npy(str(path), device)
        assert loaded.device == device
        check(loaded, values, dtype=dtype)


@pytest.mark.parametrize("view", VIEWS)
def test_npy_of_views(view, device, rng, tmp_path):
    values = draw(rng, (33, 65), cw.f32)
    cw.save_npy(tmp_path / "view.npy", VIEWS[view](tensor(values, cw.f32, device)))
    np.testing.assert_array_equal(np.load(tmp_path / "view.npy"), VIEWS[view](values))


def test_npy_in_fortran_order(device, tmp_path):
    values = np.asfortranarray(np.arange(12, dtype=np.int16).reshape(3, 4))
    np.save(tmp_path / "fortran.npy", values)
    check(cw.load_npy(tmp_path / "fortran.npy", device), values)


@pytest.mark.parametrize("dtype", ALL, ids=name)
def test_safetensors_round_trip(dtype, device, rng, tmp_path):
    arrays = {f"layer.{i}": draw(rng, shape, dtype) for i, shape in enumerate(SHAPES)}
    tensors = {key: tensor(values, dtype, device) for key, values in arrays.items()}
    cw.save_safetensors(tmp_path / "model.safetensors", tensors, {"step": "7", "né": "ünïcode"})
    loaded, metadata = cw.load_safetensors_with_metadata(tmp_path / "model.safetensors", device)
    assert metadata == {"step": "7", "né": "ünïcode"}
    assert set(loaded) == set(arrays)
    for key, values in arrays.items():
        check(loaded[key], values, dtype=dtype)
        assert loaded[key].device == device
    assert set(cw.load_safetensors(tmp_path / "model.safetensors")) == set(arrays)


def test_safetensors_is_hugging_faces(rng, tmp_path):
    library = pytest.importorskip("safetensors.numpy")
    arrays = {name(d): draw(rng, (5, 7), d) for d in ALL if d != cw.bf16}
    cw.save_safetensors(tmp_path / "ours", {key: cw.array(value) for key, value in arrays.items()})
    theirs = library.load_file(tmp_path / "ours")
    for key, values in arrays.items():
        np.testing.assert_array_equal(theirs[key], values)
        assert theirs[key].dtype == values.dtype
    library.save_file(arrays, tmp_path / "theirs", metadata={"by": "them"})
    ours, metadata = cw.load_safetensors_with_metadata(tmp_path / "theirs")
    assert metadata == {"by": "them"}
    for key, values in arrays.items():
        check(ours[key], values)


def test_files_are_replaced_whole(tmp_path):
    path = tmp_path / "x.npy"
    cw.save_npy(path, cw.zeros(3))
    cw.save_npy(path, cw.ones(4))
    assert cw.load_npy(path).tolist() == [1, 1, 1, 1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.npy"]


def test_absent_files(tmp_path):
    for load in (cw.load_npy, cw.load_safetensors):
        with pytest.raises(cw.FileError, match="nowhere") as caught:
            load(tmp_path / "nowhere")
        assert isinstance(caught.value, OSError)
    with pytest.raises(cw.FileError, match="folder"):
        cw.save_npy(tmp_path / "folder" / "x.npy", cw.zeros(1))


@pytest.mark.parametrize("load", [cw.load_npy, cw.load_safetensors])
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"hello", b"\xff" * 100,
                                     b"\x08" + b"\x00" * 7 + b"{\"a\":1}x"])
def test_damaged_files(load, content, tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(cw.FormatError, match="damaged") as caught:
        load(path)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_cut_files(keep, tmp_path):
    cw.save_npy(tmp_path / "x", cw.ones(1000))
    cw.save_safetensors(tmp_path / "y", {"a": cw.ones(1000)})
    for file, load in (("x", cw.load_npy), ("y", cw.load_safetensors)):
        content = (tmp_path / file).read_bytes()
        (tmp_path / file).write_bytes(content[: int(len(content) * keep)])
        with pytest.raises(cw.FormatError):
            load(tmp_path / file)
