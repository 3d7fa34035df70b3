"""LSTM and GRU, step by step, with PyTorch's parameters and arguments."""

from __future__ import annotations

import math
from typing import Any

from .. import _core, functional, init
from .._core import Tensor
from .module import Module, Parameter


class _Recurrent(Module):
    """A stack of recurrent layers over (length, batch, width), or (batch, length, width)."""

    _n_gates = 0

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, dropout, bidirectional
        bound = 1 / math.sqrt(hidden_size)
        rows = self._n_gates * hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * self._n_directions
            for suffix in self._suffixes(layer):
                shapes = {"weight_ih": (rows, width), "weight_hh": (rows, hidden_size)}
                if bias:
                    shapes.update(bias_ih=(rows,), bias_hh=(rows,))
                for name, shape in shapes.items():
                    values = _core.empty(shape, dtype=dtype, device=device)
                    init.uniform_(values, -bound, bound)
                    setattr(self, f"{name}_{suffix}", Parameter(values))

    @property
    def _n_directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _suffixes(self, layer: int) -> list[str]:
        return [f"l{layer}", f"l{layer}_reverse"][: self._n_directions]

    def _run(self, x: Tensor, states: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """The outputs of the last layer, (length, batch, width), and the last states of all layers;
        `states` are (layers * directions, batch, hidden_size)."""
        last: list[list[Tensor]] = [[] for _ in states]
        for layer in range(self.num_layers):
            outputs = []
            for direction, suffix in enumerate(self._suffixes(layer)):
                place = layer * self._n_directions + direction
                steps, final = self._scan(x, [state[place] for state in states], suffix, direction == 1)
                outputs.append(steps)
                for kept, state in zip(last, final):
                    kept.append(state)
            x = outputs[0] if len(outputs) == 1 else _core.cat(outputs, dim=-1)
            if self.dropout and self.training and layer < self.num_layers - 1:
                x = functional.dropout(x, self.dropout)
        return x, [_core.stack(kept) for kept in last]

    def _scan(self, x: Tensor, states: list[Tensor], suffix: str, backwards: bool) -> tuple[Tensor, list[Tensor]]:
        biases = [getattr(self, f"{name}_{suffix}") if self.bias else None for name in ("bias_ih", "bias_hh")]
        inputs = functional.linear(x, getattr(self, f"weight_ih_{suffix}"), biases[0])
        weight = getattr(self, f"weight_hh_{suffix}")
        order = range(x.shape[0])[::-1] if backwards else range(x.shape[0])
        outputs: list[Any] = [None] * x.shape[0]
        for step in order:
            states = self._step(inputs[step], functional.linear(states[0], weight, biases[1]), states)
            outputs[step] = states[0]
        return _core.stack(outputs), states

    def _step(self, given: Tensor, recurrent: Tensor, states: list[Tensor]) -> list[Tensor]:
        raise NotImplementedError

    def _forward(self, x: Tensor, states: list[Tensor] | None, n_states: int) -> tuple[Tensor, list[Tensor]]:
        batched = x.ndim == 3
        x = x.unsqueeze(1) if not batched else x.transpose(0, 1) if self.batch_first else x
        if states is None:
            shape = (self.num_layers * self._n_directions, x.shape[1], self.hidden_size)
            states = [_core.zeros(shape, dtype=x.dtype, device=x.device)] * n_states
        elif not batched:
            states = [state.unsqueeze(1) for state in states]
        y, last = self._run(x, states)
        if not batched:
            return y.squeeze(1), [state.squeeze(1) for state in last]
        return y.transpose(0, 1) if self.batch_first else y, last


class LSTM(_Recurrent):
    """Long short-term memory: returns outputs and the last (hidden, cell) states."""

    _n_gates = 4

    def forward(self, x: Tensor, states: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        y, last = self._forward(x, None if states is None else list(states), 2)
        return y, (last[0], last[1])

    def _step(self, given: Tensor, recurrent: Tensor, states: list[Tensor]) -> list[Tensor]:
        entry, forget, candidate, output = (given + recurrent).chunk(4, dim=-1)
        cell = forget.sigmoid() * states[1] + entry.sigmoid() * candidate.tanh()
        return [output.sigmoid() * cell.tanh(), cell]


class GRU(_Recurrent):
    """Gated recurrent units: returns outputs and the last hidden state."""

    _n_gates = 3

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y, last = self._forward(x, None if state is None else [state], 1)
        return y, last[0]

    def _step(self, given: Tensor, recurrent: Tensor, states: list[Tensor]) -> list[Tensor]:
        reset, update, new = given.chunk(3, dim=-1)
        reset_h, update_h, new_h = recurrent.chunk(3, dim=-1)
        update = (update + update_h).sigmoid()
        candidate = (new + (reset + reset_h).sigmoid() * new_h).tanh()
        return [candidate + update * (states[0] - candidate)]
