"""Batches of tables from any source: checks, conversion, and where a resumed run continues."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ._core import InvalidArgument, Tensor, asarray
from .prior import Batch

__all__ = ["BatchSource"]

_KEYS = ("x", "y", "n_context", "n_classes", "n_rows", "n_features")


class BatchSource:
    """The batches of a run, as tensors (x, y, sizes) of one step after the other.

    batches: an iterable of batches, or a function that returns one, given the number of batches to
    skip. A run that resumes at step k calls the function with k; of an iterable it reads k batches
    without using them.
    """

    def __init__(self, batches: Iterable[Any] | Callable[[int], Iterable[Any]]) -> None:
        self._restarts = callable(batches) and not isinstance(batches, Iterable)
        if not self._restarts and not isinstance(batches, Iterable):
            raise TypeError(f"pretrain() got batches={_kind(batches)}; expected an iterable of batches, or a "
                            "function from the number of batches to skip to an iterable")
        self.name = getattr(batches, "__name__" if self._restarts else "", type(batches).__name__)
        self.length = len(batches) if hasattr(batches, "__len__") else None
        self._batches = batches
        self._iterator: Iterator[Any] | None = None
        self._step = 0  # of the next batch
        self._n_tables: int | None = None
        self._n_classes: int | None = None

    def expect(self, n_tables: int, n_classes: int) -> None:
        """Sets the tables per batch, and the classes of the model; 0 for regression."""
        self._n_tables, self._n_classes = n_tables, n_classes

    def peek(self) -> tuple[int, int, int]:
        """The shape (tables, rows, features) of the first batch, which is read again as that of step 0."""
        first = self._read(0)
        self._iterator = itertools.chain([first], self._iterator)
        self._step = 0
        shape = tuple(_fields(first, 0)["x"].shape)
        if len(shape) != 3:
            raise InvalidArgument(f"[pretrain] batch 0: expected x (tables, rows, features), got shape {shape}")
        return shape

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        return to_tables(self._read(step), step, self._n_tables, self._n_classes)

    def _read(self, step: int) -> Any:
        if self._iterator is None:
            if self._restarts:
                self._iterator, self._step = iter(self._batches(step)), step
            else:
                self._iterator = iter(self._batches)
        while True:
            try:
                batch = next(self._iterator)
            except StopIteration:
                raise InvalidArgument(
                    f"[pretrain] batches ended after {self._step} batches, but step {step + 1} needs one more; "
                    "set steps, or repeat the batches with itertools.cycle") from None
            self._step += 1
            if self._step > step:
                return batch


def to_tables(
    batch: Any, step: int, n_tables: int | None, n_classes: int | None
) -> tuple[Tensor, Tensor, Tensor]:
    """Checks a batch and returns x (tables, rows, features) f32, y (tables, rows) f32, and sizes
    (tables, 3) i64: rows, features and context rows of each table."""
    fields = _fields(batch, step)
    where = f"[pretrain] batch {step}:"
    x, y = _numbers(fields["x"], "x", where), _numbers(fields["y"], "y", where)
    if len(x.shape) != 3 or 0 in x.shape:
        raise InvalidArgument(f"{where} expected x (tables, rows, features), got shape {tuple(x.shape)}")
    if tuple(y.shape) != tuple(x.shape[:2]):
        raise InvalidArgument(f"{where} expected y of shape {tuple(x.shape[:2])} for x of shape {tuple(x.shape)}, "
                              f"got {tuple(y.shape)}")
    if n_tables is not None and x.shape[0] != n_tables:
        raise InvalidArgument(f"{where} expected {n_tables} tables as in the first batch, got {x.shape[0]}; leave out "
                              "a smaller last batch (drop_last=True of a DataLoader)")
    sizes = _sizes(fields, tuple(x.shape), where)
    y = y.to("f32").contiguous()
    _check_targets(y, fields.get("n_classes"), n_classes, sizes, where)
    return x.to("f32").contiguous(), y, asarray(sizes)


def _fields(batch: Any, step: int) -> Mapping[str, Any]:
    """The parts of a batch by name."""
    if isinstance(batch, Batch):
        if batch.layout != "padded":
            raise InvalidArgument(f"[pretrain] batch {step}: expected the padded layout, got a packed cw.prior.Batch")
        named = {name: getattr(batch, name) for name in ("x", "y", "n_classes", "n_rows", "n_features")}
        return named | {"n_context": batch.n_train}
    if isinstance(batch, Mapping):
        named = dict(batch)
        if "n_train" in named:  # as cw.prior.TorchDataset calls it
            named.setdefault("n_context", named.pop("n_train"))
        named.pop("index", None)
    elif isinstance(batch, (tuple, list)) and len(batch) in (3, 4):
        named = dict(zip(_KEYS, batch, strict=False))
    else:
        raise InvalidArgument(f"[pretrain] batch {step}: expected a dict with x, y and n_context, or a tuple (x, y, "
                              f"n_context) or (x, y, n_context, n_classes), got {_kind(batch)}")
    unknown = sorted(set(named) - set(_KEYS))
    missing = [name for name in _KEYS[:3] if name not in named]
    if unknown or missing:
        problem = f"no {missing[0]!r}" if missing else f"an unknown key {unknown[0]!r}"
        raise InvalidArgument(f"[pretrain] batch {step}: has {problem}; expected x, y, n_context and optionally "
                              "n_classes, n_rows, n_features")
    return named


def _numbers(values: Any, name: str, where: str) -> Tensor:
    """Values as a tensor on their own device."""
    try:
        made = asarray(values)
    except Exception as error:
        raise InvalidArgument(f"{where} {name}: expected an array of numbers (NumPy, PyTorch, DLPack), got "
                              f"{_kind(values)}") from error
    return made.detach()


def _kind(values: Any) -> str:
    dtype = getattr(values, "dtype", None)
    return type(values).__name__ + (f" of {dtype}" if dtype is not None else "")


def _sizes(fields: Mapping[str, Any], shape: tuple[int, ...], where: str) -> np.ndarray:
    n_tables, n_rows, n_features = shape

    def counts(name: str, default: int, least: int, most: Any) -> np.ndarray:
        values = fields.get(name)
        found = np.asarray(default if values is None else _host(values))
        if found.dtype.kind not in "iu" or found.shape not in ((), (n_tables,)):
            raise InvalidArgument(f"{where} {name}: expected an integer, or one per table, got shape {found.shape} "
                                  f"of {found.dtype}")
        found = np.broadcast_to(found, (n_tables,)).astype(np.int64)
        if (found < least).any() or (found > most).any():
            raise InvalidArgument(f"{where} {name}: expected {least} to {np.max(most)}, got "
                                  f"{found.min()} to {found.max()}")
        return found

    rows = counts("n_rows", n_rows, 2, n_rows)
    features = counts("n_features", n_features, 1, n_features)
    return np.stack([rows, features, counts("n_context", 0, 1, rows - 1)], axis=1)


def _host(values: Any) -> Any:
    return asarray(values).numpy() if hasattr(values, "__dlpack__") else values


def _check_targets(y: Tensor, given: Any, model_classes: int | None, sizes: np.ndarray, where: str) -> None:
    """Targets of a regression are finite; labels are integers from 0 to n_classes - 1."""
    used = np.arange(y.shape[1]) < sizes[:, :1]
    values = y.numpy() if y.device == "cpu" else y.to("cpu").numpy()
    if not np.isfinite(values[used]).all():
        raise InvalidArgument(f"{where} y: has a value that is not finite")
    if not model_classes:
        return
    classes = np.asarray(model_classes if given is None else _host(given))
    if (classes > model_classes).any():
        raise InvalidArgument(f"{where} n_classes: the model has {model_classes} classes, got {classes.max()}; "
                              f"pass classes={classes.max()}")
    limit = np.broadcast_to(classes.reshape(-1, 1) if classes.ndim else classes, values.shape)
    wrong = used & ((values < 0) | (values >= limit) | (values != np.floor(values)))
    if wrong.any():
        table, row = np.argwhere(wrong)[0]
        raise InvalidArgument(
            f"{where} y: expected labels 0 to {limit[table, row] - 1}, got {values[table, row]:g} in row {row} of "
            f"table {table}; pass classes= for more classes, or regression=True for numeric targets")
