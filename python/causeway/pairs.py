"""Verified pairs of Python and CUDA kernels, for training code models.

    for record in cw.pairs.generate(100, seed=7, categories=["vector"]):
        print(record["python_source"], record["cuda_forward"])
    cw.pairs.write("out", 10_000)                # a folder that Hugging Face's `datasets` loads
    cw.pairs.sample()                            # 200 records that come with the package

A record is a dict; docs/pairs.md describes its columns.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from . import pairs_score
from ._core import _pairs
from ._progress import ProgressBar
from ._settings import check_names, document, names_of, to_json

__all__ = ["add_warp", "generate", "read", "run", "sample", "score", "to_parquet", "verify", "write"]

_NAMES = names_of(_pairs.fields())
_SAMPLE = Path(__file__).parent / "pairs_sample.jsonl.zst"


def generate(count: int, **settings: Any) -> Iterator[dict[str, Any]]:
    """Records one after the other, without a file."""
    check_names("pairs.generate", settings, _NAMES)
    records = _pairs.Records(to_json({"count": count} | settings))
    return (json.loads(records.next()) for _ in range(count))


def write(out: str | Path, count: int, *, verbose: bool = False, **settings: Any) -> Path:
    """Writes a dataset to a folder and returns the folder. A run that was interrupted is resumed."""
    check_names("pairs.write", settings, _NAMES)
    with ProgressBar("pairs", verbose) as progress:
        _pairs.write(to_json({"count": count} | settings), Path(out), lambda done, total: progress(done / total))
    return Path(out)


def read(path: str | Path) -> list[dict[str, Any]]:
    """The records of a dataset's folder, or of a .json, .jsonl or .jsonl.zst file."""
    return [json.loads(line) for line in _pairs.read(Path(path))]


def verify(record: dict[str, Any]) -> str:
    """What is wrong with a record; empty where it is right.

    The Python text is compiled again; every derived text, the results and the gradients are compared.
    """
    return _pairs.verify(json.dumps(record))


def run(record: dict[str, Any], input_set: int = 0) -> dict[str, np.ndarray]:
    """The arrays that the kernel writes for one of the record's input sets, by the interpreter."""
    outputs = _pairs.run(json.dumps(record), input_set)
    return {
        name: np.frombuffer(data, scalar, math.prod(shape)).reshape(shape) for name, scalar, shape, data in outputs
    }


def score(
    records: list[dict[str, Any]],
    texts: list[str],
    *,
    device: str = "auto",
    timeout: float = 20.0,
    workers: int = 1,
) -> list[tuple[str, str]]:
    """How far CUDA texts that a model wrote for records get: (stage, problem) for each.

    Stages: "none", "parses" (has the kernel with the record's parameters), "compiles" (NVRTC accepts
    it), "runs" and "agrees" (with the interpreter, on all input sets of the record).

    The texts run in processes of their own, on the GPU or as C++ that emulates one on the CPU. One that
    ends its process, or does not end within `timeout` seconds, has the stage "compiles".
    """
    return pairs_score.score(records, texts, device, timeout, workers)


def sample() -> list[dict[str, Any]]:
    """200 records that come with the package."""
    return read(_SAMPLE)


def add_warp(records: list[dict[str, Any]]) -> None:
    """Adds `warp_cuda` to records: the CUDA text that NVIDIA Warp generates from `python_source`.

    Needs the package warp-lang, no GPU. Warp also compiles the text, which takes about a second per record.
    """
    import warp as wp

    with tempfile.TemporaryDirectory() as folder:
        for record in records:
            name = f"pair_{record['metadata']['id']}"
            path = Path(folder, name + ".py")
            path.write_text(record["python_source"])
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            kernel = getattr(module, record["metadata"]["kernel"])
            wp.compile_aot_module(kernel.module, arch=90, use_ptx=True, strip_hash=True, module_dir=Path(folder, name))
            (text,) = (file.read_text() for file in Path(folder, name).glob("*.cu"))
            # Macros that are the same in every module come first. Comments repeat the Python text.
            body = text[text.rindex("#define adj_int(") :].splitlines()[1:]
            code = [line for line in body if not line.lstrip().startswith("//")]
            record["warp_cuda"] = "\n".join(code).strip() + "\n"


def to_parquet(path: str | Path, out: str | Path) -> None:
    """Writes the records of a dataset to a Parquet file; `inputs` and `metadata` become JSON text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = read(path)
    nested = ("line_map", "inputs", "twin", "variants", "times", "metadata")
    columns: dict[str, list[Any]] = {name: [] for name in dict.fromkeys(name for row in rows for name in row)}
    for row in rows:
        for name, values in columns.items():
            value = row.get(name)
            values.append(json.dumps(value) if name in nested and value is not None else value)
    for name in ("id", "category", "split", "description", "difficulty"):
        columns[name] = [row["metadata"][name] for row in rows]
    pq.write_table(pa.table(columns), out, compression="zstd")


def _parameters(function: Any) -> list[inspect.Parameter]:
    """Those before the settings."""
    return [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


document(generate, _pairs.fields(), _parameters(generate))
document(write, _pairs.fields(), _parameters(write))
