"""Jobs over a Ray cluster. The results have the bytes of one machine.

    ray.init("auto")
    cw.ray.generate(cw.Prior("graph", seed=7), "/shared/dump", 100_000, shards=64, num_gpus=1)
    tok = cw.ray.fit_tokenizer(cw.Tokenizer(bins=64), ray.data.read_parquet("/shared/rows").to_arrow_refs())
    cw.ray.pairs("/shared/pairs", 10_000, shards=16, seed=7)
    cw.ray.score(cw.TabularClassifier(), [("/shared/a.csv", "species")])

num_cpus and num_gpus are what a shard takes of its node: Ray hides GPUs from shards that ask for none.
Parts and tables may be object references.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import cluster_jobs
from ._core import DistributedError
from .cluster import ResultLost, on_executor

try:
    import ray
    from ray import exceptions
except ImportError as problem:
    raise ImportError("cw.ray needs Ray; run: pip install 'causeway[ray]'") from problem

__all__ = ["fit_tokenizer", "generate", "pairs", "score"]

_CANCELS = 4  # of a call that does not end


def _shard(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(*arguments)


class _Ray:
    """Ray runs a call again if its worker or node dies, up to three times."""

    def __init__(self, num_cpus: float = 1, num_gpus: float = 0) -> None:
        self._needs = {"CPU": num_cpus, "GPU": num_gpus}
        self._remote = ray.remote(num_cpus=num_cpus, num_gpus=num_gpus, max_retries=3)(_shard)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> ray.ObjectRef:
        return self._remote.remote(function, *arguments)

    def wait(self, handles: Sequence[ray.ObjectRef], seconds: float) -> Sequence[ray.ObjectRef]:
        return ray.wait(handles, timeout=seconds)[0]

    def result(self, handle: ray.ObjectRef, seconds: float) -> Any:
        try:
            return ray.get(handle, timeout=seconds)
        except exceptions.GetTimeoutError as problem:
            raise ResultLost from problem
        except exceptions.RayTaskError as problem:
            raise problem.cause from problem
        except (exceptions.WorkerCrashedError, exceptions.NodeDiedError, exceptions.ObjectLostError) as problem:
            raise DistributedError(f"[ray] a shard has lost too many workers: {problem}") from problem

    def cancel(self, handles: Sequence[ray.ObjectRef]) -> None:
        # A request that reaches a worker before it runs the call may be lost, so it is repeated, and at last
        # the worker is killed. Ray ends this process if a call is cancelled whose result has just arrived.
        running = ray.wait(handles, num_returns=len(handles), timeout=0)[1]
        for attempt in range(_CANCELS):
            for handle in running:
                ray.cancel(handle, force=attempt + 1 == _CANCELS)
            if running:
                running = ray.wait(running, num_returns=len(running), timeout=2)[1]

    def n_workers(self) -> int:
        """Nodes that have what a shard needs."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        return sum(all(node.get(name, 0) >= need for name, need in self._needs.items()) for node in nodes)


generate = on_executor(_Ray, cluster_jobs.generate)
fit_tokenizer = on_executor(_Ray, cluster_jobs.fit_tokenizer)
pairs = on_executor(_Ray, cluster_jobs.pairs)
score = on_executor(_Ray, cluster_jobs.score)
