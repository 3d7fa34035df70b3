"""The loss of a custom model on a batch of tables.

The model is an nn.Module with forward(x, y, n_context) -> logits: x (tables, rows, features) f32, NaN
for missing values; y (tables, n_context) f32, the targets of the first n_context rows; logits (tables,
rows - n_context, outputs) of the other rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from . import nn
from ._core import InvalidArgument, Tensor, asarray
from .functional import cross_entropy

__all__ = ["loss_of"]


def loss_of(model: nn.Module, n_classes: int) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """A function of x, y and sizes: the mean loss of the query rows of each table, then of the tables."""
    own = getattr(model, "loss", None)
    if own is None and not n_classes:
        raise InvalidArgument("[pretrain] model: for regression, expected a method loss(logits, y) -> scalar, with y "
                              "(tables, query rows)")

    def loss(x: Tensor, y: Tensor, sizes: Tensor) -> Tensor:
        groups = defaultdict(list)  # tables by rows and context rows
        for table, (n_rows, _, n_context) in enumerate(sizes.to("cpu").numpy().tolist()):
            if n_context < n_rows:
                groups[n_rows, n_context].append(table)
        total = asarray(0.0).to(x.device)
        for (n_rows, n_context), tables in groups.items():
            index = asarray(np.array(tables)).to(x.device)
            whole = len(tables) == x.shape[0]
            rows = (x if whole else x[index])[:, :n_rows]
            targets = (y if whole else y[index])[:, :n_rows]
            logits = model(rows, targets[:, :n_context], n_context)
            _check(model, logits, (len(tables), n_rows - n_context), n_classes)
            query = targets[:, n_context:]
            value = _cross_entropy(logits, query) if own is None else own(logits, query)
            total = total + value.to("f32") * (len(tables) / x.shape[0])
        return total

    return loss


def _cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    return cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1).to("i64"))


def _check(model: nn.Module, logits: Any, expected: tuple[int, int], n_classes: int) -> None:
    name = type(model).__name__
    if not isinstance(logits, Tensor):
        raise InvalidArgument(f"[pretrain] {name}.forward(x, y, n_context): expected a cw.Tensor of logits, got "
                              f"{type(logits).__name__}")
    if len(logits.shape) != 3 or tuple(logits.shape[:2]) != expected or logits.shape[2] < max(n_classes, 1):
        outputs = f"{n_classes} or more outputs" if n_classes else "outputs"
        raise InvalidArgument(f"[pretrain] {name}.forward(x, y, n_context): expected logits (tables, query rows, outputs) "
                              f"= ({expected[0]}, {expected[1]}, {outputs}), got {tuple(logits.shape)}")
