"""CUDA graphs: work captured once and replayed in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._core import Stream, Tensor, _record_graph, _StepGraph, current_stream

__all__ = ["Graph", "StepGraph", "capture"]


class Graph:
    """A CUDA graph of the work that a function queues.

    `output` is the function's return value; its tensors hold the results of the last replay.
    """

    def __init__(self, function: Callable[[], Any], stream: Stream) -> None:
        self.output = None
        self._function = function  # keeps its tensors alive, whose addresses are captured
        self._stream = stream
        self._recorded = _record_graph(stream, self._run)

    def _run(self) -> None:
        self.output = self._function()

    def replay(self, stream: Stream | None = None) -> None:
        """Queues the captured work on a stream, by default the one it was captured on."""
        self._recorded.replay(self._stream if stream is None else stream)


def capture(function: Callable[[], Any], device: str = "cuda") -> Graph:
    """Captures the work that `function` queues on the device's current stream, without running it.

    The function must not synchronise with the device, as item() and numpy() do.
    """
    return Graph(function, current_stream(device))


class StepGraph:
    """A training step that is captured once per shape of its inputs and then replayed:

        def step(x, y):
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        step = cw.StepGraph(step, device="cuda")
        loss = step(x, y)  # the first call runs, the second captures, later ones replay

    Each call begins a step (begin_step). The function must not synchronise with the device. Its
    results are valid until the next call. On the CPU the function runs as it is.
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
        """Number of captured shapes."""
        return self._graph.n_graphs
