"""Pre-training of a tabular transformer on datasets that a prior makes meanwhile.

    done = cw.pretrain("mlp", rows=64, features=(2, 8), classes=2, steps=200, layers=2)
    done.model.logits(x, y, sizes)      # a cw.models.TabularTransformer
    done.log[-1]["loss"]
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._core import InvalidArgument, _pretrain
from .models import TabularTransformer
from .prior import Prior

__all__ = ["Pretrained", "pretrain"]


@dataclass(frozen=True)
class Pretrained:
    """What a run gave.

    model has the averaged weights; log has a dict for each line of this call: step, datasets,
    seconds, loss (the mean since the line before), gradient_norm, datasets_per_second,
    tokens_per_second, limit_share (of the products a GPU can do; 0 where unknown), prior_share (of
    the time); interrupted tells whether Ctrl-C ended it.
    """

    model: TabularTransformer
    log: list[dict[str, Any]]
    config: dict[str, Any]
    interrupted: bool


def _at_least(name: str, value: float | None, least: float) -> Any:
    """The value, 0 for None."""
    if value is None:
        return 0
    if not value >= least:
        raise InvalidArgument(f"[pretrain] {name} {value}: expected {least} or more")
    return value


def pretrain(
    prior: Prior | str = "mix",
    *,
    preset: str = "default",
    width: int | None = None,
    heads: int | None = None,
    hidden: int | None = None,
    layers: int | None = None,
    group: int | None = None,
    thinking: int | None = None,
    steps: int | None = None,
    seconds: float | None = None,
    batch: int = 32,
    stages: Sequence[tuple[int, int]] = (),
    learning_rate: float = 2e-3,
    warmup: int = 100,
    decay: str = "constant",
    muon: bool = True,
    average_steps: int = 50,
    dtype: str | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    log_steps: int = 20,
    save_steps: int | None = None,
    detect_anomaly: bool = False,
    seed: int = 0,
    device: str = "auto",
    progress: Callable[[dict[str, Any]], Any] | None = None,
    **of_prior: Any,
) -> Pretrained:
    """Trains a tabular transformer, as `causeway pretrain` does.

    prior: a cw.Prior, or the family of one that other keyword arguments (rows, features, classes,
    regression, …) and the seed make.
    preset, width, heads, hidden, layers, group, thinking: the model; what it says follows the
    prior's target.
    steps, seconds: when to end; 1000 steps where neither is given.
    batch: datasets a step, over all ranks. stages: rows over time, as [(step, rows), …].
    learning_rate, warmup: the peak, and the steps up to it. decay: "constant", or "linear" or
    "cosine" down to 0 at the last of the steps. muon: for the matrices of layers, else AdamW for
    all. average_steps: between the ten last weights whose mean is the model. dtype: "f32" or
    "bf16", the latter on a GPU if not given.
    out: the run's folder, for its log and checkpoints; resume goes on from the newest one there.
    log_steps, save_steps: between lines of the log, between checkpoints besides the last.
    detect_anomaly: stops at the first number that is not finite, naming it; slow. Without it, a
    mean loss that is not finite ends the run too.
    progress: called with every line of the log as a dict. What it raises ends the run, unsaved.

    Ctrl-C saves and returns what there is; a second one ends the process. Ranks that torchrun,
    mpirun or srun started train together.

        >>> lines = []
        >>> done = pretrain("mlp", rows=24, features=3, classes=2, width=16, heads=2, hidden=16,
        ...                 layers=1, batch=4, steps=4, log_steps=2, device="cpu",
        ...                 progress=lines.append)
        >>> [line["step"] for line in done.log], lines == done.log, done.model.config["classes"]
        ([2, 4], True, 2)
    """
    if isinstance(prior, str):
        prior = Prior(prior, seed=seed, **of_prior)
    elif of_prior:
        raise TypeError(f"{next(iter(of_prior))!r} is the prior's, which is given")
    model = json.loads(TabularTransformer._preset(preset))
    changes = {"width": width, "heads": heads, "hidden": hidden, "layers": layers, "group": group,
               "thinking": thinking}
    model |= {name: value for name, value in changes.items() if value is not None}
    config = json.loads(_pretrain.defaults(device))
    config |= {
        "model": model, "prior": prior.config, "prior_seed": prior.seed, "seed": seed,
        "batch": batch, "stages": [list(stage) for stage in stages],
        "learning_rate": learning_rate, "warmup": _at_least("warmup", warmup, 0), "muon": muon,
        "average_steps": _at_least("average_steps", average_steps, 1),
    }
    if dtype is not None:
        config["dtype"] = dtype
    if steps is None and seconds is None:
        steps = 1000
    if decay not in ("constant", "linear", "cosine"):
        raise InvalidArgument(f"[pretrain] decay {decay!r}: expected constant, linear or cosine")
    if decay != "constant":
        if steps is None:
            raise InvalidArgument(f"[pretrain] decay {decay!r} goes by steps; give them too")
        config |= {"decay": ("constant", "linear", "cosine").index(decay), "total": steps}
    log: list[dict[str, Any]] = []

    def tell(line: dict[str, Any]) -> None:
        log.append(line)
        if progress is not None:
            progress(line)

    settings, weights, interrupted = _pretrain.run(
        json.dumps(config), device, os.fspath(out) if out is not None else "", resume,
        _at_least("steps", steps, 1), _at_least("seconds", seconds, 0),
        _at_least("log_steps", log_steps, 1), _at_least("save_steps", save_steps, 1),
        detect_anomaly, tell,
    )
    trained = TabularTransformer(json.loads(settings), dtype=config["dtype"],
                                 device=weights["encoder"].device)
    trained.load_state_dict(weights)
    return Pretrained(trained, log, config, interrupted)
