"""Synthetic datasets from structural causal models, generated on the device that uses them.

    prior = cw.Prior("graph", rows=1024, features=(1, 100), classes=(2, 10), seed=7, device="cuda")
    batch = prior.batch(64)             # datasets 0 to 63; the next call starts with 64
    x = torch.from_dlpack(batch.x)      # (64, 1024, 100), no copy
    loader = torch.utils.data.DataLoader(
        cw.prior.TorchDataset(prior, batch_size=64), batch_size=None)

Dataset k of a seed is a function of the seed, k and the configuration: the same bytes on every
device, in any batch, worker or rank.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ._core import InvalidArgument, Tensor, _prior
from ._settings import check_names, document, names_of, to_json
from .families import Family, family

__all__ = ["FAMILIES", "Batch", "Counterfactual", "DatasetFacts", "Family", "Prior", "TorchDataset", "family"]

FAMILIES = tuple(_prior.family_names())
_NAMES = names_of(_prior.fields())
_REASONS = tuple(_prior.rejection_reasons())


@dataclass(frozen=True)
class DatasetFacts:
    """Properties of a dataset.

    The first n_train rows are context rows, the others query rows. Labels are 0 to n_classes - 1,
    not all of which need to occur; n_classes is 0 for regression. bayes_error is the error rate of
    the most probable class, if classes are sampled. rejected counts the attempts rejected by the
    filters, by reason.
    """

    index: int
    family: str
    n_rows: int
    n_features: int
    n_classes: int
    n_train: int
    n_attempts: int
    bayes_error: float
    rejected: dict[str, int]


class Counterfactual(NamedTuple):
    """A dataset, and its counterfactual with an intervention or without noise: both share all random
    draws."""

    x: Tensor
    y: Tensor
    counterfactual_x: Tensor
    counterfactual_y: Tensor


class Batch:
    """A batch of datasets in contiguous memory on the prior's device.

    With the padded layout, x is (count, rows, features) and y is (count, rows), padded with zeros.
    With the packed layout, datasets follow each other without padding; see `offsets`.
    batch[k] is dataset k at its own size, as views.

        >>> batch = Prior("simple", rows=8, features=3, regression=True).batch(2)
        >>> batch.x.shape, batch[1][0].shape, batch.n_train.shape
        ((2, 8, 3), (8, 3), (2,))
    """

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._facts: list[DatasetFacts] | None = None

    @property
    def x(self) -> Tensor:
        """Features, f32; NaN for missing values."""
        return self._inner.x

    @property
    def y(self) -> Tensor:
        """Targets, f32: numbers or class labels."""
        return self._inner.y

    @property
    def first(self) -> int:
        """The index of the first dataset."""
        return self._inner.first

    @property
    def layout(self) -> str:
        """"padded" or "packed"."""
        return "packed" if self._inner.packed else "padded"

    @property
    def offsets(self) -> list[tuple[int, int, int]]:
        """For the packed layout: each dataset's offset in x, offset in y and row stride in x."""
        return self._inner.offsets

    @property
    def facts(self) -> list[DatasetFacts]:
        """Properties of each dataset; the first access waits for the device."""
        if self._facts is None:
            self._facts = [
                DatasetFacts(*fields, dict(zip(_REASONS, rejected, strict=True)))
                for *fields, rejected in self._inner.facts()
            ]
        return self._facts

    def _of_all(self, name: str) -> np.ndarray:
        return np.array([getattr(facts, name) for facts in self.facts], np.int64)

    @property
    def n_rows(self) -> np.ndarray:
        """Number of rows of each dataset."""
        return self._of_all("n_rows")

    @property
    def n_features(self) -> np.ndarray:
        """Number of features of each dataset."""
        return self._of_all("n_features")

    @property
    def n_classes(self) -> np.ndarray:
        """Number of classes of each dataset, 0 for regression."""
        return self._of_all("n_classes")

    @property
    def n_train(self) -> np.ndarray:
        """Number of context rows of each dataset."""
        return self._of_all("n_train")

    def hashes(self) -> list[int]:
        """A 64-bit hash of each dataset, which does not depend on the layout."""
        return [self._inner.hash(k) for k in range(len(self))]

    def to(self, device: str) -> Batch:
        """The same datasets on another device."""
        return Batch(self._inner.to(device))

    def __len__(self) -> int:
        return self._inner.count

    def __getitem__(self, k: int) -> tuple[Tensor, Tensor]:
        return self._inner.dataset(k + len(self) if k < 0 else k)

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        return (self[k] for k in range(len(self)))

    def __repr__(self) -> str:
        last = self.first + len(self) - 1
        return f"Batch(datasets {self.first} to {last}, {self.layout}, x={self.x.shape})"


