"""Times kernels and transfers by name, and records who holds memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from . import _core


class profile:
    """Times every kernel and transfer inside a with block, on all devices.

        with cw.profile() as p:
            y = x @ x.T
        p.report()[0]["name"]
    """

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._json = ""
        self._trace = ""
        self._memory_page = ""

    def __enter__(self) -> profile:
        _core._profiler_start()
        return self

    def __exit__(self, *exception: object) -> None:
        # Copied, since the next profile clears the records.
        _core._profiler_stop()
        self._rows = _core._profiler_report()
        self._json = _core._profiler_json()
        self._trace = _core._profiler_trace()
        self._memory_page = _core._profiler_memory_page()

    def report(self) -> list[dict[str, Any]]:
        """One entry per name and device: count, times in ms, bytes moved, fraction of peak bandwidth."""
        return self._rows

    def json(self) -> str:
        """The report, the wall time, and who held memory at its peak, as JSON."""
        return self._json

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the records as Chrome trace events, which Perfetto opens; memory is a counter."""
        _replace(path, self._trace)

    def memory_page(self, path: str | os.PathLike[str]) -> None:
        """Writes an HTML page of the memory over time, by the names of memory_scope."""
        _replace(path, self._memory_page)


def _replace(path: str | os.PathLike[str], text: str) -> None:
    partial = Path(f"{os.fspath(path)}.{os.getpid()}.partial")
    partial.write_text(text)
    partial.replace(path)
