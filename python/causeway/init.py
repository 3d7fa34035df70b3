"""Parameter initialisation, in place; also available as causeway.nn.init. All return the tensor."""

from __future__ import annotations

import math

from ._core import Generator, Tensor
from ._core._nn import _init
from .autograd import no_grad

__all__ = [
    "calculate_gain", "constant_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_",
    "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_", "zeros_",
]  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through a nonlinearity."""
    gains = {"linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "sigmoid": 1.0, "tanh": 5 / 3, "relu": math.sqrt(2),
             "selu": 3 / 4}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains:
        raise ValueError(f"nonlinearity {nonlinearity!r}: expected one of {', '.join(gains)}, leaky_relu")
    return gains[nonlinearity]


def constant_(x: Tensor, val: float) -> Tensor:
    """Sets all elements to a value."""
    _init.constant_(x, val)
    return x


def zeros_(x: Tensor) -> Tensor:
    """Sets all elements to 0."""
    return constant_(x, 0.0)


def ones_(x: Tensor) -> Tensor:
    """Sets all elements to 1."""
    return constant_(x, 1.0)


@no_grad
def eye_(x: Tensor) -> Tensor:
    """Sets a matrix to ones on the diagonal and zeros elsewhere."""
    x.copy_from(x.new_ones(x.shape).tril().triu())
    return x


def uniform_(x: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers in [a, b)."""
    _init.uniform_(x, a, b, generator)
    return x


def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers."""
    _init.normal_(x, mean, std, generator)
    return x


@no_grad
def trunc_normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, a: float | None = None, b: float | None = None,
                  generator: Generator | None = None, *, cut: float | None = None) -> Tensor:
    """Normal numbers in [a, b], which must be as far below as above the mean, by default -2 and 2; or
    within `cut` standard deviations of it."""
    if cut is None:
        a, b = -2.0 if a is None else a, 2.0 if b is None else b
        if not math.isclose(mean - a, b - mean):
            raise NotImplementedError("trunc_normal_ needs bounds as far below as above the mean")
        cut = (b - mean) / std
    _init.trunc_normal_(x, std, cut, generator)
    if mean:
        x.copy_from(x + mean)
    return x


def xavier_uniform_(x: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform numbers with a variance of 2 * gain**2 / (fan_in + fan_out)."""
    _init.xavier_uniform_(x, gain, generator)
    return x


def xavier_normal_(x: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal numbers with a variance of 2 * gain**2 / (fan_in + fan_out)."""
    _init.xavier_normal_(x, gain, generator)
    return x


def _kaiming_gain(x: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The gain for fan_in; another fan changes it."""
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"mode {mode!r}: expected \"fan_in\" or \"fan_out\"")
    gain = calculate_gain(nonlinearity, a)
    return gain if mode == "fan_in" else gain * math.sqrt(x.shape[1] / x.shape[0])


def kaiming_uniform_(x: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                     generator: Generator | None = None, *, gain: float | None = None) -> Tensor:
    """Uniform numbers with a variance of gain**2 / fan; the gain is that of the nonlinearity."""
    gain = _kaiming_gain(x, a, mode, nonlinearity) if gain is None else gain
    _init.kaiming_uniform_(x, gain, generator)
    return x


def kaiming_normal_(x: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu",
                    generator: Generator | None = None, *, gain: float | None = None) -> Tensor:
    """Normal numbers with a variance of gain**2 / fan; the gain is that of the nonlinearity."""
    gain = _kaiming_gain(x, a, mode, nonlinearity) if gain is None else gain
    _init.kaiming_normal_(x, gain, generator)
    return x
