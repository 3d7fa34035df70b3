"""Work recorded once on a CUDA device and queued again in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._core import Stream, Tensor, _record_graph, _StepGraph, current_stream

__all__ = ["Graph", "StepGraph", "capture"]


class Graph:
    """What a function queues on a device, to be queued again with replay().

    `output` is what the function returned: tensors in it hold the results of the last replay.
    """

    def __init__(self, function: Callable[[], Any], stream: Stream) -> None:
        self.output = None
        self._function = function  # holds the tensors it uses, whose addresses are recorded
        self._stream = stream
        self._recorded = _record_graph(stream, self._run)

    def _run(self) -> None:
        self.output = self._function()

    def replay(self, stream: Stream | None = None) -> None:
        """Queues the recorded work on a stream, or on the one it was recorded on."""
        self._recorded.replay(self._stream if stream is None else stream)


def capture(function: Callable[[], Any], device: str = "cuda") -> Graph:
    """Records what `function` queues on the device's current stream, without running it.

    The function must not wait for the device, as item() and numpy() do.
    """
    return Graph(function, current_stream(device))


class StepGraph:
    """A training step that is recorded once for every shape of its inputs and replayed from then on:

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        step = cw.StepGraph(step, device="cuda")
        loss = step(x, y)  # the first runs, the second records, the others replay

    Each call begins a step (begin_step). The function must not wait for the device. What it returns
    holds until the next call. On the CPU it simply runs.
    """

    def __init__(self, function: Callable[..., Any], device: str = "cuda") -> None:
        self._function = function
        self._single = False
        self._graph = _StepGraph(device)

    def _run(self, inputs: list[Tensor]) -> list[Tensor]:
        results = self._function(*inputs)
        self._single = isinstance(results, Tensor)
        return [results] if self._single else list(results)

    def __call__(self, *inputs: Tensor) -> Any:
        results = self._graph(self._run, list(inputs))
        return results[0] if self._single else tuple(results)

    @property
    def n_graphs(self) -> int:
        """How many shapes were recorded."""
        return self._graph.n_graphs
