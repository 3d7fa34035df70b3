"""Runs shards of a job on the workers of a cluster.

A shard is a call that can run on any machine, any number of times, with the same result. causeway.dask and
causeway.ray are executors of such calls; cluster_jobs.py has the jobs.
"""

from __future__ import annotations

import functools
import inspect
import json
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ._core import DistributedError, InvalidArgument
from ._core import _version as __version__
from ._progress import ProgressBar
from ._settings import plain

__all__ = ["Executor", "OutputFolder", "ResultLost", "on_executor", "run"]

_POLL = 1.0  # seconds between checks for workers
_PATIENCE = 60.0  # seconds without a worker until a job fails


class ResultLost(Exception):
    """The result of a call was lost with its worker; the call runs again."""


class Executor(Protocol):
    """What a job needs of a cluster."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Hashable:
        """Starts a call on a worker, and again on another one if that worker dies. Returns a handle."""

    def wait(self, handles: Sequence[Any], seconds: float) -> Sequence[Any]:
        """Handles of calls that have ended; none if none ends in time."""

    def result(self, handle: Any, seconds: float) -> Any:
        """The result of a call that has ended, or its error. Raises ResultLost if it does not arrive in time,
        and DistributedError if the call has lost too many workers."""

    def cancel(self, handles: Sequence[Any]) -> None:
        """Stops calls whose results are not needed. Their results have not been read."""

    def n_workers(self) -> int:
        """The number of workers that can run a call."""


def run(
    executor: Executor, label: str, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]
) -> Iterator[tuple[int, Any]]:
    """Runs function(*call) on workers and yields (index of the call, result) as the calls end."""
    pending = {executor.submit(_call, __version__, function, *call): i for i, call in enumerate(calls)}
    seen = time.monotonic()
    try:
        with ProgressBar(label, always=False) as progress:
            while pending:
                for handle in executor.wait(list(pending), _POLL):
                    index = pending.pop(handle)  # the call has ended: there is nothing to cancel
                    try:
                        result = executor.result(handle, _PATIENCE)
                    except ResultLost:
                        pending[handle] = index
                        continue
                    yield index, result
                    seen = time.monotonic()
                    progress(1 - len(pending) / len(calls))
                if pending and executor.n_workers():
                    seen = time.monotonic()
                elif pending and time.monotonic() - seen > _PATIENCE:
                    raise DistributedError(
                        f"[{label}] the cluster has had no worker for {_PATIENCE:.0f} s, with {len(pending)} of "
                        f"{len(calls)} shards unfinished; start workers and run the job again"
                    )
    finally:
        if pending:
            executor.cancel(list(pending))


def _call(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Runs on a worker."""
    if version != __version__:
        raise DistributedError(
            f"[cluster] worker {socket.gethostname()} has causeway {__version__}, but the client has {version}; "
            "install the same version on all machines"
        )
    return function(*arguments)


class OutputFolder:
    """A folder that the client and all workers share, with the shards of one request.

    Shards are written to a scratch folder and renamed, so two workers may compute the same one.
    `.causeway/request.json` has the request: the same request resumes, another one is refused.
    """

    def __init__(self, path: str | Path, request: Mapping[str, Any]) -> None:
        self.path = Path(path).absolute()  # workers run in other folders
        self._request = plain({"version of causeway": __version__, **request})

    @property
    def _own(self) -> Path:
        return self.path / ".causeway"

    def open(self) -> None:
        """On the client, before the first shard."""
        found = self._read()
        if found is None:
            if self.path.exists() and any(entry.name != ".causeway" for entry in self.path.iterdir()):
                raise InvalidArgument(f"[cluster] {self.path} has other files; choose another folder")
            self._own.mkdir(parents=True, exist_ok=True)
            with self.scratch() as scratch:
                (scratch / "request").write_text(json.dumps(self._request, indent=1) + "\n")
                (scratch / "request").replace(self._own / "request.json")
        elif found != self._request:
            other = next(name for name in {**self._request, **found} if found.get(name) != self._request.get(name))
            raise InvalidArgument(
                f"[cluster] {self.path} has the output of another request: its {other} differs; choose another folder"
            )

    def require_shared(self) -> None:
        """On a worker: raises if the folder is not the client's."""
        if self._read() != self._request:
            raise DistributedError(
                f"[cluster] worker {socket.gethostname()} does not see the client's {self.path}; choose a folder on "
                "a file system that all machines share"
            )

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """A new folder on the same file system, removed at the end."""
        parent = self._own / "scratch"
        parent.mkdir(exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """On the client, after the last shard: removes what workers left that died."""
        shutil.rmtree(self._own / "scratch", ignore_errors=True)

    def _read(self) -> Any:
        try:
            return json.loads((self._own / "request.json").read_text())
        except FileNotFoundError:
            return None


def on_executor(connect: Callable[..., Executor], job: Callable[..., Any]) -> Callable[..., Any]:
    """A job as a function of its arguments and, as keywords, of those of `connect`."""
    _, *parameters = inspect.signature(job).parameters.values()
    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in inspect.signature(connect).parameters.values()
    ]
    n_named = sum(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    parameters[n_named:n_named] = own

    @functools.wraps(job, assigned=("__name__", "__qualname__", "__doc__"))
    def function(*arguments: Any, **settings: Any) -> Any:
        executor = connect(**{one.name: settings.pop(one.name) for one in own if one.name in settings})
        return job(executor, *arguments, **settings)

    function.__signature__ = inspect.Signature(parameters)
    function.__module__ = connect.__module__
    return function
