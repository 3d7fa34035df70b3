"""Mixed precision: autocast, and a gradient scaler for f16."""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import DType, Tensor
from .autograd import _Guarded


class autocast(_Guarded):  # noqa: N801
    """Computes matrix products, convolutions and attention in a 16-bit type, by default bf16, and
    softmax, norms and losses in f32; parameters and their gradients stay f32.

        with cw.autocast("cuda", dtype=cw.bfloat16):
            loss = F.cross_entropy(net(x), y)
    """

    def __init__(self, device_type: str = "cuda", dtype: Any = None, enabled: bool = True,
                 cache_enabled: bool | None = None) -> None:
        # The type depends on no device here; the argument is checked, since PyTorch code passes it.
        if str(device_type).partition(":")[0] not in ("cpu", "cuda"):
            raise ValueError(f"device_type {device_type!r}: expected \"cpu\" or \"cuda\"")
        self._dtype, self._enabled, self._device_type = dtype, enabled, device_type

    def _again(self) -> autocast:
        return autocast(self._device_type, self._dtype, self._enabled)

    def _guard(self) -> Any:
        return _core._Autocast((self._dtype or DType.bf16) if self._enabled else None)


def is_autocast_enabled() -> bool:
    """Whether autocast is on in this thread."""
    return _core._autocast_type() is not None


class GradScaler:
    """Scales losses of f16 training so that small gradients do not vanish. The optimizer's step() divides
    by the scale; a step with gradients that are not finite is skipped and halves it."""

    def __init__(self, device: str = "cuda", init_scale: float = 65536.0, growth_factor: float = 2.0,
                 backoff_factor: float = 0.5, growth_interval: int = 2000, enabled: bool = True) -> None:
        self._scale, self._enabled = init_scale, enabled
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval, self._good_steps = growth_interval, 0
        self._finite: dict[int, bool] = {}  # by id of the optimizers whose gradients are unscaled

    def is_enabled(self) -> bool:
        """Whether it scales."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale."""
        return self._scale if self._enabled else 1.0

    def scale(self, loss: Tensor) -> Tensor:
        """The loss times the scale."""
        return loss * self._scale if self._enabled else loss

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale; waits for the device."""
        if not self._enabled or id(optimizer) in self._finite:
            return
        finite = True
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad = parameter.grad * (1 / self._scale)
                    finite = finite and bool(parameter.grad.isfinite().all())
        self._finite[id(optimizer)] = finite

    def step(self, optimizer: Any) -> Any:
        """optimizer.step() with unscaled gradients, or nothing if one is not finite."""
        self.unscale_(optimizer)
        return optimizer.step() if self._finite.get(id(optimizer), True) else None

    def update(self) -> None:
        """Adjusts the scale after the steps of all optimizers."""
        if not self._enabled:
            return
        if not all(self._finite.values()):
            self._scale, self._good_steps = self._scale * self._backoff_factor, 0
        else:
            self._good_steps += 1
            if self._good_steps == self._growth_interval:
                self._scale, self._good_steps = self._scale * self._growth_factor, 0
        self._finite.clear()

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict() needs to continue."""
        return {"scale": self._scale, "good_steps": self._good_steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a state_dict()."""
        self._scale, self._good_steps = state["scale"], state["good_steps"]
