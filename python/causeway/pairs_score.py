"""Runs kernels that a model wrote in processes of their own, since they can do anything."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import cuda
from ._core import Error, InvalidArgument, _pairs


class _Worker:
    """A process that scores texts, started again after one has ended it."""

    def __init__(self, gpu: bool, timeout: float) -> None:
        self._gpu = gpu
        self._timeout = timeout
        self._process: subprocess.Popen[str] | None = None

    def score(self, record: dict[str, Any], text: str) -> tuple[str, str]:
        if self._process is None:
            command = [sys.executable, "-c", "from causeway.pairs_score import serve; serve()"]
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
            self._wait(60)  # until it has imported the package
        request = json.dumps({"record": json.dumps(record), "text": text, "gpu": self._gpu})
        self._process.stdin.write(request + "\n")
        self._process.stdin.flush()
        answer = self._wait(self._timeout)
        if answer is not None:
            stage, problem = json.loads(answer)
            if stage == "error":  # not of the text
                raise InvalidArgument(problem)
            return stage, problem
        self.close()
        return "compiles", "it ended its process or did not end in time"

    def _wait(self, seconds: float) -> str | None:
        """A line of the process; None if there is none in time."""
        ready, _, _ = select.select([self._process.stdout], [], [], seconds)
        return (self._process.stdout.readline() or None) if ready else None

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process.stdin.close()
            self._process.stdout.close()
            self._process = None


def score(
    records: list[dict[str, Any]], texts: list[str], device: str, timeout: float, workers: int
) -> list[tuple[str, str]]:
    gpu = cuda.is_available() if device == "auto" else device != "cpu"
    n_workers = max(1, min(workers, len(texts)))

    def part(first: int) -> list[tuple[str, str]]:
        worker = _Worker(gpu, timeout)
        try:
            pairs = list(zip(records, texts, strict=True))[first::n_workers]
            return [worker.score(record, text) for record, text in pairs]
        finally:
            worker.close()

    results: list[tuple[str, str]] = [("none", "")] * len(texts)
    with ThreadPoolExecutor(n_workers) as pool:
        for first, scores in enumerate(pool.map(part, range(n_workers))):
            results[first::n_workers] = scores
    return results


def serve() -> None:
    """Answers requests from standard input, one per line."""
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _pairs.score(request["record"], request["text"], request["gpu"])
        except Error as error:
            answer = ("error", str(error))
        print(json.dumps(answer), flush=True)
