"""Jobs over a cluster: dumps of priors, fits of tokenizers, kernel pairs, scores of tables.

causeway.dask and causeway.ray have these functions without the first argument. Files go to a folder that
all machines share; other results come back through the scheduler.
"""

from __future__ import annotations

import copy
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import pairs as kernel_pairs
from ._core import DistributedError, InvalidArgument, _pairs
from ._settings import check_names, names_of, to_json
from .cluster import Executor, OutputFolder, run

if TYPE_CHECKING:
    from .partial_fit import PartialFit
    from .prior import Prior
    from .tokenizer import Tokenizer

__all__ = ["fit_tokenizer", "generate", "pairs", "score"]


def generate(
    executor: Executor,
    prior: Prior,
    out: str | Path,
    count: int,
    *,
    shards: int,
    first: int = 0,
    batch: int = 256,
    format: str = "h5",  # noqa: A002
    device: str = "auto",
) -> list[Path]:
    """Writes datasets first to first + count - 1 of a prior to the folder `out`, one file per shard, and
    returns the files: shard-00000-of-00016.h5 and so on, each with its manifest.

    Shard I of N has the datasets k with k % N = I and is the file that `causeway prior generate --shard I/N
    --batch BATCH` writes. The prior gives configuration and seed; `device` of the worker generates. `batch`
    datasets are generated together. format: "h5" or "npz". The folder must be shared by all machines.
    Running the same job again keeps the finished shards.
    """
    _check_shards("generate", shards, count)
    if format not in ("h5", "npz"):
        raise InvalidArgument(f'[generate] format {format!r}: expected "h5" or "npz"')
    settings = {"count": count, "first": first, "batch": batch, "prior": {**prior.config, "seed": prior.seed}}
    folder = OutputFolder(out, {"job": "generate", "shards": shards, "format": format, **settings})
    names = [f"shard-{i:05}-of-{shards:05}.{format}" for i in range(shards)]
    calls = [(folder, name, {**settings, "shard": f"{i}/{shards}"}, device) for i, name in enumerate(names)]
    _write_shards(executor, "generate", folder, _generate_shard, calls)
    return [folder.path / name for name in names]


def _generate_shard(folder: OutputFolder, name: str, settings: dict[str, Any], device: str) -> None:
    folder.require_shared()
    if (folder.path / name).exists():
        return
    with folder.scratch() as scratch:
        config = scratch / "settings.json"
        config.write_text(to_json(settings))
        command = ["prior", "generate", "--quiet", "--config", config, "--device", device, "--out", scratch / name]
        done = subprocess.run([sys.executable, "-m", "causeway", *command], capture_output=True, text=True)
        if done.returncode:
            raise DistributedError(f"[generate] shard {settings['shard']}: {done.stderr.strip()}")
        for file in (f"{name}.manifest.json", name):  # the dump last: it says that the shard is finished
            (scratch / file).replace(folder.path / file)


def pairs(executor: Executor, out: str | Path, count: int, *, shards: int, **settings: Any) -> Path:
    """Writes a dataset of kernel pairs to the folder `out` and returns it; settings as for cw.pairs.write.

    The files are those of cw.pairs.write(out, count, shard=f"{i}/{shards}") for every i. The folder must be
    shared by all machines. Running the same job again keeps the finished shards.
    """
    _check_shards("pairs", shards, count)
    check_names("pairs", settings, [name for name in names_of(_pairs.fields()) if name not in ("count", "shard")])
    folder = OutputFolder(out, {"job": "pairs", "count": count, "shards": shards, "settings": settings})
    calls = [(folder, count, i, shards, settings) for i in range(shards)]
    _write_shards(executor, "pairs", folder, _write_pairs, calls)
    # The folder is complete: this writes the dataset card only.
    list(run(executor, "pairs", _write_card, [(folder, count, shards, settings)]))
    return folder.path


