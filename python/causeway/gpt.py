"""GPT language models: training, text generation, files.

    cw.gpt.train("corpus.txt", "run", steps=2000)         # as `causeway gpt train` does
    writer = cw.gpt.load("run")
    writer.generate("Once upon a time", tokens=200, temperature=0.8, seed=3)

    model = cw.gpt.from_huggingface("gpt2")               # a cw.models.GPT
    cw.gpt.save(model, "gpt2-int8.safetensors", int8=True)

docs/gpt.md describes settings and files.
"""

from __future__ import annotations

import inspect
import json
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from . import cuda
from ._core import Generator, InvalidArgument, _gpt
from ._core._models import _GenerateOptions
from ._settings import check_names, document, names_of, to_json
from .models import GPT
from .text import Paths, Tokenizer, _paths

__all__ = ["TextGenerator", "from_huggingface", "load", "save", "to_huggingface", "train"]


def train(
    data: Paths | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    resume: bool = False,
    device: str = "auto",
    callback: Callable[[dict[str, Any]], Any] | None = None,
    **settings: Any,
) -> dict[str, Any]:
    """Trains a GPT on text or token shards, as `causeway gpt train` does, and returns the last log line.

    data: text files, .jsonl files, folders, globs, or token shards (.bin). A resumed run has its own.
    out: folder of the run, for its model, tokenizer, log, samples, checkpoints and config.json.
    resume: resumes the run in `out` from its newest checkpoint with its settings; given settings
    override them.
    callback: called with every log line as a dict. An exception that it raises ends the run.

    A line has step, tokens, seconds, loss (mean since the last line), gradient_norm,
    tokens_per_second, mfu (model FLOPs utilization; 0 if the GPU's peak is unknown), and, where they
    were computed, validation_loss and sample. The returned one also has interrupted.

    The first Ctrl-C saves a checkpoint and returns; a second one ends the process. Ranks started by
    torchrun, mpirun or srun train together.
    """
    check_names("train", settings, _NAMES)
    given = {name: value for name, value in settings.items() if value is not None}
    if data is not None:
        given["data"] = _paths(data)
    if "tokenizer" in given:
        given["tokenizer"] = os.fspath(given["tokenizer"])
    folder = os.fspath(out) if out is not None else ""
    if resume and not folder:
        raise InvalidArgument("[gpt train] resume: pass out=, the folder of the run")
    resolved = _gpt.resolve(to_json(given), device, folder if resume else "")
    return _gpt.run(resolved, device, folder, resume, callback or (lambda line: None))


class TextGenerator:
    """Generates text with a model and its tokenizer. `load` makes one from a file.

    int8: rounds the matrices to 8 bits, once: weights that change later are not seen.
    """

    def __init__(self, model: GPT, tokenizer: Tokenizer, *, int8: bool = False) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self._core = _gpt.TextGenerator(model, tokenizer._core, int8)

    def generate(
        self,
        prompt: str | Sequence[str],
        tokens: int = 100,
        *,
        temperature: float = 1.0,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        seed: int = 0,
        stop: str | Sequence[str] = (),
        stream: Callable[..., Any] | bool | None = None,
    ) -> Any:
        """Continues a prompt, or each of several, and returns the new text without the prompt.

        A text ends after `tokens` new tokens, at the tokenizer's end-of-text token, or before one of
        the texts `stop`. An empty prompt starts a new text. A prompt that leaves no room for the new
        tokens loses its beginning. Sample i of a seed is the same in any batch, except for rounding.

        temperature: divides the logits; 0 takes the most probable token.
        top_k: draws from the k most probable tokens; 0 for all.
        top_p: draws from the most probable tokens whose probabilities sum to this.
        min_p: leaves out tokens below this times the largest probability.
        stream: a function that receives each piece of new text, f(text), or f(index, text) with
        several prompts. With True, generate returns an iterator over these pieces instead.
        """
        options = _GenerateOptions(tokens, temperature, top_k, top_p, min_p, seed)
        is_single = isinstance(prompt, str)
        prompts = [prompt] if is_single else list(prompt)
        ends = [stop] if isinstance(stop, str) else list(stop)

        def run(report: Callable[..., Any] | None) -> str | list[str]:
            def on_text(index: int, piece: bytes) -> None:
                text = piece.decode(errors="replace")
                report(text) if is_single else report(index, text)

            made = self._core.generate(prompts, options, ends, on_text if report else None)
            texts = [text.decode(errors="replace") for text in made]
            return texts[0] if is_single else texts

        if stream is True:
            return _iterate(run)
        return run(stream or None)

    def __repr__(self) -> str:
        return f"TextGenerator({self.model!r})"


