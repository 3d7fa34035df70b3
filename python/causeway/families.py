"""Custom prior families: a Python function, or a kernel, that makes datasets.

    @cw.prior.family
    def circles(rng, rows, features, classes):
        x = rng.normal(size=(rows, features))
        return x, np.linalg.norm(x, axis=1) > 1

    cw.pretrain(circles, rows=64, features=2, classes=2)
    cw.pretrain({circles: 0.5, "mlp": 0.5}, rows=64, features=2, classes=2)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._core import InvalidArgument, Tensor, asarray, empty
from .kernels import Kernel

__all__ = ["Family", "family"]


class Family:
    """A prior family. cw.pretrain draws sizes and the number of context rows of each dataset as for
    built-in families, and asks it for x and y.

        >>> @family
        ... def circles(rng, rows, features, classes):
        ...     x = rng.normal(size=(rows, features))
        ...     return x, np.linalg.norm(x, axis=1) > 1
        >>> x, y = circles.dataset(3, rows=8, features=2, classes=2, seed=7)
        >>> x.shape, bool((x == circles.dataset(3, rows=8, features=2, classes=2, seed=7)[0]).all())
        ((8, 2), True)
    """

    def __init__(self, make: Callable[..., Any] | Kernel, name: str | None = None) -> None:
        if not isinstance(make, Kernel) and not callable(make):
            raise TypeError(f"family() got {type(make).__name__}; expected a function or a @cw.kernel")
        self.make = make
        self.name = name or make.__name__
        if not self.name.isidentifier():
            raise InvalidArgument(f"[prior.family] name {self.name!r}: expected an identifier; pass name=")
        self._checked = False

    def dataset(
        self, k: int, *, rows: int, features: int, classes: int = 0, seed: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """x (rows, features) and y (rows,) of dataset k of a seed, on the CPU. classes is 0 for regression."""
        x, y = self.generate(seed, [k], [classes], rows, features, "cpu")
        return x.numpy()[0], y.numpy()[0]

    def generate(
        self, seed: int, indices: list[int], n_classes: list[int], n_rows: int, n_features: int, device: str
    ) -> tuple[Tensor, Tensor]:
        """x (datasets, rows, features) and y (datasets, rows) of several datasets of one size."""
        if isinstance(self.make, Kernel):
            x, y = self._launch(seed, indices, n_classes, n_rows, n_features, device)
        else:
            made = [self._call(seed, k, n_rows, n_features, n) for k, n in zip(indices, n_classes, strict=True)]
            x, y = (asarray(np.stack(part)).to(device) for part in zip(*made, strict=True))
        if device == "cpu" or not self._checked:  # on a GPU the check waits for the kernel
            self._check(y.numpy() if device == "cpu" else y.to("cpu").numpy(), indices, n_classes)
            self._checked = True
        return x, y

    def _launch(
        self, seed: int, indices: list[int], n_classes: list[int], n_rows: int, n_features: int, device: str
    ) -> tuple[Tensor, Tensor]:
        seeds = [np.random.SeedSequence([seed, k]).generate_state(1)[0] >> 1 for k in indices]
        given = [asarray(np.array(values, np.int32)).to(device) for values in (seeds, n_classes)]
        x = empty((len(indices), n_rows, n_features), device=device)
        y = empty((len(indices), n_rows), device=device)
        self.make.launch((len(indices), n_rows), given, [x, y])
        return x, y

    def _call(self, seed: int, k: int, n_rows: int, n_features: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
        rng = np.random.Generator(np.random.Philox(key=seed, counter=[0, 0, 0, k]))
        made = self.make(rng, n_rows, n_features, n_classes)
        where = f"[prior.family] {self.name}, dataset {k}:"
        if not isinstance(made, tuple) or len(made) != 2:
            raise InvalidArgument(f"{where} expected a tuple (x, y), got {type(made).__name__}")
        arrays = []
        for what, values, shape in zip("xy", made, ((n_rows, n_features), (n_rows,)), strict=True):
            array = values.numpy() if isinstance(values, Tensor) else np.asarray(values)
            if array.shape != shape or array.dtype.kind not in "fiub":
                raise InvalidArgument(f"{where} expected {what} of shape {shape}, got {array.dtype} of shape "
                                      f"{array.shape}")
            arrays.append(np.ascontiguousarray(array, np.float32))
        return arrays[0], arrays[1]

    def _check(self, y: np.ndarray, indices: list[int], n_classes: list[int]) -> None:
        for k, n, targets in zip(indices, n_classes, y, strict=True):
            where = f"[prior.family] {self.name}, dataset {k}:"
            if not np.isfinite(targets).all():
                raise InvalidArgument(f"{where} y has a value that is not finite")
            wrong = (targets < 0) | (targets >= n) | (targets != np.floor(targets))
            if n and wrong.any():
                raise InvalidArgument(f"{where} expected labels 0 to {n - 1}, got {targets[wrong][0]:g}")

    def __repr__(self) -> str:
        return f"Family({self.name!r})"


def family(make: Callable[..., Any] | Kernel, *, name: str | None = None) -> Family:
    """A prior family from a function or a kernel; also a decorator.

    A function `make(rng, rows, features, classes)` returns x (rows, features), NaN for missing values,
    and y (rows,): labels 0 to classes - 1, or numbers if classes is 0. rng is a NumPy generator of the
    prior's seed and the dataset's index; a function that draws from nothing else gives the same dataset
    for any batch size, window or rank.

    A `@cw.kernel` has the parameters seeds, classes (arrays of int, one per dataset), x (a float array
    of three dimensions) and y (two). It is launched with one thread per row of a dataset,
    `k, i = cw.tid()`, and writes x[k, i, :] and y[k, i]. It runs where the run's datasets are needed.
    """
    return make if isinstance(make, Family) and name is None else Family(make, name)


def split_mixture(prior: Any) -> tuple[dict[str, Any], list[tuple[str, float, Callable[..., Any]]]]:
    """The settings of the built-in part of a prior, and names, shares and functions of the families."""
    weights = prior if isinstance(prior, Mapping) else {prior: 1.0}
    for key, weight in weights.items():
        if not (isinstance(weight, (int, float, np.number)) and weight > 0 and np.isfinite(weight)):
            raise InvalidArgument(f"[pretrain] prior: the weight of {key!r} is {weight!r}; expected a number above 0")
    if not weights:
        raise InvalidArgument("[pretrain] prior: expected at least one family and its weight")
    total = float(sum(weights.values()))
    built_in = {key: float(weight) for key, weight in weights.items() if isinstance(key, str)}
    own = [(family(key), weight / total) for key, weight in weights.items() if not isinstance(key, str)]
    names = [made.name for made, _ in own]
    if len(set(names)) < len(names):
        raise InvalidArgument(f"[pretrain] prior: two families are called {max(names, key=names.count)!r}; pass name=")
    if not built_in:
        settings: dict[str, Any] = {"family": "simple"}  # draws sizes only
    elif len(built_in) == 1:
        settings = {"family": next(iter(built_in))}
    else:
        settings = {"family": "mix", "mix": built_in}
    return settings, [(made.name, share, made.generate) for made, share in own]
