"""Random tensors under PyTorch's names. manual_seed() sets the seed; the numbers are the same on every
device, and not PyTorch's.
"""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import DType, Generator, Tensor
from .functions import method

__all__ = [
    "bernoulli", "manual_seed", "multinomial", "normal", "rand", "rand_like",
    "randint", "randint_like", "randn", "randn_like", "randperm",
]  # fmt: skip
_default = Generator(0)


def manual_seed(seed: int) -> Generator:
    """Sets the seed of random tensors, dropout and parameter initialisation."""
    global _default
    _core.manual_seed(seed)
    _default = Generator(seed ^ 0x5EED)  # other numbers than those of the parameters
    return _default


def _shape(size: tuple) -> tuple[int, ...]:
    return tuple(size[0]) if len(size) == 1 and isinstance(size[0], (tuple, list)) else size


def _finish(x: Tensor, requires_grad: bool) -> Tensor:
    return x.requires_grad_() if requires_grad else x


def rand(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
         requires_grad: bool = False) -> Tensor:
    """Uniform numbers in [0, 1)."""
    drawn = (generator or _default).uniform(_shape(size), 0.0, 1.0, dtype or DType.f32, device or "cpu")
    return _finish(drawn, requires_grad)


def randn(*size: Any, generator: Generator | None = None, dtype: Any = None, device: Any = None,
          requires_grad: bool = False) -> Tensor:
    """Standard normal numbers."""
    drawn = (generator or _default).normal(_shape(size), 0.0, 1.0, dtype or DType.f32, device or "cpu")
    return _finish(drawn, requires_grad)


def randint(low: int, high: Any = None, size: Any = None, *, generator: Generator | None = None,
            dtype: Any = None, device: Any = None) -> Tensor:
    """Uniform integers in [low, high), or in [0, low): randint(10, (2, 3)), randint(0, 10, (2, 3))."""
    if size is None:
        low, high, size = 0, low, high
    return (generator or _default).integers(tuple(size), low, high, dtype or DType.i64, device or "cpu")


def randperm(n: int, *, generator: Generator | None = None, device: Any = None) -> Tensor:
    """The integers 0 … n-1 in random order."""
    return (generator or _default).permutation(n, device or "cpu")


def rand_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Uniform numbers in [0, 1) of a tensor's shape, dtype and device."""
    return rand(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def randn_like(x: Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Standard normal numbers of a tensor's shape, dtype and device."""
    return randn(x.shape, dtype=dtype or x.dtype, device=device or x.device)


def randint_like(x: Tensor, low: int, high: int | None = None) -> Tensor:
    """Uniform integers of a tensor's shape, dtype and device."""
    low, high = (0, low) if high is None else (low, high)
    return randint(low, high, x.shape, device=x.device).to(x.dtype)


def normal(mean: Any, std: Any = 1.0, size: Any = None, *, generator: Generator | None = None) -> Tensor:
    """Normal numbers with a mean and a standard deviation, each a number or a tensor."""
    if size is not None:
        return (generator or _default).normal(tuple(size), float(mean), float(std))
    like = mean if isinstance(mean, Tensor) else std
    shape = (like * 0 + mean + std * 0).shape
    return randn(shape, generator=generator, dtype=like.dtype, device=like.device) * std + mean


@method
def bernoulli(x: Tensor, *, generator: Generator | None = None) -> Tensor:
    """1 with the given probabilities, else 0."""
    return (rand(x.shape, generator=generator, device=x.device) < x.detach().to(DType.f32)).to(x.dtype)


@method
def multinomial(x: Tensor, num_samples: int, replacement: bool = False, *,
                generator: Generator | None = None) -> Tensor:
    """Indices drawn with probabilities proportional to the weights of each row, i64: (n_rows,
    num_samples), or (num_samples,) for a vector."""
    weights = x.detach().to(DType.f32)
    n_positive = int((weights > 0).sum(dim=-1).min())
    if bool((weights < 0).any()) or not bool(weights.isfinite().all()) or n_positive == 0:
        raise ValueError("multinomial: weights must be finite, not negative and not all 0")
    if not replacement and num_samples > n_positive:
        raise ValueError(f"multinomial: cannot draw {num_samples} of {n_positive} without replacement")
    # The largest of log(weight) + Gumbel noise is a draw; the k largest are k draws without replacement.
    n_draws = num_samples if replacement else 1
    shape = (*weights.shape[:-1], n_draws, weights.shape[-1])
    noise = -(-rand(shape, generator=generator, device=x.device).clamp(min=1e-30).log()).log()
    scores = _core.where(weights > 0, weights, 1.0).log().masked_fill(weights <= 0, -math.inf)
    scores = scores.unsqueeze(-2) + noise
    if replacement:
        return scores.argmax(dim=-1)
    return scores.squeeze(-2).topk(num_samples, dim=-1).indices


@method
def uniform_(x: Tensor, a: float = 0.0, b: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with uniform numbers in [a, b)."""
    x.copy_from((generator or _default).uniform(x.shape, a, b, DType.f32, x.device))
    return x


@method
def normal_(x: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with normal numbers."""
    x.copy_from((generator or _default).normal(x.shape, mean, std, DType.f32, x.device))
    return x


@method
def bernoulli_(x: Tensor, p: float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fills the tensor with 1 with probability p, else 0."""
    x.copy_from((rand(x.shape, generator=generator, device=x.device) < p).to(x.dtype))
    return x