class _Stopped(Exception):
    """The reader of an iterator has ended it."""


def _iterate(run: Callable[[Callable[..., Any]], Any]) -> Iterator[Any]:
    """The arguments that `run`, in a thread of its own, passes to its callback."""
    pieces: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
    ended = threading.Event()

    def report(*piece: Any) -> None:
        if ended.is_set():
            raise _Stopped
        pieces.put((piece[0] if len(piece) == 1 else piece, None))

    def work() -> None:
        try:
            run(report)
            pieces.put((None, None))
        except BaseException as error:  # raised again by the reader
            pieces.put((None, error))

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        while True:
            piece, error = pieces.get()
            if error is not None:
                raise error
            if piece is None:
                return
            yield piece
    finally:
        ended.set()
        thread.join()


def load(
    path: str | os.PathLike[str],
    *,
    device: str = "auto",
    tokenizer: str | Path | Tokenizer | None = None,
    int8: bool = False,
) -> TextGenerator:
    """Loads the model of a run's folder, or a model file, for text generation.

    tokenizer: a tokenizer.json or "bytes". Default: the tokenizer.json in the folder, else bytes for
    a model of bytes.
    int8: rounds the matrices to 8 bits for text generation.

    Weights are bf16 on a GPU, f32 on the CPU.
    """
    if device == "auto":
        device = "cuda" if cuda.is_available() else "cpu"
    model = _model(_gpt.read(Path(path)), "f32" if device == "cpu" else "bf16", device)
    if not isinstance(tokenizer, Tokenizer):
        tokenizer = Tokenizer(tokenizer or _gpt.find_tokenizer(Path(path), model))
    return TextGenerator(model, tokenizer, int8=int8)


def save(model: GPT | TextGenerator, path: str | os.PathLike[str], *, int8: bool = False) -> None:
    """Writes weights and settings of a model to one safetensors file.

    int8: stores the matrices in 8 bits, with one scale per row.
    """
    _gpt.save(Path(path), _plain(model), int8)


def from_huggingface(
    folder: str | os.PathLike[str], *, dtype: Any = None, device: str = "cpu"
) -> GPT:
    """Reads a GPT-2 or Llama model in the format of `transformers`: config.json and safetensors files.

    dtype: of the weights; default: that of the files.
    """
    return _model(_gpt.import_huggingface(Path(folder)), dtype, device)


def to_huggingface(model: GPT | TextGenerator, folder: str | os.PathLike[str]) -> None:
    """Writes config.json and model.safetensors for `AutoModelForCausalLM.from_pretrained`.

    Raises InvalidArgument, which names the setting, if the model is neither a GPT-2 nor a Llama.
    """
    _gpt.export_huggingface(Path(folder), _plain(model))


def _plain(model: GPT | TextGenerator) -> GPT:
    return model.model if isinstance(model, TextGenerator) else model


def _model(weights: tuple[str, dict[str, Any]], dtype: Any, device: str) -> GPT:
    config, state = weights
    dtype = state["norm.weight"].dtype if dtype is None else dtype
    model = GPT(json.loads(config), dtype=dtype, device=device, generator=Generator(0))
    model.load_state_dict(state)
    return model.eval()


_NAMES = names_of(_gpt.fields())
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD
document(train, _gpt.fields(), [
    inspect.Parameter("data", _POSITIONAL, default=None),
    inspect.Parameter("out", _POSITIONAL, default=None),
    inspect.Parameter("resume", _KEYWORD, default=False),
    inspect.Parameter("device", _KEYWORD, default="auto"),
    inspect.Parameter("callback", _KEYWORD, default=None),
])  # fmt: skip
