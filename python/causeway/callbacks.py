"""Callbacks of cw.pretrain: functions called while a run trains.

    cw.pretrain(..., callbacks=[cw.callbacks.WandB(project="tables"), Mine()])

    class Mine:
        def on_step(self, line): print(line["step"], line["loss"])

A callback is any object with some of the methods of Callback. They are called on rank 0, in the thread of
the run. An exception that one raises ends the run.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._core import _EventWriter

if TYPE_CHECKING:
    from .pretrain import Pretrained

__all__ = ["Callback", "MLflow", "TensorBoard", "WandB"]


class Callback:
    """What a callback may define. All methods are optional; deriving from this class is too."""

    def on_start(self, config: dict[str, Any]) -> None:
        """Called once, before any other method, with the resolved configuration of the run."""

    def on_step(self, line: dict[str, Any]) -> None:
        """Called with every log line, which is every log_steps steps: the losses of the steps between are
        not read back from the device one by one. For the keys see cw.pretrain.Pretrained."""

    def on_evaluate(self, line: dict[str, Any]) -> None:
        """Called after on_step with a line that has a "score"."""

    def on_checkpoint(self, step: int, path: Path) -> None:
        """Called when the checkpoint of a step is in the folder `path`. Older ones are removed later."""

    def on_end(self, done: Pretrained | None) -> None:
        """Called once, if on_start was: with the result of the run, or None if an exception ended it."""


class Callbacks:
    """Calls the methods that the callbacks define, on_start before the first."""

    def __init__(self, callbacks: Iterable[Any], config: dict[str, Any]) -> None:
        self._callbacks = list(callbacks)
        self._config = config
        self._started = False
        known = [name for name in vars(Callback) if name.startswith("on_")]
        for callback in self._callbacks:
            if isinstance(callback, type) or not any(hasattr(callback, name) for name in known):
                raise TypeError(f"pretrain() got the callback {callback!r}; expected an object with some of "
                                f"{', '.join(known)}")

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def call(self, name: str, *arguments: Any) -> None:
        if not self._started:
            self._started = True
            self._each("on_start", self._config)
        self._each(name, *arguments)

    def end(self, done: Pretrained | None) -> None:
        if self._started:
            self._each("on_end", done)

    def _each(self, name: str, *arguments: Any) -> None:
        for callback in self._callbacks:
            if hasattr(callback, name):
                getattr(callback, name)(*arguments)


def _numbers(line: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a line under TensorBoard's names."""
    return {f"train/{name}": float(value) for name, value in line.items() if name not in ("step", "score")}


class TensorBoard(Callback):
    """Writes TensorBoard events to a folder. Needs no other package. A run with `out` writes the same
    events to that folder already."""

    def __init__(self, log_dir: str | os.PathLike[str]) -> None:
        self.log_dir = Path(log_dir)
        self._writer: Any = None

    def on_step(self, line: dict[str, Any]) -> None:
        if self._writer is None:
            self._writer = _EventWriter(self.log_dir, line["step"])
        self._writer.add(line["step"], list(_numbers(line).items()))

    def on_evaluate(self, line: dict[str, Any]) -> None:
        self._writer.add(line["step"], [("evaluation/score", line["score"])])

    def on_end(self, done: Pretrained | None) -> None:
        self._writer = None


class MLflow(Callback):
    """Logs to MLflow: the configuration as parameters, lines as metrics, checkpoints as a tag. Starts a run
    with these arguments of mlflow.start_run, unless one is active, and ends the run it started."""

    def __init__(self, **start_run: Any) -> None:
        self._arguments = start_run
        self._mlflow: Any = None
        self._owns_run = False

    def on_start(self, config: dict[str, Any]) -> None:
        import mlflow

        self._mlflow = mlflow
        if mlflow.active_run() is None:
            mlflow.start_run(**self._arguments)
            self._owns_run = True
        mlflow.log_params(_flat(config))

    def on_step(self, line: dict[str, Any]) -> None:
        self._mlflow.log_metrics(_numbers(line), step=line["step"])

    def on_evaluate(self, line: dict[str, Any]) -> None:
        self._mlflow.log_metric("evaluation/score", line["score"], step=line["step"])

    def on_checkpoint(self, step: int, path: Path) -> None:
        self._mlflow.set_tag("checkpoint", os.fspath(path))

    def on_end(self, done: Pretrained | None) -> None:
        if self._owns_run:
            self._mlflow.end_run(status="FAILED" if done is None else "KILLED" if done.interrupted else "FINISHED")
            self._owns_run = False


class WandB(Callback):
    """Logs to Weights & Biases: the configuration, lines, the best score and the last checkpoint. Starts a run with
    these arguments of wandb.init, unless one is active, and finishes the run it started."""

    def __init__(self, **init: Any) -> None:
        self._arguments = init
        self._run: Any = None
        self._owns_run = False

    def on_start(self, config: dict[str, Any]) -> None:
        import wandb

        self._owns_run = wandb.run is None
        self._run = wandb.init(**self._arguments) if self._owns_run else wandb.run
        self._run.config.update(config, allow_val_change=True)

    def on_step(self, line: dict[str, Any]) -> None:
        score = {"evaluation/score": line["score"]} if "score" in line else {}
        self._run.log(_numbers(line) | score, step=line["step"])

    def on_evaluate(self, line: dict[str, Any]) -> None:
        self._run.summary["best_score"] = max(line["score"], self._run.summary.get("best_score", line["score"]))

    def on_checkpoint(self, step: int, path: Path) -> None:
        self._run.summary["checkpoint"] = os.fspath(path)

    def on_end(self, done: Pretrained | None) -> None:
        if self._owns_run:
            self._run.finish(exit_code=1 if done is None else 0)
            self._owns_run = False


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings as "model.width": 128."""
    flat: dict[str, Any] = {}
    for name, value in config.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, Mapping) else {f"{prefix}{name}": value}
    return flat
