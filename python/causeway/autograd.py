"""Gradient tracking, custom functions, hooks and activation checkpointing."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor, gradcheck

__all__ = ["Function", "checkpoint", "detect_anomaly", "enable_grad", "gradcheck", "no_grad"]


class _Guarded:
    """A context manager and decorator that holds a guard of the tape."""

    def _guard(self) -> Any:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._guards = [*getattr(self, "_guards", []), self._guard()]

    def __exit__(self, *exception: object) -> None:
        # Drops the last reference, which ends the guard.
        self._guards.pop()

    def __call__(self, function: Callable) -> Callable:
        @functools.wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return function(*args, **kwargs)

        @functools.wraps(function)
        def generating(*args: Any, **kwargs: Any) -> Any:
            values = function(*args, **kwargs)
            resume = functools.partial(next, values)
            while True:  # active while the generator runs, not its caller
                with self._again():
                    try:
                        value = resume()
                    except StopIteration as end:
                        return end.value
                try:
                    resume = functools.partial(values.send, (yield value))
                except GeneratorExit:
                    values.close()
                    raise
                except BaseException as problem:  # forwards throw()
                    resume = functools.partial(values.throw, problem)

        return generating if inspect.isgeneratorfunction(function) else guarded

    def _again(self) -> _Guarded:
        return type(self)()


class _Switch(_Guarded):
    """A guard without options, usable as a decorator without parentheses."""

    def __new__(cls, function: Callable | None = None) -> Any:
        guard = super().__new__(cls)
        return guard if function is None else guard(function)


class no_grad(_Switch):
    """Disables gradient tracking."""

    def _guard(self) -> Any:
        return _core._RecordingGuard(False)


class enable_grad(_Switch):
    """Enables gradient tracking, also within no_grad()."""

    def _guard(self) -> Any:
        return _core._RecordingGuard(True)


inference_mode = no_grad


class set_grad_enabled(_Guarded):
    """Enables or disables gradient tracking, in a with statement or as a decorator. Called alone it has
    no effect, and warns."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._used = False

    def __enter__(self) -> None:
        self._used = True
        super().__enter__()

    def __call__(self, function: Callable) -> Callable:
        self._used = True
        return super().__call__(function)

    def __del__(self) -> None:
        if not getattr(self, "_used", True):
            warnings.warn("set_grad_enabled() has no effect outside of a with statement", stacklevel=2)

    def _again(self) -> set_grad_enabled:
        return set_grad_enabled(self.mode)

    def _guard(self) -> Any:
        return _core._RecordingGuard(self.mode)


class detect_anomaly(_Guarded):
    """Raises an error that names operation, tensors and step when a result or gradient is NaN or
    infinite. Slow, since it synchronises after every operation.
    """

    def __init__(self, step: int = -1) -> None:
        self.step = step

    def _again(self) -> detect_anomaly:
        return detect_anomaly(self.step)

    def _guard(self) -> Any:
        return _core._DetectAnomaly(self.step)


class Hook:
    """The handle of a gradient hook; remove() removes it."""

    def __init__(self, tensor: Tensor, function: Callable[[Tensor], Tensor | None]) -> None:
        self._tensor = tensor
        self._id = tensor._add_hook(function)

    def remove(self) -> None:
        """Removes the hook."""
        self._tensor._remove_hook(self._id)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Hook:
    """Calls hook(gradient) when the tensor's gradient is complete; a returned tensor replaces the
    gradient.
    """
    return Hook(self, hook)


Tensor.register_hook = _register_hook


class Context:
    """State that a Function saves in forward() for backward()."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Tensor | None, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Saves tensors for backward(), which reads saved_tensors."""
        self.saved_tensors = tuple(None if tensor is None else tensor.detach() for tensor in tensors)


class Function:
    """A custom differentiable operation:

        class Cube(cw.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x * x

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                return gradient * x * x * 3

        y = Cube.apply(x)

    backward() takes a gradient for each result and returns one, or None, for each tensor argument.
    """

    @staticmethod
    def forward(ctx: Context, *args: Any) -> Any:
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Context, *gradients: Tensor) -> Any:
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Runs forward() and records the operation on the tape."""
        context = Context()
        with no_grad():
            results = cls.forward(context, *args)
        single = isinstance(results, Tensor)
        tensors = [arg for arg in args if isinstance(arg, Tensor)]
        places = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
        n_args = len(args)  # the rule must not keep the arguments themselves

        def rule(gradients: list[Tensor]) -> list[Tensor | None]:
            given = cls.backward(context, *gradients)
            given = (given,) if not isinstance(given, (tuple, list)) else given
            # One entry per argument, as in PyTorch, is accepted too.
            if len(given) == n_args != len(places):
                given = [given[i] for i in places]
            return list(given)

        saved = [tensor for tensor in context.saved_tensors if tensor is not None]
        results = [results] if single else list(results)
        tracked = _core._record(cls.__name__, results, tensors, saved, rule)
        return tracked[0] if single else tuple(tracked)


def checkpoint(block: Callable[..., Any], *inputs: Any, use_reentrant: bool | None = None, **keywords: Any) -> Any:
    """Activation checkpointing: runs block(*inputs, **keywords) and recomputes its intermediate results
    in backward() instead of keeping them. Inputs that are not tensors, and None among the results, are
    passed through; keywords are not differentiated. use_reentrant has no effect."""
    places = [i for i, entry in enumerate(inputs) if isinstance(entry, Tensor)]
    kinds: list[bool] = []  # whether each result is a tensor

    def run(given: list[Tensor]) -> list[Tensor]:
        arguments = list(inputs)
        for place, tensor in zip(places, given):
            arguments[place] = tensor
        results = block(*arguments, **keywords)
        parts = [results] if isinstance(results, Tensor) else list(results)
        if any(not isinstance(part, Tensor) and part is not None for part in parts):
            raise TypeError("a checkpointed block must return tensors or None")
        kinds[:] = [isinstance(part, Tensor) for part in parts]
        return [part for part in parts if part is not None]

    found = iter(_core._checkpoint(run, [inputs[place] for place in places]))
    results = tuple(next(found) if kind else None for kind in kinds)
    return results[0] if len(results) == 1 else results
