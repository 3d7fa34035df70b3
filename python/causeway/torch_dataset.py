"""A prior as a PyTorch IterableDataset."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import IterableDataset, get_worker_info

from ._core import InvalidArgument, set_threads
from .prior import Prior

__all__ = ["TorchDataset"]


class TorchDataset(IterableDataset):
    """Batches of a prior, for a torch.utils.data.DataLoader with batch_size=None:

        data = cw.prior.TorchDataset(prior, batch_size=64)
        for batch in torch.utils.data.DataLoader(data, batch_size=None, num_workers=4):
            batch["x"], batch["y"], batch["n_train"]

    A batch is a dictionary: x (datasets, rows, features) and y (datasets, rows), without a copy, and
    index, n_rows, n_features, n_classes and n_train of each dataset. Workers and ranks (those of
    torch.distributed by default) get disjoint datasets: the i-th batch of rank r of w is batch
    i * w + r overall, for any number of workers. After n batches per rank, resume with
    start = start + n * w * batch_size. Without `stop` the dataset is infinite.

    Workers generate datasets on the CPU with one thread each. A prior on a GPU needs num_workers=0.
    """

    def __init__(
        self,
        prior: Prior,
        batch_size: int = 64,
        start: int = 0,
        stop: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        layout: str = "padded",
    ) -> None:
        super().__init__()
        if batch_size < 1:
            raise InvalidArgument(f"[prior.torch] batch_size {batch_size}: expected 1 or more")
        if (rank is None) != (world_size is None):
            raise InvalidArgument("[prior.torch] pass both rank and world_size, or neither")
        if rank is not None and not 0 <= rank < world_size:
            raise InvalidArgument(f"[prior.torch] rank {rank}: expected 0 to {world_size - 1}")
        self.prior = prior
        self.batch_size = batch_size
        self.start = start
        self.stop = stop
        self.rank = rank
        self.world_size = world_size
        self.layout = layout

    def _place(self) -> tuple[int, int]:
        """Rank and world size."""
        if self.rank is not None:
            return self.rank, self.world_size
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return 0, 1

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rank, world = self._place()
        worker = get_worker_info()
        if worker is not None:
            if self.prior.device != "cpu":
                raise InvalidArgument(
                    f"[prior.torch] a prior on {self.prior.device} generates datasets in the main "
                    "process; use num_workers=0, or a prior on the CPU"
                )
            set_threads(1)  # a forked process lacks its parent's threads
            rank, world = worker.id * world + rank, worker.num_workers * world
        first = self.start + rank * self.batch_size
        while self.stop is None or first < self.stop:
            last = first + self.batch_size
            count = (last if self.stop is None else min(last, self.stop)) - first
            yield self._tensors(first, count)
            first += world * self.batch_size

    def _tensors(self, first: int, count: int) -> dict[str, Any]:
        batch = self.prior.batch(count, first=first, layout=self.layout)
        tensors: dict[str, Any] = {
            name: torch.from_numpy(getattr(batch, name))
            for name in ("n_rows", "n_features", "n_classes", "n_train")
        }
        tensors["index"] = torch.arange(first, first + count)
        if batch.layout == "packed":
            tensors["offsets"] = torch.tensor(batch.offsets, dtype=torch.int64).reshape(count, 3)
        tensors["x"] = torch.from_dlpack(batch.x)
        tensors["y"] = torch.from_dlpack(batch.y)
        return tensors