def _write_pairs(folder: OutputFolder, count: int, i: int, shards: int, settings: dict[str, Any]) -> None:
    folder.require_shared()
    state = f"dataset-{i:05}-of-{shards:05}.json" if shards > 1 else "dataset.json"
    if (folder.path / state).exists():
        return
    with folder.scratch() as scratch:
        kernel_pairs.write(scratch, count, shard=f"{i}/{shards}", **settings)
        files = [file.relative_to(scratch) for file in scratch.rglob("*") if file.is_file()]
        for file in sorted(files, key=lambda file: file.name == state):  # last: the shard is finished
            if not file.name.startswith((".lock", "README.md")):
                (folder.path / file).parent.mkdir(exist_ok=True)
                (scratch / file).replace(folder.path / file)


def _write_card(folder: OutputFolder, count: int, shards: int, settings: dict[str, Any]) -> None:
    kernel_pairs.write(folder.path, count, shard=f"{shards - 1}/{shards}", **settings)


def _check_shards(job: str, shards: int, count: int) -> None:
    if not 1 <= shards <= count:
        raise InvalidArgument(f"[{job}] shards {shards}: expected 1 to count, which is {count}")


def _write_shards(executor: Executor, label: str, folder: OutputFolder, function: Any, calls: list[Any]) -> None:
    folder.open()
    for _ in run(executor, label, function, calls):
        pass
    folder.close()


def fit_tokenizer(
    executor: Executor, tokenizer: Tokenizer, parts: Sequence[Any], *, memory: int = 1 << 30
) -> Tokenizer:
    """Fits a tokenizer to the rows of all parts and returns it; its artefact equals that of one fit.

    A part is a table or array, the path of a .parquet, .npy or CSV file that workers can read, or a function
    that returns a table. Workers read every part twice, or three times if the second pass would need more than
    `memory` bytes. Only counts and the values near edges are sent to the client, which merges them.
    """
    parts = list(parts)
    if not parts:
        raise InvalidArgument("[fit_tokenizer] no parts to fit")
    whole = _merged(executor, _count, [(tokenizer, part) for part in parts])
    while whole.plan(memory):
        whole = _merged(executor, _add, [(whole, part) for part in parts])
    whole = _merged(executor, _add, [(whole, part) for part in parts])
    fitted = copy.copy(tokenizer)
    fitted._tokenizer = whole.finish()._tokenizer
    fitted.n_features_in_ = len(fitted.columns_)
    return fitted


def _count(tokenizer: Tokenizer, part: Any) -> PartialFit:
    return tokenizer.partial(part() if callable(part) else part)


def _add(whole: PartialFit, part: Any) -> PartialFit:
    return whole.partial(part() if callable(part) else part)


def _merged(executor: Executor, function: Any, calls: list[Any]) -> PartialFit:
    """Merges parts as they arrive: the sum does not depend on the order."""
    whole = None
    for _, part in run(executor, "fit", function, calls):
        whole = part.fresh() if whole is None else whole
        whole.merge(part)
    return whole


def score(
    executor: Executor, estimator: Any, tables: Sequence[Any], *, cv: Any = 5, scoring: Any = None
) -> np.ndarray:
    """Cross-validated scores of an estimator on many tables, shape (tables, folds): row i is scikit-learn's
    cross_val_score(estimator, X, y, cv=cv, scoring=scoring) for table i.

    A table is (X, y), where X may be the path of a .parquet or CSV file that workers can read and y the name of
    a column of X, or a function that returns such a pair. The estimator is any of scikit-learn's, such as
    cw.TabularClassifier(device="cpu"). Predictions on a CPU and on a GPU differ in the last bits.
    """
    calls = [(estimator, table, cv, scoring) for table in tables]
    scores = dict(run(executor, "score", _score, calls))
    return np.array([scores[i] for i in range(len(calls))])


def _score(estimator: Any, table: Any, cv: Any, scoring: Any) -> np.ndarray:
    from sklearn.model_selection import cross_val_score

    X, y = table() if callable(table) else table
    if isinstance(X, (str, os.PathLike)):
        import pandas

        X = pandas.read_parquet(X) if os.fspath(X).endswith(".parquet") else pandas.read_csv(X)
    if isinstance(y, str):
        X, y = X.drop(columns=[y]), X[y]
    return cross_val_score(estimator, X, y, cv=cv, scoring=scoring)
