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

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from weakref import ref

from .. import _core
from .._core import Tensor
from .._core._optim import EMA, LastAverage, Schedule, _GroupOptions, _Optimizer
from . import lr_scheduler

__all__ = [
    "EMA", "SGD", "Adagrad", "Adam", "AdamW", "LastAverage", "Muon", "Optimizer", "RMSprop",
    "Schedule", "ScheduleFreeAdamW", "lr_scheduler",
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
_ALIASES = {"lr_factor": "rate_factor", "eps": "epsilon", "ns_steps": "iterations", "alpha": "beta2"}
# Options of PyTorch that choose how it computes, not what.
_WITHOUT_EFFECT = {"fused", "foreach", "capturable", "differentiable"}


class ParamGroup(dict):
    """A group of parameters as PyTorch shows it. Assigned options take effect at the next step; the
    learning rate is that of the optimizer times the factor of the group."""

    def __init__(self, optimizer: Optimizer, index: int, params: list[Tensor], settings: dict[str, Any]) -> None:
        shown = {name: settings[name] for name in ("momentum", "weight_decay", "nesterov")}
        super().__init__(params=params, lr=0.0, betas=(settings["beta1"], settings["beta2"]),
                         eps=settings["epsilon"], **shown)
        self._optimizer, self._index, self._settings = ref(optimizer), index, settings

    def __getitem__(self, name: str) -> Any:
        if name == "lr":
            return self._optimizer().lr * self._settings["rate_factor"]
        return super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()  # without this method, dict(group) would not call __getitem__()

    def copy(self) -> dict[str, Any]:
        return dict(self)

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def items(self) -> Any:
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        return [self[name] for name in self]

    def __setitem__(self, name: str, value: Any) -> None:
        optimizer = self._optimizer()
        if name == "lr":
            rates = [group["lr"] for group in optimizer.param_groups]
            rates[self._index] = float(value)
            optimizer.set_rates(rates)
            return
        if name == "params":
            raise TypeError("the parameters of a group cannot be replaced; make a new optimizer")
        super().__setitem__(name, value)
        if name == "betas":
            self._settings["beta1"], self._settings["beta2"] = value
        elif _ALIASES.get(name, name) in self._settings:
            self._settings[_ALIASES.get(name, name)] = value
        optimizer._set_group_options(self._index, _GroupOptions(**self._settings))


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
        self._options = {name: value for name, value in options.items() if name not in _WITHOUT_EFFECT}
        self.defaults = {"lr": lr, **self._options}
        self.param_groups: list[ParamGroup] = []
        entries = list(params)
        if not entries:
            raise ValueError("optimizer got an empty parameter list")
        if isinstance(entries[0], tuple):  # named_parameters()
            entries = [parameter for _, parameter in entries]
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
        settings["algorithm"] = algorithm
        tensors = [params] if isinstance(params, Tensor) else list(params)
        self._add_group(tensors, _GroupOptions(**settings))
        self.param_groups.append(ParamGroup(self, len(self.param_groups), tensors, settings))

    def add_param_group(self, group: dict[str, Any]) -> None:
        """Adds a group of parameters: {"params": [...], "weight_decay": 0.0}."""
        self.add_group(**group)

    def set_rates(self, rates: list[float]) -> None:
        """Sets the learning rates of all groups. The first nonzero one becomes `lr`, which captured graphs
        read; the others are factors of it, which they do not."""
        base = next((rate for rate in rates if rate != 0), 0.0)
        self.lr = base
        for group, rate in zip(self.param_groups, rates):
            factor = rate / base if base else group._settings["rate_factor"]
            if factor != group._settings["rate_factor"]:
                group._settings["rate_factor"] = factor
                self._set_group_options(group._index, _GroupOptions(**group._settings))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates every parameter that has a gradient; does not synchronise. A closure is called before
        and its result returned."""
        loss = None if closure is None else closure()
        super().step()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Releases all gradients, or sets them to 0."""
        if set_to_none:
            super().zero_grad()
            return
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad = _core.zeros_like(parameter.grad)


def _algorithm(name: str, algorithm: str, doc: str, rate: float = 1e-3, **defaults: Any) -> type[Optimizer]:
    def __init__(self: Optimizer, params: Any, lr: float = rate, **options: Any) -> None:  # noqa: N807
        Optimizer.__init__(self, params, lr, **{"algorithm": algorithm, **defaults, **options})

    return type(name, (Optimizer,), {"__doc__": doc, "__init__": __init__, "__module__": __name__})


SGD = _algorithm("SGD", "sgd", "Stochastic gradient descent: momentum, nesterov, weight_decay.")
Adam = _algorithm("Adam", "adam", "Adam: betas, eps, weight_decay (L2 penalty).")
AdamW = _algorithm(
    "AdamW", "adamw", "Adam with decoupled weight decay.", weight_decay=0.01
)
RMSprop = _algorithm(
    "RMSprop", "rmsprop", "RMSprop: beta2 (smoothing constant), momentum.", rate=1e-2, beta2=0.99
)
Adagrad = _algorithm("Adagrad", "adagrad", "Adagrad: eps, weight_decay.", rate=1e-2, eps=1e-10)
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
