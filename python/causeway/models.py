"""Models.

    model = cw.models.TabularTransformer("nanotabpfn", layers=6, device="cuda")
    loss = model.loss(x, y, sizes)                        # cross entropy of the query rows
    context = model.encode_context(x_context, y_context)  # once
    logits = model.predict_logits(context, x_query)       # per batch of query rows

    model = cw.models.GPT("gpt2", dtype="bf16", device="cuda")
    loss = model.loss(tokens, targets)                    # cross entropy of the next tokens
    ids = model.generate([1, 2, 3], tokens=50, seed=7)    # new token ids
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import cuda, hub, nn
from ._core import Generator
from ._settings import check_names, to_json
from ._core._models import (
    TableContext,
    _GenerateOptions,
    _Gpt,
    _read_tabular,
    _save_tabular,
    _TabularTransformer,
)

__all__ = ["GPT", "TableContext", "TabularTransformer", "load_tabular", "save_tabular"]


class TabularTransformer(_TabularTransformer):
    """A transformer over tables: attention between the columns of a row, then between the rows of a
    column, where every row attends to the context rows only.

    config is a preset ("default", "nanotabpfn" or "speedrun") or a mapping of all settings; keyword
    arguments override single settings. With classes=0 the model is for regression, and its outputs
    are bins of the predicted distribution.
    """

    def __init__(
        self,
        config: str | Mapping[str, Any] = "default",
        *,
        dtype: Any = "f32",
        device: str = "cpu",
        generator: Generator | None = None,
        **changes: Any,
    ) -> None:
        settings = json.loads(self._preset(config)) if isinstance(config, str) else dict(config)
        check_names("TabularTransformer", changes, json.loads(self._preset("default")))
        super().__init__(to_json(settings | changes), dtype, device, generator)

    @property
    def config(self) -> dict[str, Any]:
        """All settings."""
        return json.loads(self._config)

    def save_pretrained(self, folder: str | os.PathLike[str], **card: Any) -> None:
        """Writes model.safetensors and a model card to a folder. run=, the result of cw.pretrain, and license=
        add to the card."""
        hub.save_pretrained(self, folder, **card)

    def push_to_hub(self, repo_id: str, **options: Any) -> Any:
        """Uploads the model and its card to the Hugging Face Hub; see cw.hub.push_to_hub."""
        return hub.push_to_hub(self, repo_id, **options)

    @classmethod
    def from_pretrained(
        cls,
        source: str | os.PathLike[str],
        *,
        revision: str | None = None,
        token: str | None = None,
        dtype: Any = None,
        device: str = "cpu",
    ) -> TabularTransformer:
        """Reads a model from a repository of the Hub, "user/name", or from a folder or file. Default dtype: f32 on
        the CPU, bf16 on a GPU."""
        return load_tabular(hub.download(source, revision=revision, token=token), dtype=dtype, device=device)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.config.items())
        return f"TabularTransformer({settings})"

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.config, self.device, self.training, _host_state(self))


def _host_state(model: nn.Module) -> dict[str, Any]:
    return {name: values.to("cpu") for name, values in model.state_dict().items()}


def _rebuild(
    made: type, config: Mapping[str, Any], device: str, training: bool, state: Any
) -> TabularTransformer | GPT:
    model = made.__new__(made)
    dtype = next(iter(state.values())).dtype
    base = TabularTransformer if issubclass(made, TabularTransformer) else GPT
    base.__init__(model, config, dtype=dtype, device=device, generator=Generator(0))
    model.load_state_dict(state)
    return model.train(training)


# Constructor arguments for copy.deepcopy, which then copies tensors and attributes.
for _base in (_TabularTransformer, _Gpt):
    nn.copies._ARGUMENTS[_base] = lambda model: (model._config, "f32", "cpu", Generator(0))


class GPT(_Gpt):
    """A decoder-only transformer: GPT-2, or a Llama-shaped model by its settings.

    config is a preset ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "llama-tiny" or "bytes") or a
    mapping of all settings; keyword arguments override single settings, such as length=256 or
    norm="rms".
    """

    def __init__(
        self,
        config: str | Mapping[str, Any] = "gpt2",
        *,
        dtype: Any = "f32",
        device: str = "cpu",
        generator: Generator | None = None,
        **changes: Any,
    ) -> None:
        settings = json.loads(self._preset(config)) if isinstance(config, str) else dict(config)
        check_names("GPT", changes, json.loads(self._preset("gpt2")))
        super().__init__(to_json(settings | changes), dtype, device, generator)

    @property
    def config(self) -> dict[str, Any]:
        """All settings."""
        return json.loads(self._config)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.config.items())
        return f"GPT({settings})"

    def generate(
        self,
        prompt: Any,
        tokens: int = 100,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int = 0,
        int8: bool = False,
    ) -> Any:
        """Continues one sequence of token ids, or several of any lengths, with a key-value cache.

        Returns the new ids as an int64 array, or a list of arrays. A sequence ends after `tokens` new
        tokens or when it is as long as the model allows.

        temperature: divides the logits; 0 takes the most probable token.
        top_k: draws from the k most probable tokens; 0 for all.
        top_p: draws from the most probable tokens whose probabilities sum to this.
        min_p: leaves out tokens below this times the largest probability.
        int8: rounds the matrices to 8 bits.
        """
        options = _GenerateOptions(tokens, temperature, top_k, top_p, min_p, seed)
        prompts = prompt.numpy() if hasattr(prompt, "numpy") else prompt
        is_single = len(prompts) == 0 or np.ndim(prompts[0]) == 0
        batch = [_ids(ids) for ids in ([prompts] if is_single else prompts)]
        made = [np.array(ids, np.int64) for ids in self._generate(batch, options, int8)]
        return made[0] if is_single else made

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.config, self.device, self.training, _host_state(self))


def _ids(values: Any) -> list[int]:
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError("expected token ids: integers, one sequence or several")
    return array.tolist()


def save_tabular(model: TabularTransformer, path: str | os.PathLike[str]) -> None:
    """Writes weights and settings of a model to one safetensors file."""
    _save_tabular(os.fspath(path), model)


def load_tabular(
    path: str | os.PathLike[str], *, dtype: Any = None, device: str = "cpu"
) -> TabularTransformer:
    """Reads a file written by save_tabular. Default dtype: f32 on the CPU, bf16 on a GPU."""
    return model_of(*_read_tabular(os.fspath(path)), device, dtype)


def model_of(config: str, state: Any, device: str, dtype: Any = None) -> TabularTransformer:
    """A model with these settings, as JSON, and weights. Defaults as for load_tabular."""
    if device == "auto":
        device = "cuda" if cuda.is_available() else "cpu"
    if dtype is None:
        dtype = "f32" if device == "cpu" else "bf16"
    model = TabularTransformer(json.loads(config), dtype=dtype, device=device)
    model.load_state_dict(state)
    return model.eval()
