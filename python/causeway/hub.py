"""Models on the Hugging Face Hub, or in folders of the same content: model.safetensors and a model card.

    model.push_to_hub("user/tables")                               # a cw.models.TabularTransformer
    model = cw.models.TabularTransformer.from_pretrained("user/tables")
    cw.TabularClassifier(model=model)

huggingface_hub is imported only when a model is pushed or downloaded.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._core import FileError
from ._core import _version as version
from ._core._models import _save_tabular

if TYPE_CHECKING:
    from .models import TabularTransformer
    from .pretrain import Pretrained

__all__ = ["download", "model_card", "push_to_hub", "save_pretrained"]

WEIGHTS = "model.safetensors"


def model_card(model: TabularTransformer, *, run: Pretrained | None = None, license: str | None = None,
               name: str = "user/name") -> str:
    """The text of a model card: metadata of the Hub, settings, how to load the model and, with the result of
    cw.pretrain, how it was trained."""
    is_regression = model.config["classes"] == 0
    task = "regression" if is_regression else "classification"
    estimator = "TabularRegressor" if is_regression else "TabularClassifier"
    lines = ["---", "library_name: causeway", f"pipeline_tag: tabular-{task}", "tags:", "- tabular", "- causeway"]
    lines += [f"license: {license}"] if license else []
    outputs = f"{model.config['bins']} bins" if is_regression else f"up to {model.config['classes']} classes"
    lines += ["---", "", f"# Tabular transformer for {task}", "",
              f"{model.n_parameters:,} parameters, {outputs}; written by Causeway {version}.", "", "```python",
              "import causeway as cw", "", f'model = cw.models.TabularTransformer.from_pretrained("{name}")',
              f"cw.{estimator}(model=model).fit(X, y).predict(X_new)", "```", "", "## Settings", "",
              "| setting | value |", "|---|---|"]  # fmt: skip
    lines += [f"| `{key}` | {value} |" for key, value in model.config.items()]
    if run is not None and run.log:
        last, config = run.log[-1], run.config
        source = config.get("batches") or config.get("families") or f"the prior `{config['prior']['family']}`"
        lines += ["", "## Training", "", f"Pre-trained on {last['datasets']:,} datasets from {source}: {last['step']:,} "
                  f"steps, last loss {last['loss']:.4g}."]  # fmt: skip
        lines += [f"Score of the last evaluation: {last['score']:.4g}."] if "score" in last else []
    return "\n".join(lines) + "\n"


def save_pretrained(model: TabularTransformer, folder: str | os.PathLike[str], *, run: Pretrained | None = None,
                    license: str | None = None, name: str | None = None) -> None:
    """Writes model.safetensors and README.md, the model card, to a folder, which is created if needed."""
    path = Path(folder)
    path.mkdir(parents=True, exist_ok=True)
    _save_tabular(os.fspath(path / WEIGHTS), model)
    card = model_card(model, run=run, license=license, name=name or os.fspath(folder))
    (path / "README.md").write_text(card, encoding="utf-8")


def push_to_hub(model: TabularTransformer, repo_id: str, *, run: Pretrained | None = None, license: str | None = None,
                private: bool | None = None, token: str | None = None, revision: str | None = None) -> Any:
    """Uploads model and card to a repository of the Hub, which is created if needed; returns its commit."""
    api = _hub().HfApi(token=token)
    api.create_repo(repo_id, private=private, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        save_pretrained(model, folder, run=run, license=license, name=repo_id)
        return api.upload_folder(repo_id=repo_id, folder_path=folder, revision=revision,
                                 commit_message="Upload a tabular transformer")


def download(source: str | os.PathLike[str], *, revision: str | None = None, token: str | None = None) -> str:
    """The path of the weights: of a file, in a folder, or downloaded from a repository of the Hub."""
    path = Path(source)
    if path.is_file():
        return os.fspath(path)
    if path.is_dir():
        if not (path / WEIGHTS).is_file():
            raise FileError(f'[from_pretrained] "{path}" has no {WEIGHTS}')
        return os.fspath(path / WEIGHTS)
    if not isinstance(source, str) or source.count("/") != 1 or source.startswith((".", "/")):
        raise FileError(f'[from_pretrained] "{source}": no such file or folder, and not the name of a repository '
                        '("user/name")')
    return _hub().hf_hub_download(source, WEIGHTS, revision=revision, token=token)


def _hub() -> Any:
    try:
        import huggingface_hub
    except ImportError as error:
        raise ImportError("the Hub needs huggingface_hub: pip install huggingface_hub") from error
    return huggingface_hub
