"""Work recorded once on a CUDA device and queued again in one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._core import Stream, _record_graph, current_stream

__all__ = ["Graph", "capture"]


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
