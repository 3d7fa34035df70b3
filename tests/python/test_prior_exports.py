"""Datasets of a prior as NumPy, PyTorch and Parquet data."""

import json
import pickle

import causeway as cw
import numpy as np
import pytest

SMALL = {"rows": 100, "features": (1, 8), "classes": (2, 4)}


def test_numpy_shares_memory():
    batch = cw.Prior("simple", **SMALL).batch(3)
    view = np.from_dlpack(batch.x)
    assert view.__array_interface__["data"][0] == batch.x.numpy().__array_interface__["data"][0]


def test_cuda_array_interface(cuda):
    batch = cw.Prior("simple", **SMALL, device=cuda).batch(3)
    described = batch.x.__cuda_array_interface__
    assert described["shape"] == (3, 100, 8) and described["typestr"] == "<f4"


def test_torch_tensors_share_memory():
    torch = pytest.importorskip("torch")
    batch = cw.Prior("simple", **SMALL).batch(3)
    x = torch.from_dlpack(batch.x)
    assert x.shape == (3, 100, 8)
    assert x.data_ptr() == batch.x.numpy().__array_interface__["data"][0]


def test_torch_dataset():
    torch = pytest.importorskip("torch")
    prior = cw.Prior("mlp", **SMALL, seed=3)
    expected = prior.batch(20, first=0)
    data = cw.prior.TorchDataset(prior, batch_size=6, stop=20)
    batches = list(torch.utils.data.DataLoader(data, batch_size=None))
    assert [len(batch["x"]) for batch in batches] == [6, 6, 6, 2]
    assert torch.cat([batch["index"] for batch in batches]).tolist() == list(range(20))
    np.testing.assert_array_equal(torch.cat([b["x"] for b in batches]).numpy(), expected.x.numpy())
    np.testing.assert_array_equal(torch.cat([b["y"] for b in batches]).numpy(), expected.y.numpy())
    for name in ("n_rows", "n_features", "n_classes", "n_train"):
        assert torch.cat([b[name] for b in batches]).tolist() == getattr(expected, name).tolist()
    packed = next(iter(cw.prior.TorchDataset(prior, batch_size=3, layout="packed")))
    assert packed["x"].ndim == 1 and packed["places"].shape == (3, 3)


def test_torch_ranks_and_workers_take_disjoint_datasets():
    torch = pytest.importorskip("torch")
    prior = cw.Prior("simple", rows=8, features=2, classes=2, filter_classes=False, seed=3)
    expected = prior.batch(48, first=0).x.numpy()  # also makes threads before the fork
    for workers in (0, 1, 2):
        seen = {}
        for rank in range(2):
            data = cw.prior.TorchDataset(prior, batch_size=4, stop=48, rank=rank, world_size=2)
            loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers)
            for i, batch in enumerate(loader):
                # Whatever the number of workers, the i-th batch of a rank is the same.
                assert batch["index"][0] == (2 * i + rank) * 4
                for index, x in zip(batch["index"].tolist(), batch["x"], strict=True):
                    assert index not in seen
                    seen[index] = x.numpy()
        assert sorted(seen) == list(range(48))
        np.testing.assert_array_equal(np.stack([seen[k] for k in range(48)]), expected)


def test_torch_datasets_resume():
    torch = pytest.importorskip("torch")
    prior = cw.Prior("simple", rows=8, features=2, classes=2, filter_classes=False, seed=3)
    endless = iter(torch.utils.data.DataLoader(cw.prior.TorchDataset(prior, 4), batch_size=None))
    batches = [next(endless) for _ in range(5)]
    resumed = next(iter(cw.prior.TorchDataset(prior, 4, start=3 * 4)))
    assert torch.equal(resumed["x"], batches[3]["x"])
    assert pickle.loads(pickle.dumps(cw.prior.TorchDataset(prior, 4, start=8))).start == 8
    for bad in ({"batch_size": 0}, {"rank": 1}, {"rank": 2, "world_size": 2}):
        with pytest.raises(cw.InvalidArgument):
            cw.prior.TorchDataset(prior, **bad)


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    prior = cw.Prior("mlp", rows=(20, 40), features=(1, 6), classes=2, seed=3)
    prior.to_parquet(tmp_path / "data.parquet", 7, first=2, batch_size=3)
    assert prior.position == 0
    assert [path.name for path in tmp_path.iterdir()] == ["data.parquet"]
    table = parquet.read_table(tmp_path / "data.parquet")
    assert table.column_names == ["dataset", "row", "is_train", "y", *(f"x{i}" for i in range(6))]
    metadata = {key.decode(): value.decode() for key, value in
                parquet.ParquetFile(tmp_path / "data.parquet").metadata.metadata.items()}
    batch = prior.batch(7, first=2)
    assert json.loads(metadata["causeway.hashes"]) == [f"{h:016x}" for h in batch.hashes()]
    assert cw.Prior.from_json(metadata["causeway.prior"]).config == prior.config
    columns = {name: table[name].to_numpy() for name in table.column_names}
    for facts, (x, y) in zip(batch.facts, batch, strict=True):
        rows = columns["dataset"] == facts.index
        assert rows.sum() == facts.n_rows and columns["is_train"][rows].sum() == facts.n_train
        np.testing.assert_array_equal(columns["y"][rows], y.numpy())
        for f in range(6):
            values = columns[f"x{f}"][rows]
            if f < facts.n_features:
                np.testing.assert_array_equal(values, x.numpy()[:, f])
            else:
                assert np.isnan(values).all()
    with pytest.raises(cw.FileError):
        prior.to_parquet(tmp_path / "absent" / "data.parquet", 2)
    with pytest.raises(cw.InvalidArgument):
        prior.to_parquet(tmp_path / "data.parquet", 0)


def test_missing_packages_are_named(monkeypatch, tmp_path):
    import sys

    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        cw.Prior("simple", **SMALL).to_parquet(tmp_path / "x.parquet", 1)
    with pytest.raises(AttributeError, match="nothing"):
        cw.prior.nothing  # noqa: B018
