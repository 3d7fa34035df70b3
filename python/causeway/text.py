"""Text for language models: tokenizers, documents, token shards and batches.

    cw.text.tokenize("corpus/*.jsonl.zst", "tokens", tokenizer="tokenizer.json", validation=0.01)
    data = cw.text.TokenData.open("tokens/train_*.bin")
    stream = cw.text.TokenStream(data, batch=8, length=1024, seed=7)
    tokens, targets = stream.batch(0)            # cw.Tensor, int64, (8, 1024) each

docs/text.md describes the formats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ._core import Tensor, _text
from ._progress import ProgressBar

__all__ = ["TokenData", "TokenStream", "Tokenizer", "documents", "tokenize"]

Paths = str | Path | Sequence[str | Path]


def _paths(inputs: Paths) -> list[str]:
    single = isinstance(inputs, (str, Path))
    return [str(path) for path in ([inputs] if single else inputs)]


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)


def _id_bytes(ids: Any) -> bytes:
    array = np.asarray(ids)
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= 1 << 32):
        raise ValueError("token ids must be integers of 0 or more")
    return array.astype("<u4").tobytes()


class Tokenizer:
    """A tokenizer of text: a tokenizer.json with a BPE model, or "bytes" for one token per byte."""

    def __init__(self, name: str | Path = "bytes"):
        self._core = _text.load_tokenizer(str(name))

    def encode(self, text: str | bytes) -> np.ndarray:
        """The token ids of a text, uint32. No token is added at the start or the end."""
        return np.frombuffer(self._core.encode(_bytes(text)), "<u4")

    def encode_batch(self, texts: Sequence[str | bytes]) -> list[np.ndarray]:
        """The token ids of each text; the texts are encoded by all threads."""
        return [np.frombuffer(ids, "<u4") for ids in self._core.encode_batch([_bytes(text) for text in texts])]

    def decode(self, ids: Any) -> str:
        """The text of the tokens; bytes that are not UTF-8 become U+FFFD."""
        return self.decode_bytes(ids).decode(errors="replace")

    def decode_bytes(self, ids: Any) -> bytes:
        """The bytes of the tokens, one after the other."""
        return self._core.decode(_id_bytes(ids))

    def token(self, id: int) -> bytes:
        """The bytes of one token."""
        return self._core.token(id)

    @property
    def vocabulary(self) -> int:
        """All ids are below this number."""
        return self._core.vocabulary()

    @property
    def end_of_text(self) -> int:
        """The token that separates documents."""
        return self._core.end_of_text()


def documents(
    inputs: Paths, *, separator: str = "", template: str = "{text}", answer: str = ""
) -> Iterator[tuple[str, str]]:
    """(prompt, text) of each document of text files, .jsonl and .jsonl.zst files, folders and globs.

    separator: a line that separates the documents of a text file; without it a file is one document.
    template: the text of a JSON object, with {name} for the string of field `name`.
    answer: the field of the template at which the answer begins; the prompt is what comes before it.
    """
    source = _text.Source(_paths(inputs), separator, template, answer)
    while (document := source.next()) is not None:
        yield document


def tokenize(
    inputs: Paths,
    out: str | Path,
    *,
    tokenizer: str | Path = "bytes",
    separator: str = "",
    template: str = "{text}",
    answer: str = "",
    shard_tokens: int = 100_000_000,
    validation: float = 0.0,
    seed: int = 0,
    verbose: bool = False,
) -> dict[str, Any]:
    """Writes token shards of text to a new folder and returns their numbers of documents and tokens.

    validation: the fraction of the documents that goes to val_*.bin; the others go to train_*.bin.
    With `answer`, the tokens before it are no training targets. Other parameters: see `documents`.
    """
    with ProgressBar("tokenize", verbose) as progress:
        return _text.tokenize(
            _paths(inputs), Path(out), str(tokenizer), separator, template, answer, shard_tokens, validation, seed, progress
        )  # fmt: skip


class TokenData:
    """A sequence of tokens: shards one after the other, or ids in memory, or parts of either."""

    def __init__(self, core: _text.TokenData):
        self._core = core

    @classmethod
    def open(cls, inputs: Paths, vocabulary: int = 0) -> TokenData:
        """The shards of files, folders and globs. vocabulary: check that all ids are below it."""
        return cls(_text.TokenData.open(_paths(inputs), vocabulary))

    @classmethod
    def from_ids(cls, ids: Any, excluded: Any = None) -> TokenData:
        """Tokens in memory. excluded: True for tokens that are no targets."""
        flags = b"" if excluded is None else np.asarray(excluded, bool).tobytes()
        return cls(_text.TokenData.from_ids(_id_bytes(ids), flags))

    def __len__(self) -> int:
        return self._core.size()

    def read(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """Tokens [begin, end), int64."""
        return np.frombuffer(self._core.read(begin, (len(self) if end is None else end) - begin, False), "<i8")

    def targets(self, begin: int = 0, end: int | None = None) -> np.ndarray:
        """The same with -100 for tokens that are no targets."""
        return np.frombuffer(self._core.read(begin, (len(self) if end is None else end) - begin, True), "<i8")

    def split_end(self, fraction: float) -> tuple[TokenData, TokenData]:
        """(training, validation): the last `fraction` of the tokens is for validation."""
        first, second = self._core.split_end(fraction)
        return TokenData(first), TokenData(second)

    def split_documents(self, fraction: float, end_of_text: int, seed: int = 0) -> tuple[TokenData, TokenData]:
        """(training, validation): documents, which begin with `end_of_text`, are chosen at random."""
        first, second = self._core.split_documents(fraction, end_of_text, seed)
        return TokenData(first), TokenData(second)


class TokenStream:
    """Batches of shuffled windows of `length` tokens.

    A step is a function of data, seed, batch and length alone, so a run resumes at any step, and the order
    does not depend on the number of ranks. Every window is used once per epoch.
    """

    def __init__(
        self,
        data: TokenData,
        *,
        batch: int = 8,
        length: int = 1024,
        seed: int = 0,
        shuffle: bool = True,
        rank: int = 0,
        n_ranks: int = 1,
    ):
        self._core = _text.TokenStream(data._core, batch, length, seed, shuffle, rank, n_ranks)

    def batch(self, step: int) -> tuple[Tensor, Tensor]:
        """(tokens, targets) of a step, int64 of shape (batch / n_ranks, length), on the CPU."""
        return self._core.batch(step)

    @property
    def windows_per_epoch(self) -> int:
        return self._core.windows_per_epoch()

    @property
    def steps_per_epoch(self) -> int:
        return self._core.steps_per_epoch()
