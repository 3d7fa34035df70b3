"""Learning-rate schedules with PyTorch's names: each sets the rates of an optimizer's groups at step().

optim.Schedule is a function of the step alone, for loops that set optimizer.lr themselves.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from typing import Any


class LRScheduler:
    """Sets the learning rate of each group as a function of its first rate and the number of steps."""

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            if "initial_lr" not in group:  # the first schedule sees the first rate
                dict.__setitem__(group, "initial_lr", group["lr"])
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self.step()

    def factor(self, step: int, group: int) -> float:
        """The learning rate of a group at a step, divided by its first one."""
        raise NotImplementedError

    def rate(self, step: int, group: int) -> float:
        """The learning rate of a group at a step."""
        return self.base_lrs[group] * self.factor(step, group)

    def step(self) -> None:
        """Advances by one step."""
        self.last_epoch += 1
        self._set([self.rate(self.last_epoch, group) for group in range(len(self.base_lrs))])

    def _set(self, rates: list[float]) -> None:
        self._last_lr = rates
        self.optimizer.set_rates(rates)

    def get_last_lr(self) -> list[float]:
        """The learning rates that were set last, one per group."""
        return self._last_lr

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() needs to continue."""
        return {name: value for name, value in vars(self).items() if name not in ("optimizer", "functions")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a state_dict()."""
        vars(self).update(state)
        self._set(self._last_lr)


class LambdaLR(LRScheduler):
    """The first rate times a function of the step; one for all groups, or one per group."""

    def __init__(self, optimizer: Any, lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
                 last_epoch: int = -1) -> None:
        several = isinstance(lr_lambda, (list, tuple))
        self.functions = list(lr_lambda) if several else [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def factor(self, step: int, group: int) -> float:
        return self.functions[group](step)


class StepLR(LRScheduler):
    """Multiplies the rate by gamma every step_size steps."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step: int, group: int) -> float:
        return self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiplies the rate by gamma at each milestone."""

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.milestones, self.gamma = sorted(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step: int, group: int) -> float:
        return self.gamma ** bisect_right(self.milestones, step)


class ExponentialLR(LRScheduler):
    """Multiplies the rate by gamma at every step."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def factor(self, step: int, group: int) -> float:
        return self.gamma**step


class ConstantLR(LRScheduler):
    """The rate times a factor for the first total_iters steps."""

    def __init__(self, optimizer: Any, factor: float = 1 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.start, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step: int, group: int) -> float:
        return self.start if step < self.total_iters else 1.0


class LinearLR(LRScheduler):
    """A factor that changes linearly over total_iters steps: a warm-up."""

    def __init__(self, optimizer: Any, start_factor: float = 1 / 3, end_factor: float = 1.0, total_iters: int = 5,
                 last_epoch: int = -1) -> None:
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def factor(self, step: int, group: int) -> float:
        share = min(step, self.total_iters) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * share


class CosineAnnealingLR(LRScheduler):
    """A half cosine from the first rate to eta_min over T_max steps, and back."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:  # noqa: N803
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def rate(self, step: int, group: int) -> float:
        share = (1 + math.cos(math.pi * step / self.T_max)) / 2
        return self.eta_min + (self.base_lrs[group] - self.eta_min) * share


class CosineAnnealingWarmRestarts(CosineAnnealingLR):
    """Half cosines that start again after T_0 steps, then after T_mult times as many."""

    def __init__(self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0.0,  # noqa: N803
                 last_epoch: int = -1) -> None:
        self.T_0, self.T_mult = T_0, T_mult
        super().__init__(optimizer, T_0, eta_min, last_epoch)

    def rate(self, step: int, group: int) -> float:
        period = self.T_0
        while step >= period:
            step, period = step - period, period * self.T_mult
        share = (1 + math.cos(math.pi * step / period)) / 2
        return self.eta_min + (self.base_lrs[group] - self.eta_min) * share


class SequentialLR(LRScheduler):
    """Schedules one after the other; each starts at its milestone."""

    def __init__(self, optimizer: Any, schedulers: list[LRScheduler], milestones: list[int],
                 last_epoch: int = -1) -> None:
        self.functions, self.milestones = schedulers, milestones
        super().__init__(optimizer, last_epoch)

    def rate(self, step: int, group: int) -> float:
        place = bisect_right(self.milestones, step)
        start = self.milestones[place - 1] if place else 0
        return self.functions[place].rate(step - start, group)


class ReduceLROnPlateau:
    """Multiplies the rates by a factor when a metric has not improved for `patience` steps."""

    def __init__(self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10,
                 threshold: float = 1e-4, min_lr: float = 0.0) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode!r}: expected \"min\" or \"max\"")
        self.optimizer, self.mode, self.factor, self.patience = optimizer, mode, factor, patience
        self.threshold, self.min_lr = threshold, min_lr
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_epochs = 0

    def step(self, metrics: Any) -> None:
        """Takes the metric of an epoch."""
        value = float(metrics)
        sign = 1 if self.mode == "min" else -1
        if sign * value < sign * self.best * (1 - sign * self.threshold) or math.isinf(self.best):
            self.best, self.num_bad_epochs = value, 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            rates = [max(group["lr"] * self.factor, self.min_lr) for group in self.optimizer.param_groups]
            self.optimizer.set_rates(rates)
            self.num_bad_epochs = 0

    def get_last_lr(self) -> list[float]:
        """The learning rates, one per group."""
        return [group["lr"] for group in self.optimizer.param_groups]
