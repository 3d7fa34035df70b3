"""Multi-head attention and the encoder layers made of it, with PyTorch's parameters and arguments."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any, Optional  # noqa: F401  torch.nn.modules.transformer has it too

from .. import _core, functional, init
from .._core import DType, Tensor
from .._core._nn import Dropout, LayerNorm, Linear
from .containers import ModuleList
from .module import Module, Parameter


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation {activation!r}: expected \"relu\" or \"gelu\"")
    return functional.relu if activation == "relu" else functional.gelu


def _additive(mask: Tensor, dtype: DType) -> Tensor:
    """A mask to add to scores; a boolean one is true where attention is forbidden."""
    if mask.dtype != DType.bool_:
        return mask.to(dtype)
    return _core.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)


class MultiheadAttention(Module):
    """Attention of queries (length, batch, width) to keys and values, or (batch, length, width) with
    batch_first; returns the result and the weights, averaged over heads, or None without need_weights.
    Without weights, masks and dropout it is fused."""

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if add_bias_kv or add_zero_attn or kdim not in (None, embed_dim) or vdim not in (None, embed_dim):
            raise NotImplementedError("MultiheadAttention: add_bias_kv, add_zero_attn, kdim and vdim are not supported")
        if embed_dim % num_heads:
            raise ValueError(f"embed_dim {embed_dim} is not divisible by num_heads {num_heads}")
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.dropout, self.batch_first = dropout, batch_first
        self.in_proj_weight = Parameter(_core.empty((3 * embed_dim, embed_dim), dtype=dtype, device=device))
        init.xavier_uniform_(self.in_proj_weight)
        self.in_proj_bias = Parameter(_core.zeros(3 * embed_dim, dtype=dtype, device=device)) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype, device)
        if bias:
            init.zeros_(self.out_proj.bias)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:
        if is_causal and attn_mask is None:
            raise RuntimeError("MultiheadAttention: is_causal is a hint; it needs the attn_mask too")
        batched = query.ndim == 3
        inputs = [query, key, value]
        if not batched:
            inputs = [x.unsqueeze(0) for x in inputs]
        elif not self.batch_first:
            inputs = [x.transpose(0, 1) for x in inputs]
        q, k, v = self._project(*inputs)
        mask = self._mask(attn_mask, key_padding_mask, q)
        dropout = self.dropout if self.training else 0.0
        if need_weights:
            scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(self.head_dim))
            weights = functional.softmax(scores if mask is None else scores + mask, -1)
            weights = functional.dropout(weights, dropout)
            mixed = weights @ v
        else:
            weights = None
            mixed = functional.scaled_dot_product_attention(q, k, v, mask, dropout)
        mixed = mixed.transpose(1, 2).reshape(q.shape[0], q.shape[2], self.embed_dim)
        result = self.out_proj(mixed)
        if weights is not None and average_attn_weights:
            weights = weights.mean(dim=1)
        if not batched:
            return result.squeeze(0), None if weights is None else weights.squeeze(0)
        return result if self.batch_first else result.transpose(0, 1), weights

    def _project(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        """Queries, keys and values as (batch, heads, length, head_dim)."""
        weights = self.in_proj_weight.split(self.embed_dim)
        biases = [None] * 3 if self.in_proj_bias is None else self.in_proj_bias.split(self.embed_dim)
        return [
            functional.linear(x, weight, bias)
            .reshape(x.shape[0], x.shape[1], self.num_heads, self.head_dim)
            .transpose(1, 2)
            for x, weight, bias in zip((query, key, value), weights, biases)
        ]

    def _mask(self, attn_mask: Tensor | None, padding: Tensor | None, q: Tensor) -> Tensor | None:
        mask = None
        if attn_mask is not None:
            mask = _additive(attn_mask, q.dtype)
            if mask.ndim == 3:
                mask = mask.reshape(-1, self.num_heads, *mask.shape[1:])
        if padding is not None:
            padding = padding if padding.ndim == 2 else padding.unsqueeze(0)
            extra = _additive(padding, q.dtype).unsqueeze(1).unsqueeze(1)
            mask = extra if mask is None else mask + extra
        return mask


class TransformerEncoderLayer(Module):
    """Self-attention and a two-layer network, each with a residual connection and layer norm."""

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Any = "relu", layer_norm_eps: float = 1e-5, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        if not bias:
            raise NotImplementedError("TransformerEncoderLayer(bias=False) is not supported")
        placed = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **placed)
        self.linear1 = Linear(d_model, dim_feedforward, **placed)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **placed)
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **placed)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.norm_first = norm_first
        self.activation = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        masks = {"attn_mask": src_mask, "key_padding_mask": src_key_padding_mask, "is_causal": is_causal}
        if self.norm_first:
            src = src + self._attend(self.norm1(src), masks)
            return src + self._feed(self.norm2(src))
        src = self.norm1(src + self._attend(src, masks))
        return self.norm2(src + self._feed(src))

    def _attend(self, x: Tensor, masks: dict[str, Any]) -> Tensor:
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])

    def _feed(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer."""

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Any = None, enable_nested_tensor: bool = True,
                 mask_check: bool = True) -> None:
        super().__init__()
        self.layers = ModuleList([copy.deepcopy(encoder_layer) for _ in range(num_layers)])
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=is_causal)
        return src if self.norm is None else self.norm(src)
