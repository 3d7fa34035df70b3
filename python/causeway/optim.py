"""Optimizers, learning-rate schedules and averages of weights.

    optimizer = cw.optim.AdamW(net.parameters(), lr=1e-3, max_norm=1.0)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()

Parameters are tensors, or groups: {"params": [...], "weight_decay": 0.0, "lr_factor": 0.1}. With
max_norm, the step clips gradients to that norm, without synchronisation. Parameters of f16 and bf16
have master weights in f32. A parameter without a gradient is not changed; Adam's bias correction
counts the steps in which it had one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ._core import Tensor
from ._core._optim import EMA, LastAverage, Schedule, _Optimizer

__all__ = [
    "EMA", "SGD", "Adagrad", "Adam", "AdamW", "LastAverage", "Muon", "Optimizer", "RMSprop",
    "Schedule", "ScheduleFreeAdamW",
]

_DEFAULTS = {
    "momentum": 0.0,
    "beta1": 0.9,
    "beta2": 0.999,
    "epsilon": 1e-8,
    "weight_decay": 0.0,
    "rate_factor": 1.0,
    "nesterov": False,
    "iterations": 5,
}
_ALIASES = {"lr_factor": "rate_factor", "eps": "epsilon", "ns_steps": "iterations"}


class Optimizer(_Optimizer):
    """Groups of parameters, each with its algorithm, stepped together under one clipping norm:

        optimizer = cw.optim.Optimizer([
            {"params": matrices, "algorithm": "muon", "momentum": 0.95, "lr_factor": 20.0},
            {"params": others, "algorithm": "schedule_free", "weight_decay": 0.01},
        ], lr=1e-3, max_norm=1.0)

    For f16, pass loss_scale and growth_interval, and multiply the loss by `loss_scale` before
    backward(); steps with overflowing gradients are skipped.
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]],
        lr: float,
        max_norm: float = 0.0,
        loss_scale: float = 1.0,
        growth_interval: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(lr, max_norm, loss_scale, growth_interval)
        self._options = options
        entries = list(params)
        if not entries:
            raise ValueError("optimizer got an empty parameter list")
        groups = entries if isinstance(entries[0], dict) else [{"params": entries}]
        for group in groups:
            self.add_group(**group)

    def add_group(self, params: Iterable[Tensor], **options: Any) -> None:
        """Adds a group of parameters; options default to those of the optimizer."""
        settings = dict(_DEFAULTS)
        for name, value in {**self._options, **options}.items():
            if name == "betas":
                settings["beta1"], settings["beta2"] = value
            elif name == "lr":
                if self.lr == 0 and value != 0:
                    raise ValueError("a group's lr is stored as a factor of the optimizer's, which is 0; "
                                     "pass lr_factor instead")
                settings["rate_factor"] = value / self.lr if self.lr != 0 else 1.0
            else:
                settings[_ALIASES.get(name, name)] = value
        algorithm = settings.pop("algorithm", "adamw")
        unknown = set(settings) - set(_DEFAULTS)
        if unknown:
            raise TypeError(f"unknown optimizer options: {', '.join(sorted(unknown))}")
        self._add_group(list(params), algorithm, **settings)


def _algorithm(name: str, algorithm: str, doc: str, **defaults: Any) -> type[Optimizer]:
    def __init__(self: Optimizer, params: Any, lr: float, **options: Any) -> None:  # noqa: N807
        Optimizer.__init__(self, params, lr, **{"algorithm": algorithm, **defaults, **options})

    return type(name, (Optimizer,), {"__doc__": doc, "__init__": __init__, "__module__": __name__})


SGD = _algorithm("SGD", "sgd", "Stochastic gradient descent: momentum, nesterov, weight_decay.")
Adam = _algorithm("Adam", "adam", "Adam: betas, eps, weight_decay (L2 penalty).")
AdamW = _algorithm(
    "AdamW", "adamw", "Adam with decoupled weight decay.", weight_decay=0.01
)
RMSprop = _algorithm(
    "RMSprop", "rmsprop", "RMSprop: beta2 (smoothing constant), momentum.", beta2=0.99
)
Adagrad = _algorithm("Adagrad", "adagrad", "Adagrad: eps, weight_decay.", eps=1e-10)
ScheduleFreeAdamW = _algorithm(
    "ScheduleFreeAdamW",
    "schedule_free",
    "Schedule-free AdamW: weight averaging replaces the learning-rate schedule. Call eval() before "
    "evaluation and train() before training.",
)
Muon = _algorithm(
    "Muon",
    "muon",
    "Muon: orthogonalised momentum, for matrices.",
    momentum=0.95,
    nesterov=True,
    eps=1e-7,
    weight_decay=0.1,
)
