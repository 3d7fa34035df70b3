"""A progress bar on stderr with an estimate of the time left."""

from __future__ import annotations

import sys
import time
from typing import Any

__all__ = ["ProgressBar"]

_WIDTH = 30
_LONG = 3.0  # seconds; shorter work shows no bar
_EVERY = 0.1


def _clock(seconds: float) -> str:
    whole = max(int(seconds + 0.999), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


class ProgressBar:
    """A progress bar, called with the fraction that is done. With always=False it is shown only if
    stderr is a terminal and the work takes longer than a few seconds."""

    def __init__(self, label: str, always: bool) -> None:
        self.label, self.always = label, always
        self.start = self.last = time.monotonic()
        self.shown = False

    def __enter__(self) -> ProgressBar:
        return self

    def __call__(self, done: float) -> None:
        now = time.monotonic()
        passed = now - self.start
        left = passed * (1 / done - 1) if done > 0 else float("inf")
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        is_long = is_terminal and (self.shown or passed + left > _LONG)
        if not (self.always or is_long) or (now - self.last < _EVERY and done < 1):
            return
        self.last = now
        filled = round(done * _WIDTH)
        text = f"{self.label} {'━' * filled}{'─' * (_WIDTH - filled)} {done:4.0%}  {_clock(left)} left"
        if is_terminal:
            sys.stderr.write(f"\r\033[K{text}")
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
        self.shown = is_terminal

    def __exit__(self, *problem: Any) -> None:
        if self.shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
