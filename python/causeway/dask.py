"""Jobs over a Dask cluster. The results have the bytes of one machine.

    client = distributed.Client("tcp://scheduler:8786")
    cw.dask.generate(cw.Prior("graph", seed=7), "/shared/dump", 100_000, shards=64)
    tok = cw.dask.fit_tokenizer(cw.Tokenizer(bins=64), dask.dataframe.read_parquet("/shared/rows").to_delayed())
    cw.dask.pairs("/shared/pairs", 10_000, shards=16, seed=7)
    cw.dask.score(cw.TabularClassifier(), [("/shared/a.csv", "species")])

`client` is the current one by default. Parts and tables may be delayed objects and futures of Dask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import cluster_jobs
from ._core import DistributedError, InvalidArgument
from .cluster import ResultLost, on_executor

try:
    import dask
    import distributed
except ImportError as problem:
    raise ImportError("cw.dask needs Dask; run: pip install 'causeway[dask]'") from problem

__all__ = ["fit_tokenizer", "generate", "pairs", "score"]


class _Dask:
    """Dask runs a call again if its worker dies, up to distributed.scheduler.allowed-failures times."""

    def __init__(self, client: distributed.Client | None = None) -> None:
        try:
            self._client = client or distributed.get_client()
        except ValueError:
            raise InvalidArgument("[dask] no client; create one: distributed.Client(address)") from None

    def submit(self, function: Callable[..., Any], *arguments: Any) -> distributed.Future:
        return self._client.compute(dask.delayed(function, pure=False)(*arguments))

    def wait(self, handles: Sequence[distributed.Future], seconds: float) -> Sequence[distributed.Future]:
        try:
            return list(distributed.wait(handles, timeout=seconds, return_when="FIRST_COMPLETED").done)
        except distributed.TimeoutError:
            return []

    def result(self, handle: distributed.Future, seconds: float) -> Any:
        try:
            return handle.result(timeout=seconds)
        except distributed.TimeoutError as problem:
            if handle.status == "error":  # the call's own
                raise
            raise ResultLost from problem
        except distributed.KilledWorker as problem:
            raise DistributedError(f"[dask] a shard has lost too many workers: {problem}") from problem

    def cancel(self, handles: Sequence[distributed.Future]) -> None:
        self._client.cancel(handles)

    def n_workers(self) -> int:
        return len(self._client.nthreads())


generate = on_executor(_Dask, cluster_jobs.generate)
fit_tokenizer = on_executor(_Dask, cluster_jobs.fit_tokenizer)
pairs = on_executor(_Dask, cluster_jobs.pairs)
score = on_executor(_Dask, cluster_jobs.score)
