"""cw.pairs: records from Python, the sample in the package, Parquet."""

import json

import causeway as cw
import pytest


def test_generate_gives_verified_records():
    records = list(cw.pairs.generate(12, seed=3, categories=["vector", "atomic"], level=(2, 3)))
    assert len(records) == 12
    for record in records:
        metadata = record["metadata"]
        assert metadata["category"] in ("vector", "atomic") and metadata["difficulty"] in (2, 3)
        assert "run" in metadata["verification"]["passed"]
        assert 'extern "C" __global__' in record["cuda_forward"]
        assert cw.pairs.verify(record) == ""
    records[0]["cuda_forward"] += " "
    assert "cuda_forward" in cw.pairs.verify(records[0])
    assert [r["metadata"]["id"] for r in cw.pairs.generate(12, seed=3, categories=["vector", "atomic"], level=(2, 3))] == [
        r["metadata"]["id"] for r in records
    ]


def test_sources_are_python():
    for record in cw.pairs.generate(40, seed=1, verify=["none"]):
        compile(record["python_source"], "kernel.py", "exec")
        assert "//" not in record["cuda_forward"] and "/*" not in record["cuda_forward"]


def test_write_and_read(tmp_path):
    folder = cw.pairs.write(tmp_path / "out", 30, seed=2, verify=["run"])
    records = cw.pairs.read(folder)
    assert len(records) == 30
    assert (folder / "README.md").read_text().startswith("---\nlicense: mit")
    state = json.loads((folder / "dataset.json").read_text())
    assert state["written"] == 30 and state["config"]["seed"] == 2
    pq = pytest.importorskip("pyarrow.parquet")
    cw.pairs.to_parquet(folder, tmp_path / "pairs.parquet")
    table = pq.read_table(tmp_path / "pairs.parquet")
    assert table.num_rows == 30
    assert table["cuda_forward"].to_pylist() == [record["cuda_forward"] for record in records]
    assert json.loads(table["metadata"][0].as_py()) == records[0]["metadata"]


def test_parquet_has_the_columns_of_all_records(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    folder = cw.pairs.write(tmp_path / "out", 40, seed=2, verify=["run"], twins=0.5, compress=False)
    records = cw.pairs.read(folder)
    assert len({"twin" in record for record in records}) == 2
    cw.pairs.to_parquet(folder, tmp_path / "pairs.parquet")
    twins = pq.read_table(tmp_path / "pairs.parquet")["twin"].to_pylist()
    assert [twin and json.loads(twin) for twin in twins] == [record.get("twin") for record in records]


def test_lists_may_be_text_with_commas():
    given = list(cw.pairs.generate(6, seed=3, verify="run,adjoint", categories="math, vector"))
    assert given == list(cw.pairs.generate(6, seed=3, verify=["run", "adjoint"], categories=["math", "vector"]))
    with pytest.raises(ValueError, match="did you mean vector"):
        cw.pairs.generate(1, categories="math,vectr")


def test_warp_text():
    pytest.importorskip("warp")
    records = list(cw.pairs.generate(2, seed=3, verify=["none"], categories=["function"]))
    cw.pairs.add_warp(records)
    for record in records:
        kernel = record["metadata"]["kernel"]
        assert f'extern "C" __global__ void {kernel}_cuda_kernel_forward(' in record["warp_cuda"]
        assert "//" not in record["warp_cuda"]


def test_datasets_loads_the_folder(tmp_path):
    datasets = pytest.importorskip("datasets")
    folder = cw.pairs.write(tmp_path / "out", 120, verify=["none"], compress=False)
    loaded = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))
    assert sum(len(part) for part in loaded.values()) == 120


def test_sample():
    records = cw.pairs.sample()
    assert len(records) == 200
    assert len({record["metadata"]["structure"] for record in records}) == 200
    assert {record["metadata"]["category"] for record in records} >= {"arithmetic", "matrix", "atomic", "mixed"}
    for record in records[::20]:
        assert cw.pairs.verify(record) == ""


def test_score_tells_the_stages_apart():
    records = [r for r in cw.pairs.sample() if "float" in r["cuda_forward"] and "if (" not in r["cuda_forward"]]
    record = next(r for r in records if r["metadata"]["category"] == "arithmetic")
    text = record["cuda_forward"]
    kernel = record["metadata"]["kernel"]
    head, body = text.split("{\n", 1)
    store = text.rindex(" = ")
    texts = {
        "agrees": text,
        "runs": text[: store + 3] + "1 + " + text[store + 3 :],
        "compiles": head + "{\n  while (blockDim.x > 0) asm(\"\");\n" + body,
        "parses": text.replace(";", "", 1),
        "none": text.replace(f"void {kernel}(", f"void {kernel}(int more, "),
    }
    scores = cw.pairs.score([record] * len(texts), list(texts.values()), device="cpu", timeout=5, workers=2)
    assert [stage for stage, _ in scores] == list(texts)
    assert [problem == "" for _, problem in scores] == [True] + 4 * [False]
    with pytest.raises(cw.InvalidArgument, match="record"):
        cw.pairs.score([{}], ["text"], device="cpu")


def test_wrong_arguments():
    with pytest.raises(TypeError, match="did you mean 'seed'"):
        cw.pairs.generate(3, sed=1)
    with pytest.raises(cw.InvalidArgument, match="did you mean vector"):
        cw.pairs.generate(3, categories=["vectr"])
    with pytest.raises(cw.InvalidArgument, match="count"):
        cw.pairs.generate(0)
