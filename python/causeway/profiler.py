"""Times kernels and transfers by name."""

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

    def __enter__(self) -> profile:
        _core._profiler_start()
        return self

    def __exit__(self, *exception: object) -> None:
        # Copied, since the next profile clears the records.
        _core._profiler_stop()
        self._rows = _core._profiler_report()
        self._json = _core._profiler_json()
        self._trace = _core._profiler_trace()

    def report(self) -> list[dict[str, Any]]:
        """One entry per name and device: count, times in ms, bytes moved, fraction of peak bandwidth."""
        return self._rows

    def json(self) -> str:
        """The report and the wall time as JSON."""
        return self._json

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the records as Chrome trace events, which Perfetto opens."""
        partial = Path(f"{os.fspath(path)}.{os.getpid()}.partial")
        partial.write_text(self._trace)
        partial.replace(path)
