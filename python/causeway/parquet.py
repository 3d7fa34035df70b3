"""Writes datasets of a prior to a Parquet file with pyarrow."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._core import FileError, InvalidArgument

if TYPE_CHECKING:
    from .prior import Batch, Prior

__all__ = ["write_parquet"]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError("to_parquet needs pyarrow: pip install pyarrow") from error
    return pyarrow, pyarrow.parquet


def _table(pa: Any, schema: Any, batch: Batch) -> Any:
    """The rows of a batch, dataset by dataset."""
    sizes, widths = batch.n_rows, batch.n_features
    row = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    arrays = [
        pa.array(np.repeat([facts.index for facts in batch.facts], sizes).astype(np.uint64)),
        pa.array(row),
        pa.array(row < np.repeat(batch.n_train, sizes)),
        pa.array(np.concatenate([y.numpy() for _, y in batch])),
    ]
    tables = [x.numpy() for x, _ in batch]
    for column in range(len(schema) - len(arrays)):
        values = [x[:, column] if column < x.shape[1] else np.zeros(len(x), np.float32)
                  for x in tables]
        absent = np.repeat(widths <= column, sizes)
        arrays.append(pa.array(np.concatenate(values), mask=absent))
    return pa.Table.from_arrays(arrays, schema=schema)


def write_parquet(
    prior: Prior,
    path: str | os.PathLike[str],
    count: int,
    first: int,
    batch_size: int,
    compression: str,
) -> None:
    """Writes datasets first ... first + count - 1; see Prior.to_parquet."""
    if count < 1 or batch_size < 1:
        raise InvalidArgument("[prior.to_parquet] count and batch_size: expected 1 or more")
    pa, parquet = _pyarrow()
    n_features = int(prior.config["features"].removeprefix("log ").rpartition(":")[2])
    schema = pa.schema(
        [("dataset", pa.uint64()), ("row", pa.int32()), ("is_train", pa.bool_()),
         ("y", pa.float32())] + [(f"x{i}", pa.float32()) for i in range(n_features)]
    )
    partial = Path(f"{os.fspath(path)}.{os.getpid()}.partial")
    hashes: list[str] = []
    position = prior.position
    try:
        with parquet.ParquetWriter(partial, schema, compression=compression) as writer:
            for begin in range(first, first + count, batch_size):
                size = min(batch_size, first + count - begin)
                batch = prior.batch(size, first=begin).to("cpu")
                writer.write_table(_table(pa, schema, batch))
                hashes += [f"{value:016x}" for value in batch.hashes()]
            writer.add_key_value_metadata({
                "causeway.prior": prior.to_json(), "causeway.seed": str(prior.seed),
                "causeway.first": str(first), "causeway.hashes": json.dumps(hashes),
            })
        partial.replace(path)
    except OSError as error:
        raise FileError(f"[prior.to_parquet] {os.fspath(path)}: {error.strerror or error}") from error
    finally:
        prior.position = position
        partial.unlink(missing_ok=True)