class Prior:
    """A distribution over datasets, from which dataset k of a seed is drawn.

    family: "simple" (sums of sin, cos, tanh, exp and linear terms), "mlp" (random networks), "tree"
    (random trees), "graph" (random graphs of random functions), "rules" (parity, lookups, decision
    lists and trees over a few columns), "linear" (weighted sums of many columns, few context rows),
    or "mix", a mixture of them with the weights mix={"mlp": 0.7, "rules": 0.3}.

    rows, features, classes are a number, (low, high) with both ends included, or "log low:high".
    train_share and missing_share are a number or (low, high). Datasets that fail a filter are drawn
    again.

        >>> prior = Prior("mlp", rows=100, features=(2, 5), classes=2, seed=7)
        >>> batch = prior.batch(4)
        >>> batch.x.shape, [facts.index for facts in prior.batch(2).facts]
        ((4, 100, 5), [4, 5])
    """

    def __init__(self, family: str = "graph", *, device: str = "cpu", **settings: Any) -> None:
        check_names("Prior", settings, _NAMES)
        given = {name: value for name, value in settings.items() if value is not None}
        self._start(_prior._Config.from_settings(to_json({"family": family, **given})), device, 0)

    def _start(self, config: Any, device: str, position: int) -> None:
        self._inner = _prior._Prior(config, device)
        self.position = position  # index of the next batch's first dataset

    @classmethod
    def from_json(cls, text: str, seed: int = 0, device: str = "cpu") -> Prior:
        """A prior from a configuration written by to_json."""
        return _restore(text, seed, device, 0)

    def to_json(self) -> str:
        """The configuration, without seed and device, as one line of JSON."""
        return self._inner.config.to_json()

    @property
    def config(self) -> dict[str, Any]:
        """The configuration, without seed and device."""
        return json.loads(self.to_json())

    @property
    def seed(self) -> int:
        """The seed."""
        return self._inner.config.seed

    @property
    def device(self) -> str:
        """The device that generates the datasets."""
        return self._inner.device

    def batch(self, count: int, first: int | None = None, layout: str = "padded") -> Batch:
        """Generates datasets `first` to first + count - 1, by default the next `count`, on the current
        stream. Releases the GIL; on a GPU the call returns before the work is done.
        """
        if layout not in ("padded", "packed"):
            raise InvalidArgument(f"[prior.batch] layout {layout!r}: expected \"padded\" or \"packed\"")
        begin = self.position if first is None else first
        if begin < 0:
            raise InvalidArgument(f"[prior.batch] first {begin}: expected 0 or more")
        made = Batch(self._inner.batch(begin, count, layout == "packed"))
        self.position = begin + count
        return made

    def describe(self, k: int) -> dict[str, Any]:
        """The structural causal model of dataset k: its nodes with parents and mechanisms, its edges,
        and the node of each feature and of the target.

            >>> model = Prior("graph", rows=64, features=3, classes=2).describe(0)
            >>> sorted(model)[:3], all(a < b for a, b in model["edges"])
            (['bayes_error', 'edges', 'family'], True)
        """
        described = json.loads(self._inner.describe(_index(k)))
        described["edges"] = [
            (parent, node["id"]) for node in described["nodes"] for parent in node["parents"]
        ]
        return described

    def intervene(self, k: int, column: int, value: float) -> Counterfactual:
        """Dataset k, and the same with feature `column` set to `value` in every row: columns that do
        not depend on it are bit-identical. On the CPU.
        """
        return Counterfactual(*self._inner.intervene(_index(k), column, value))

    def without_noise(self, k: int) -> Counterfactual:
        """Dataset k, and the same without noise and with the most probable class. On the CPU."""
        return Counterfactual(*self._inner.without_noise(_index(k)))

    def hash(self, k: int | Iterable[int]) -> int:
        """A 64-bit hash of dataset k, or of several datasets in order.

            >>> prior = Prior("simple", rows=8, features=3, classes=2, seed=1)
            >>> prior.hash(2) == prior.batch(3, first=0).hashes()[2]
            True
        """
        if isinstance(k, (int, np.integer)):
            return self._inner.batch(_index(k), 1, False).hash(0)
        return _prior.hash_all([self.hash(one) for one in k])

    def to_parquet(
        self,
        path: str | os.PathLike[str],
        count: int,
        first: int = 0,
        batch_size: int = 64,
        compression: str = "zstd",
    ) -> None:
        """Writes datasets to a Parquet file with the columns `dataset`, `row`, `is_train`, `y`, `x0`,
        `x1`, …, which are null if a dataset has fewer features. Needs pyarrow. The file's metadata has
        configuration, seed and hashes. The file is written under a temporary name and renamed.
        """
        from .parquet import write_parquet

        write_parquet(self, path, count, first, batch_size, compression)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.to_json(), self.seed, self.device, self.position)

    def __repr__(self) -> str:
        config = self.config
        parts = [f"{name}={config[name]!r}" for name in ("rows", "features", "classes")
                 if name in config]
        if config["regression"]:
            parts.append("regression=True")
        return (f"Prior({config['family']!r}, {', '.join(parts)}, seed={self.seed}, "
                f"device={self.device!r})")


document(Prior, _prior.fields(), [
    inspect.Parameter("family", inspect.Parameter.POSITIONAL_OR_KEYWORD, default="graph"),
    inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default="cpu"),
])


def _index(k: int) -> int:
    if not 0 <= k < 2**64:
        raise InvalidArgument(f"[prior] dataset {k}: expected an index of 0 or more")
    return int(k)


def _restore(text: str, seed: int, device: str, position: int) -> Prior:
    config = _prior._Config.from_json(text)
    config.seed = seed
    prior = Prior.__new__(Prior)
    prior._start(config, device, position)
    return prior


def __getattr__(name: str) -> Any:
    if name == "TorchDataset":  # imports torch, which is optional
        from .torch_dataset import TorchDataset

        return TorchDataset
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
