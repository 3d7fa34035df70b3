"""Pre-trains a tabular transformer on datasets that a prior generates on the fly.

    done = cw.pretrain("mlp", rows=64, features=(2, 8), classes=2, steps=200, layers=2)
    done.model.logits(x, y, sizes)      # a cw.models.TabularTransformer
    done.log[-1]["loss"]
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ._core import InvalidArgument, _pretrain, _prior
from ._settings import check_names, document, names_of, to_json
from .models import TabularTransformer
from .prior import Prior

__all__ = ["Pretrained", "pretrain"]


@dataclass(frozen=True)
class Pretrained:
    """The result of a run.

    model has the averaged weights. log has a dict for each line of this call: step, datasets,
    seconds, loss (mean since the last line), gradient_norm, datasets_per_second, tokens_per_second,
    mfu (model FLOPs utilization; 0 if the GPU's peak is unknown), prior_share (fraction of the time
    spent on generating datasets). config is the resolved configuration. interrupted is True if Ctrl-C ended the run.
    """

    model: TabularTransformer
    log: list[dict[str, Any]]
    config: dict[str, Any]
    interrupted: bool


def pretrain(
    prior: Prior | str = "mix",
    *,
    config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "auto",
    progress: Callable[[dict[str, Any]], Any] | None = None,
    **settings: Any,
) -> Pretrained:
    """Trains a tabular transformer on datasets generated on the fly, as `causeway pretrain` does.

    prior: a cw.Prior, or the name of a prior family; then rows, features, classes, regression, …
    are settings too.
    config: settings as a mapping, or the path of a .toml or .json file. Keyword arguments override it.
    out: folder of the run, for its model, log, checkpoints and config.json.
    resume: resumes the run in `out` from its newest checkpoint with its settings; given settings
    override them.
    progress: called with every log line as a dict. An exception that it raises ends the run.

    The first Ctrl-C saves a checkpoint and returns; a second one ends the process. Ranks started by
    torchrun, mpirun or srun train together.

        >>> lines = []
        >>> done = pretrain("mlp", rows=24, features=3, classes=2, width=16, heads=2, hidden=16,
        ...                 layers=1, batch=4, steps=4, log_steps=2, device="cpu",
        ...                 progress=lines.append)
        >>> [line["step"] for line in done.log], lines == done.log, done.model.config["classes"]
        ([2, 4], True, 2)
    """
    check_names("pretrain", settings, _NAMES)
    given = _read_config(config)
    if isinstance(prior, Prior):
        for name in settings:
            if name in _PRIOR_NAMES:
                raise TypeError(f"{name!r} is a setting of the prior; set it in the Prior that is passed")
        given |= {"prior": prior.config, "prior_seed": prior.seed}
    elif not (resume and prior == "mix"):
        given["family"] = prior
    given |= {name: value for name, value in settings.items() if value is not None}
    folder = os.fspath(out) if out is not None else ""
    if resume and not folder:
        raise InvalidArgument("[pretrain] resume: pass out=, the folder of the run")
    resolved = _pretrain.resolve(to_json(given), device, folder if resume else "")
    log: list[dict[str, Any]] = []

    def report(line: dict[str, Any]) -> None:
        log.append(line)
        if progress is not None:
            progress(line)

    model, weights, interrupted = _pretrain.run(resolved, device, folder, resume, report)
    made = json.loads(resolved)
    trained = TabularTransformer(json.loads(model), dtype=made["dtype"],
                                 device=weights["encoder"].device)
    trained.load_state_dict(weights)
    return Pretrained(trained, log, made, interrupted)


def _read_config(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    return json.loads(_pretrain.read_config(os.fspath(config)))


_NAMES = names_of(_pretrain.fields())
_PRIOR_NAMES = set(names_of(_prior.fields())) - {"seed"}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
document(pretrain, _pretrain.fields(), [
    inspect.Parameter("prior", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="mix"),
    inspect.Parameter("config", _KEYWORD, default=None),
    inspect.Parameter("out", _KEYWORD, default=None),
    inspect.Parameter("resume", _KEYWORD, default=False),
    inspect.Parameter("device", _KEYWORD, default="auto"),
    inspect.Parameter("progress", _KEYWORD, default=None),
])
