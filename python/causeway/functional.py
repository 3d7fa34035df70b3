"""Neural-network functions; also available as causeway.nn.functional."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import DType, Tensor, relu, sigmoid, silu, tanh
from ._core._functional import *  # noqa: F403
from ._core._functional import _attention, _cross_entropy, conv2d, dropout, log_softmax, softmax


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the standard normal CDF of x; its tanh approximation with approximate="tanh"."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"approximate {approximate!r}: expected \"none\" or \"tanh\"")
    return _core.gelu(x) if approximate == "none" else _core.gelu_tanh(x)


def logsigmoid(x: Tensor) -> Tensor:
    """log(sigmoid(x)), without overflow."""
    return _core.minimum(x, 0.0) - (-x.abs()).exp().log1p()


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second."""
    values, gates = x.chunk(2, dim)
    return values * gates.sigmoid()


def mish(x: Tensor) -> Tensor:
    """x * tanh(softplus(x))."""
    return x * _core._functional.softplus(x).tanh()


def relu6(x: Tensor) -> Tensor:
    """x clipped to [0, 6]."""
    return x.clamp(0.0, 6.0)


def softmin(x: Tensor, dim: int) -> Tensor:
    """softmax(-x)."""
    return softmax(-x, dim)


def normalize(x: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """x divided by its p-norm along a dimension."""
    return x / x.norm(p, dim, keepdim=True).clamp(min=eps)


def cosine_similarity(a: Tensor, b: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle of vectors along a dimension."""
    norms = a.norm(2, dim).clamp(min=eps) * b.norm(2, dim).clamp(min=eps)
    return (a * b).sum(dim=dim) / norms


def pad(x: Tensor, pad: Any, mode: str = "constant", value: float | None = None) -> Tensor:
    """Pads with a value: (before, after) of the last dimension, then of the one before, and so on.
    Negative widths cut."""
    if mode != "constant":
        raise NotImplementedError(f"pad(mode={mode!r}) is not supported, only \"constant\"")
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise _core.ShapeMismatch(f"[pad] {len(pad)} widths for shape {x.shape}: expected a pair per dimension")
    widths = [(0, 0)] * x.ndim
    for i in range(len(pad) // 2):
        before, after = pad[2 * i], pad[2 * i + 1]
        dim = x.ndim - 1 - i
        x = x.narrow(dim, max(-before, 0), x.shape[dim] - max(-before, 0) - max(-after, 0))
        widths[dim] = (max(before, 0), max(after, 0))
    return _core.pad(x, widths, 0 if value is None else value)


def one_hot(x: Tensor, num_classes: int = -1) -> Tensor:
    """Integers (...) to i64 (..., num_classes): 1 at each integer, else 0."""
    if x.dtype.is_floating:
        raise _core.InvalidArgument(f"[one_hot] expected integers, got {x.dtype.name}")
    most = int(x.max()) + 1 if x.numel() else 0
    n_classes = most if num_classes < 0 else num_classes
    if most > n_classes or (x.numel() and int(x.min()) < 0):
        raise _core.InvalidArgument(f"[one_hot] classes must be in 0 … {n_classes - 1}")
    return (x.unsqueeze(-1) == _core.arange(n_classes, device=x.device)).to(DType.i64)


def group_norm(x: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None,
               eps: float = 1e-5) -> Tensor:
    """Normalises groups of the channels of (n, channels, ...) each to mean 0 and variance 1."""
    if x.ndim < 2 or x.shape[1] % num_groups:
        raise _core.ShapeMismatch(f"[group_norm] shape {x.shape} has no {num_groups} groups of channels")
    rows = x.reshape(x.shape[0], num_groups, -1)
    result = _core._functional.layer_norm(rows, None, None, eps).reshape(x.shape)
    shape = (-1,) + (1,) * (x.ndim - 2)
    result = result if weight is None else result * weight.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


def conv1d(x: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0,
           dilation: Any = 1, groups: int = 1) -> Tensor:
    """Correlates (n, channels, length) with weight (out, channels / groups, length)."""
    one = [entry if isinstance(entry, int) else entry[0] for entry in (stride, padding, dilation)]
    result = conv2d(x.unsqueeze(2), weight.unsqueeze(2), bias, (1, one[0]), (0, one[1]), (1, one[2]), groups)
    return result.squeeze(2)


# Losses.


def _reduced(losses: Tensor, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"reduction {reduction!r}: expected \"mean\", \"sum\" or \"none\"")
    return losses if reduction == "none" else getattr(losses, reduction)()


def _widened(x: Tensor) -> Tensor:
    """x in f32 if autocast is on and x has 16 bits, as the compiled losses read it."""
    narrow = _core._autocast_type() is not None and x.dtype in (DType.f16, DType.bf16)
    return x.to(DType.f32) if narrow else x


def _require_same_shape(name: str, x: Tensor, target: Tensor) -> None:
    if x.shape != target.shape:
        raise _core.ShapeMismatch(f"[{name}] input {x.shape} and target {target.shape} differ")


def cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100,
                  reduction: str = "mean", label_smoothing: float = 0.0, overwrite_logits: bool = False) -> Tensor:
    """Cross entropy of logits and integer classes, or probabilities of the logits' shape. Logits are
    (n, classes), (n, classes, ...) as in PyTorch, or (..., classes); shapes that fit both are refused.
    The mean is over targets that are not ignored, weighted, and 0 if there are none."""
    if input.ndim > 2:
        last = target.shape in (input.shape[:-1], input.shape)
        second = target.shape == (input.shape[0], *input.shape[2:])
        if last and second:
            raise _core.ShapeMismatch(f"[cross_entropy] classes of {input.shape} may be its dimension 1 or its "
                                      "last; reshape to (n, classes)")
        if target.shape == input.shape and target.dtype.is_floating:
            raise _core.ShapeMismatch(f"[cross_entropy] classes of {input.shape} may be its dimension 1 or its "
                                      "last; reshape both to (n, classes)")
        if second:
            input = input.movedim(1, -1)
    if weight is None:
        return _cross_entropy(input, target, ignore_index, reduction, label_smoothing, overwrite_logits)
    if target.dtype.is_floating or label_smoothing:
        raise NotImplementedError("cross_entropy with class weights takes integer classes, without smoothing")
    losses = _cross_entropy(input, target, ignore_index, "none", 0.0, overwrite_logits)
    counted = target != ignore_index
    weights = weight[_core.where(counted, target, 0)] * counted.to(weight.dtype)
    losses = losses * weights
    return losses.sum() / weights.sum() if reduction == "mean" else _reduced(losses, reduction)


def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100,
             reduction: str = "mean") -> Tensor:
    """The negative of the log-probabilities (n, classes, ...) of integer classes (n, ...)."""
    input = _widened(input.movedim(1, -1) if input.ndim > 2 else input)
    if target.shape != input.shape[:-1]:
        raise _core.ShapeMismatch(f"[nll_loss] target {target.shape}: expected {input.shape[:-1]}")
    counted = target != ignore_index
    classes = _core.where(counted, target, 0)
    losses = _core.where(counted, -input.gather(-1, classes.unsqueeze(-1)).squeeze(-1), 0.0)
    weights = counted.to(input.dtype) if weight is None else weight[classes] * counted.to(input.dtype)
    losses = losses * weights
    return losses.sum() / weights.sum() if reduction == "mean" else _reduced(losses, reduction)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None = None, *,
                         reduction: str = "mean") -> Tensor:
    """Cross entropy of probabilities and targets in [0, 1]; logarithms are at least -100."""
    _require_same_shape("binary_cross_entropy", input, target)
    input = _widened(input)
    losses = -(target * input.log().clamp(min=-100.0) + (1 - target) * (1 - input).log().clamp(min=-100.0))
    return _reduced(losses if weight is None else losses * weight, reduction)


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, *,
                                     reduction: str = "mean", pos_weight: Tensor | None = None) -> Tensor:
    """Cross entropy of the sigmoids of logits and targets in [0, 1], without overflow."""
    _require_same_shape("binary_cross_entropy_with_logits", input, target)
    input = _widened(input)
    scale = 1 if pos_weight is None else 1 + (pos_weight - 1) * target
    losses = (1 - target) * input - scale * logsigmoid(input)
    return _reduced(losses if weight is None else losses * weight, reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Squared error divided by 2 * beta within beta, absolute error minus beta / 2 outside."""
    if beta == 0:
        return _core._functional.l1_loss(input, target, reduction)
    return _core._functional.huber_loss(input, target, beta, reduction) * (1 / beta)


def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from target probabilities."""
    input, target = _widened(input), _widened(target)
    if log_target:
        losses = target.exp() * (target - input)
    else:
        positive = target > 0
        losses = _core.where(positive, target * (_core.where(positive, target, 1.0).log() - input), 0.0)
    return losses.sum() / input.shape[0] if reduction == "batchmean" else _reduced(losses, reduction)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, *, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:
    """The negative log-likelihood of normal distributions with the given means and variances."""
    input, var = _widened(input), _core.maximum(_widened(var), eps)
    losses = 0.5 * (var.log() + (input - target).square() / var)
    return _reduced(losses + 0.5 * math.log(2 * math.pi) if full else losses, reduction)


# Attention.


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None,
                                 dropout_p: float = 0.0, is_causal: bool = False, scale: float | None = None,
                                 enable_gqa: bool = False, *, context: Tensor | None = None,
                                 path: str = "automatic", deterministic: bool = True) -> Tensor:
    """softmax(q k^T * scale + mask) v for (batch, heads, length, size). A boolean mask is true where a
    query attends to a key; another is added. With is_causal, query i attends to keys 0 … i. With a
    context (batch,), entry b attends to its first context[b] keys only. Masks and dropout compute the
    weights explicitly, the rest is fused."""
    if is_causal and attn_mask is not None:
        raise ValueError("scaled_dot_product_attention takes attn_mask or is_causal, not both")
    if enable_gqa and q.shape[-3] != k.shape[-3]:
        k, v = (x.repeat_interleave(q.shape[-3] // k.shape[-3], -3) for x in (k, v))
    square = q.shape[-2] == k.shape[-2]
    fused = attn_mask is None and dropout_p == 0 and (square or not is_causal) and v.shape[-1] == q.shape[-1]
    if fused and q.ndim == 3:
        q, k, v = (x.unsqueeze(1) for x in (q, k, v))
        return _attention(q, k, v, is_causal, scale, context, path, deterministic).squeeze(1)
    if (fused and q.ndim == 4) or context is not None:
        if attn_mask is not None or dropout_p:
            raise NotImplementedError("scaled_dot_product_attention: context takes no attn_mask and no dropout")
        return _attention(q, k, v, is_causal, scale, context, path, deterministic)
    scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = _core.ones((q.shape[-2], k.shape[-2]), dtype="bool", device=q.device).tril()
    if attn_mask is not None and attn_mask.dtype == DType.bool_:
        scores = scores.masked_fill(~attn_mask, -math.inf)
    elif attn_mask is not None:
        scores = scores + attn_mask
    return dropout(softmax(scores, -1), dropout_p) @ v
