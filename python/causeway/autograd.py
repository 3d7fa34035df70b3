"""Gradients: what is tracked, functions with rules of their own, checkpoints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from . import _core
from ._core import Tensor, gradcheck

__all__ = ["Function", "checkpoint", "detect_anomaly", "enable_grad", "gradcheck", "no_grad"]


class _Guarded:
    """A context manager, and a decorator, that holds a guard of the tape while inside."""

    def _guard(self) -> Any:
        raise NotImplementedError

    def __enter__(self) -> None:
        self._guards = [*getattr(self, "_guards", []), self._guard()]

    def __exit__(self, *exception: object) -> None:
        # The last reference goes here, and with it the guard.
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
            while True:  # inside while the generator runs, not while its user does
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
                except BaseException as problem:  # the user's throw() is the generator's
                    resume = functools.partial(values.throw, problem)

        return generating if inspect.isgeneratorfunction(function) else guarded

    def _again(self) -> _Guarded:
        return type(self)()


class _Switch(_Guarded):
    """A guard without options, which decorates without parentheses too."""

    def __new__(cls, function: Callable | None = None) -> Any:
        guard = super().__new__(cls)
        return guard if function is None else guard(function)


class no_grad(_Switch):
    """Inside, operations are not tracked."""

    def _guard(self) -> Any:
        return _core._RecordingGuard(False)


class enable_grad(_Switch):
    """Inside, operations are tracked, also within no_grad()."""

    def _guard(self) -> Any:
        return _core._RecordingGuard(True)


class detect_anomaly(_Guarded):
    """Inside, NaN or infinity in a result or a gradient raises an error that names the operation,
    its tensors and the step. Slow: every operation is waited for.
    """

    def __init__(self, step: int = -1) -> None:
        self.step = step

    def _again(self) -> detect_anomaly:
        return detect_anomaly(self.step)

    def _guard(self) -> Any:
        return _core._DetectAnomaly(self.step)


class Hook:
    """A function that sees a tensor's gradient when it is complete; remove() takes it off again."""

    def __init__(self, tensor: Tensor, function: Callable[[Tensor], Tensor | None]) -> None:
        self._tensor = tensor
        self._id = tensor._add_hook(function)

    def remove(self) -> None:
        """Takes the hook off."""
        self._tensor._remove_hook(self._id)


def _register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> Hook:
    """Calls hook(gradient) when the tensor's gradient is complete; what it returns, if anything,
    takes the gradient's place.
    """
    return Hook(self, hook)


Tensor.register_hook = _register_hook


class Context:
    """What a Function keeps between its way forward and its way back."""

    def __init__(self) -> None:
        self.saved_tensors: tuple[Tensor | None, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keeps tensors for backward(), as saved_tensors."""
        self.saved_tensors = tuple(None if tensor is None else tensor.detach() for tensor in tensors)


class Function:
    """An operation with a gradient of one's own:

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
        """Runs forward() and notes on the tape how to go back."""
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
            # PyTorch's habit of an entry for every argument is taken too.
            if len(given) == n_args != len(places):
                given = [given[i] for i in places]
            return list(given)

        saved = [tensor for tensor in context.saved_tensors if tensor is not None]
        results = [results] if single else list(results)
        tracked = _core._record(cls.__name__, results, tensors, saved, rule)
        return tracked[0] if single else tuple(tracked)


def checkpoint(block: Callable[..., Any], *inputs: Tensor) -> Any:
    """block(*inputs), whose inner results are not kept but computed again during backward()."""
    results = _core._checkpoint(lambda given: block(*given), list(inputs))
    return results[0] if len(results) == 1 else tuple(results)
