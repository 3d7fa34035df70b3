"""Pre-trains a tabular transformer, or a custom model, on tables from a prior or any other source.

    done = cw.pretrain("mlp", rows=64, features=(2, 8), classes=2, steps=200, layers=2)
    done.model.logits(x, y, sizes)      # a cw.models.TabularTransformer
    done.log[-1]["loss"]

    cw.pretrain(batches=my_batches)     # dicts with x, y and n_context
    cw.pretrain({my_family: 0.5, "mlp": 0.5})
    cw.pretrain("mlp", model=my_module, callbacks=[cw.callbacks.WandB(project="tables")])
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import nn
from ._core import InvalidArgument, _pretrain, _prior
from ._settings import check_names, document, names_of, to_json
from .batches import BatchSource
from .callbacks import Callbacks
from .custom_model import loss_of
from .families import split_mixture
from .models import TabularTransformer
from .prior import Prior

__all__ = ["Pretrained", "pretrain"]


@dataclass(frozen=True)
class Pretrained:
    """The result of a run.

    model has the averaged weights. log has a dict for each line of this call: step, datasets,
    seconds, loss (mean since the last line), gradient_norm, datasets_per_second, tokens_per_second,
    mfu (model FLOPs utilization; 0 if the GPU's peak is unknown), prior_share (fraction of the time
    spent on generating or reading datasets) and, where the model was evaluated, score. config is the resolved
    configuration. interrupted is True if Ctrl-C ended the run.
    """

    model: nn.Module
    log: list[dict[str, Any]]
    config: dict[str, Any]
    interrupted: bool


def pretrain(
    prior: Any = "mix",
    *,
    batches: Iterable[Any] | Callable[[int], Iterable[Any]] | None = None,
    model: nn.Module | None = None,
    config: Mapping[str, Any] | str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    device: str = "auto",
    progress: Callable[[dict[str, Any]], Any] | None = None,
    callbacks: Iterable[Any] = (),
    **settings: Any,
) -> Pretrained:
    """Trains a tabular transformer on datasets generated on the fly, as `causeway pretrain` does.

    prior: a cw.Prior, the name of a prior family, a function or kernel (cw.prior.family), or a mapping of
    names and functions to weights. Except for a cw.Prior, rows, features, classes, regression, … are settings too.
    batches: tables of your own instead of a prior, an iterable of batches. A batch is a dict with x (tables, rows,
    features), NaN for missing values, y (tables, rows) and n_context, the number of context rows, which come first;
    optionally n_classes, n_rows and n_features, for padded tables; or a tuple (x, y, n_context[, n_classes]); or
    a cw.prior.Batch. Arrays are NumPy's, PyTorch's or of any library with DLPack. The numbers may be one per
    table. All batches have the same number of tables; rows and features may differ. Without steps and seconds, an
    iterable with a length is read once. A resumed run reads and drops the batches of the steps before. A function
    is called with the number of batches to skip and returns an iterable.
    model: a model of your own, trained with schedule-free AdamW: an nn.Module with forward(x, y, n_context) -> logits, where x is
    (tables, rows, features), y (tables, n_context), and logits (tables, rows - n_context, outputs). A method
    loss(logits, y) replaces the cross entropy, and is needed for regression.
    config: settings as a mapping, or the path of a .toml or .json file. Keyword arguments override it.
    out: folder of the run, for its model, log, checkpoints and config.json.
    resume: resumes the run in `out` from its newest checkpoint with its settings; given settings
    override them. Functions, batches and models must be passed again.
    progress: called with every log line as a dict. An exception that it raises ends the run.
    callbacks: objects with on_step, on_evaluate, on_checkpoint, …; see cw.callbacks.
    evaluate: CSV or Parquet files, or a function from the model with averaged weights to a score, higher is better. It is called
    every evaluate_steps steps and at the end.

    The first Ctrl-C saves a checkpoint and returns; a second one ends the process. Ranks started by
    torchrun, mpirun or srun train together; each passes its own part of the batches.

        >>> lines = []
        >>> done = pretrain("mlp", rows=24, features=3, classes=2, width=16, heads=2, hidden=16,
        ...                 layers=1, batch=4, steps=4, log_steps=2, device="cpu",
        ...                 progress=lines.append)
        >>> [line["step"] for line in done.log], lines == done.log, done.model.config["classes"]
        ([2, 4], True, 2)
    """
    check_names("pretrain", settings, _NAMES)
    scorer = settings.pop("evaluate") if callable(settings.get("evaluate")) else None
    given, families = _prior_settings(prior, _read_config(config), settings, resume)
    given |= {name: value for name, value in settings.items() if value is not None}
    folder = os.fspath(out) if out is not None else ""
    if resume and not folder:
        raise InvalidArgument("[pretrain] resume: pass out=, the folder of the run")
    _check_parts(prior, batches, model, given)
    if families:
        given["families"] = ",".join(f"{name}={share:g}" for name, share, _ in families)
    if model is not None:
        given |= {"custom_model": type(model).__name__, "muon": False, "dtype": "f32"}
    source = None if batches is None else BatchSource(batches)
    resolved = _resolve(given, device, folder if resume else "", source)
    made = json.loads(resolved)
    if source is not None:
        source.expect(made["batch"] // _pretrain.n_ranks(), made["model"]["classes"])
    log: list[dict[str, Any]] = []
    calls = Callbacks(callbacks, made)

    def report(line: dict[str, Any]) -> None:
        log.append(line)
        if progress is not None:
            progress(line)
        calls.call("on_step", line)
        if "score" in line:
            calls.call("on_evaluate", line)

    def evaluate(weights: dict[str, Any]) -> float:
        if model is None:
            return float(scorer(_model_of(made["model"], made["dtype"], weights)))
        training = model.training
        try:
            return float(scorer(model.eval()))
        finally:
            model.train(training)

    done = None
    try:
        settings_of_model, weights, interrupted = _pretrain.run(
            resolved, device, folder, resume, report,
            (lambda step, path: calls.call("on_checkpoint", step, Path(path))) if calls else None,
            None if scorer is None else evaluate, source, families, model,
            None if model is None else loss_of(model, made["model"]["classes"]),
        )  # fmt: skip
        if model is not None:
            model.load_state_dict(weights)
        trained = model if model is not None else _model_of(json.loads(settings_of_model), made["dtype"], weights)
        done = Pretrained(trained, log, made, interrupted)
    finally:
        calls.end(done)
    return done


def _model_of(config: dict[str, Any], dtype: str, weights: dict[str, Any]) -> TabularTransformer:
    model = TabularTransformer(config, dtype=dtype, device=weights["encoder"].device)
    model.load_state_dict(weights)
    return model


def _prior_settings(
    prior: Any, given: dict[str, Any], settings: Mapping[str, Any], resume: bool
) -> tuple[dict[str, Any], list[Any]]:
    """The settings of `given` and of the prior, and the custom families of the prior."""
    if isinstance(prior, Prior):
        for name in settings:
            if name in _PRIOR_NAMES:
                raise TypeError(f"{name!r} is a setting of the prior; set it in the Prior that is passed")
        return given | {"prior": prior.config, "prior_seed": prior.seed}, []
    if isinstance(prior, str):
        return given if resume and prior == "mix" else given | {"family": prior}, []
    own, families = split_mixture(prior)
    return given | own, families


def _check_parts(prior: Any, batches: Any, model: Any, given: Mapping[str, Any]) -> None:
    if batches is not None:
        if not (isinstance(prior, str) and prior == "mix"):
            raise TypeError("pretrain() got both a prior and batches; pass one of them")
        for name in ("batch", "stages", *sorted(_PRIOR_NAMES - {"classes", "regression"})):
            if name in given and name != "family":
                raise TypeError(f"{name!r} is a setting of runs with a prior, but batches were passed")
    if model is None:
        return
    if not isinstance(model, nn.Module) or isinstance(model, TabularTransformer):
        raise TypeError(f"pretrain() got model={type(model).__name__}; expected an nn.Module with forward(x, y, "
                        "n_context); settings such as width and layers change the built-in model")
    for name in sorted(_MODEL_NAMES | {"preset", "dtype", "muon", "muon_factor"}):
        if given.get(name):
            raise TypeError(f"{name!r} is a setting of the built-in model, but a model was passed")
    if given.get("evaluate"):
        raise TypeError("evaluate: with a model of your own, pass a function instead of CSV files")


def _resolve(given: dict[str, Any], device: str, folder: str, source: BatchSource | None) -> str:
    """The resolved settings. For a new run with batches, the first one gives the sizes."""
    if source is None:
        return _pretrain.resolve(to_json(given), device, folder)
    given = given | {"batches": source.name}
    is_new = not folder or "batches" not in json.loads(_pretrain.resolve("{}", device, folder))
    if is_new:
        tables, rows, features = source.peek()
        given |= {"batch": tables * _pretrain.n_ranks(), "rows": rows, "features": features}
        if source.length is not None and not given.get("steps") and not given.get("seconds"):
            given["steps"] = source.length
    return _pretrain.resolve(to_json(given), device, folder)


def _read_config(config: Any) -> dict[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return dict(config)
    return json.loads(_pretrain.read_config(os.fspath(config)))


_NAMES = names_of(_pretrain.fields())
_PRIOR_NAMES = set(names_of(_prior.fields())) - {"seed"}
_MODEL_NAMES = {field["name"] for field in json.loads(_pretrain.fields()) if field["section"] == "model"}
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
document(pretrain, _pretrain.fields(), [
    inspect.Parameter("prior", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="mix"),
    inspect.Parameter("batches", _KEYWORD, default=None),
    inspect.Parameter("model", _KEYWORD, default=None),
    inspect.Parameter("config", _KEYWORD, default=None),
    inspect.Parameter("out", _KEYWORD, default=None),
    inspect.Parameter("resume", _KEYWORD, default=False),
    inspect.Parameter("device", _KEYWORD, default="auto"),
    inspect.Parameter("progress", _KEYWORD, default=None),
    inspect.Parameter("callbacks", _KEYWORD, default=()),
])
