"""The base class of modules: named parameters, buffers and submodules, and hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary, ref

from .. import _core
from .._core import Tensor
from .._core._nn import MLP, Attention, _Module

class _ParameterType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and instance.is_leaf and instance.requires_grad


class Parameter(metaclass=_ParameterType):
    """A trainable tensor; assigned to an attribute of a module, it becomes a parameter. Every leaf that
    requires a gradient is an instance."""

    def __new__(cls, data: Tensor, requires_grad: bool = True) -> Tensor:
        if not requires_grad:
            raise NotImplementedError("Parameter(requires_grad=False) is not supported; assign a parameter to "
                                      "the module, then call its requires_grad_(False)")
        return data.detach().requires_grad_()


def _attributes(module: _Module) -> dict[str, Any] | None:
    """The instance dict of a module; None for compiled layers that are not subclassed."""
    try:
        return object.__getattribute__(module, "__dict__")
    except AttributeError:
        return None


class _Registration:
    """Attribute handling of all modules: tensors that require gradients become parameters, modules
    become submodules. The compiled class owns the tensors and may replace them, as to() does."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            kind = self._kinds().get(name)
            if value.requires_grad and value.is_leaf:
                self.register_parameter(name, value)
                return
            if kind == "parameter":
                raise TypeError(f"{name!r} is a parameter; assign an nn.Parameter, or None to remove it")
            if kind == "buffer":
                self.register_buffer(name, value)
                return
        if isinstance(value, _Module):
            self.register_module(name, value)
            return
        self._forget(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in (_attributes(self) or {}).get("_names_of_tensors", {}):
            return self._find(name)
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __delattr__(self, name: str) -> None:
        if not self._forget(name):
            object.__delattr__(self, name)

    def _kinds(self) -> dict[str, str]:
        """"parameter" or "buffer" for this module's own tensors, by name."""
        return {name: "parameter" if trained else "buffer" for name, trained, _ in self._own_tensors()}

    def _forget(self, name: str) -> bool:
        """Removes the tensor or submodule of this name if Python registered it; returns whether it did.
        Tensors of compiled layers stay."""
        own = _attributes(self)
        if own is None:
            return False
        known = own.get("_names_of_tensors", {}).pop(name, None) is not None
        known = known or isinstance(own.get(name), _Module)
        if known:
            self._remove(name)
            own.pop(name, None)
        return known

    def _claim(self, name: str, kind: str) -> None:
        """Reserves a name for a tensor; a tensor of the same kind is replaced in order."""
        own = _attributes(self)
        given = {} if own is None else own.setdefault("_names_of_tensors", {})
        made = {} if name in given else self._kinds()
        if made.get(name) == kind:  # the layer's own tensor gets new values
            return
        if name in made or own is None or isinstance(getattr(type(self), name, None), property):
            raise AttributeError(f"cannot register {kind} {name!r} on {type(self).__name__}; use another "
                                 "name in a subclass, or put both into an nn.Module")
        if given.get(name) != kind:
            self._forget(name)
            own.pop(name, None)
        given[name] = kind

    def register_parameter(self, name: str, values: Tensor | None) -> Tensor | None:
        """Registers a parameter, which becomes an attribute, and returns it; None is an attribute that
        is no parameter."""
        if values is None:
            self._forget(name)
            object.__setattr__(self, name, None)
            return None
        self._claim(name, "parameter")
        return _COMPILED["register_parameter"](self, name, values)

    def register_buffer(self, name: str, values: Tensor | None, persistent: bool = True) -> Tensor | None:
        """Registers a buffer: a tensor that is not trained, as an attribute; saved if persistent."""
        if values is None:
            self._forget(name)
            object.__setattr__(self, name, None)
            return None
        self._claim(name, "buffer")
        own = _attributes(self)
        if own is not None:
            unsaved = own.setdefault("_unsaved_buffers", set())
            unsaved.discard(name) if persistent else unsaved.add(name)
        elif not persistent:
            raise NotImplementedError("register_buffer(persistent=False) needs a module written in Python")
        return _COMPILED["register_buffer"](self, name, values)

    def register_module(self, name: str, module: _Module) -> None:
        """Registers a submodule, which becomes an attribute."""
        register = _COMPILED["register_module"]
        if isinstance(self, (MLP, Attention)) and name in dict(self.named_children()):
            raise TypeError(f"submodule {name!r} of {type(self).__name__} cannot be replaced; load "
                            "other values with load_state_dict()")
        register(self, name, module)  # raises if it is not a module
        own = _attributes(self)
        if own is not None and own.get(name) is not module:
            self._forget(name)
            register(self, name, module)
            own[name] = module


_COMPILED = {name: getattr(_Module, name)
             for name in ("register_parameter", "register_buffer", "register_module")}
for _name, _method in vars(_Registration).items():
    if callable(_method):
        setattr(_Module, _name, _method)


class Module(_Module):
    """Base class of modules. Tensors that require gradients and modules, assigned to attributes,
    become parameters and submodules. copy.deepcopy() copies the tensors; tied ones stay tied.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return call_with_hooks(self, *args, **kwargs) if _HOOKS else self.forward(*args, **kwargs)

    def __repr__(self) -> str:
        parts = "".join(
            f"\n  ({name}): " + repr(part).replace("\n", "\n  ")
            for name, part in self.named_children()
        )
        return f"{type(self).__name__}({parts}\n)" if parts else f"{type(self).__name__}()"


# What PyTorch's modules have beyond the compiled class.


class Listing(list):
    """A list that next() also takes from, as PyTorch's iterators of parameters."""

    def __next__(self) -> Any:
        if not hasattr(self, "_rest"):
            self._rest = iter(self)
        return next(self._rest)


def _listing(function: Callable[..., list]) -> Callable[..., Listing]:
    def method(self: _Module) -> Listing:
        return Listing(function(self))

    method.__name__, method.__doc__ = function.__name__, function.__doc__
    return method


def _parameters(self: _Module, recurse: bool = True) -> Listing:
    """All parameters, each once, or those of this module alone."""
    return Listing(tensor for _, tensor in self.named_parameters(recurse=recurse))


_all_parameters = _Module.named_parameters


def _named_parameters(self: _Module, prefix: str = "", recurse: bool = True) -> Listing:
    """Pairs of name (such as "layers.0.weight") and tensor, each tensor once; without recurse, of this
    module alone."""
    found = _all_parameters(self) if recurse else [
        (name, tensor) for name, trained, tensor in self._own_tensors() if trained]
    return Listing((f"{prefix}.{name}" if prefix else name, tensor) for name, tensor in found)


def _unsaved(self: _Module, prefix: str = "") -> Iterator[str]:
    """Names of buffers that are not saved."""
    for name in (_attributes(self) or {}).get("_unsaved_buffers", ()):
        yield prefix + name
    for name, part in self.named_children():
        yield from _unsaved(part, f"{prefix}{name}.")


_whole_state = _Module.state_dict


def _state_dict(self: _Module) -> dict[str, Tensor]:
    """Parameters and persistent buffers by name, sharing memory."""
    state = _whole_state(self)
    for name in _unsaved(self):
        state.pop(name, None)
    return state


def _named_modules(self: _Module, prefix: str = "", memo: set[int] | None = None) -> Iterator[tuple[str, _Module]]:
    """Pairs of name and module: this one, then all below, each once."""
    memo = set() if memo is None else memo
    if id(self) in memo:
        return
    memo.add(id(self))
    yield prefix, self
    for name, part in self.named_children():
        yield from part.named_modules(f"{prefix}.{name}" if prefix else name, memo)


def _apply(self: _Module, function: Callable[[_Module], None]) -> _Module:
    """Calls function(module) for all modules below, then for this one."""
    for _, part in self.named_children():
        part.apply(function)
    function(self)
    return self


def _requires_grad_(self: _Module, requires_grad: bool = True) -> _Module:
    """Sets whether all parameters require gradients."""
    for parameter in self.parameters():
        parameter.requires_grad_(requires_grad)
    return self


class Incompatible(tuple):
    """The missing and the unexpected names of load_state_dict()."""

    missing_keys = property(lambda self: self[0])
    unexpected_keys = property(lambda self: self[1])


_load_all = _Module.load_state_dict


def _load_state_dict(self: _Module, state: dict[str, Tensor], strict: bool = True) -> Incompatible:
    """Copies values into parameters and buffers. Raises if a shape differs, and, if strict, if a name is
    missing or unknown; returns the names that are."""
    own = self.state_dict()
    missing = [name for name in own if name not in state]
    unexpected = [name for name in state if name not in own]
    if strict:
        whole = _whole_state(self)
        _load_all(self, {**state, **{name: whole[name] for name in _unsaved(self) if name not in state}})
    else:
        _load_all(self, {**_whole_state(self), **{name: state[name] for name in own if name in state}})
    return Incompatible((missing, unexpected))


def _get_submodule(self: _Module, target: str) -> _Module:
    """The submodule with a name such as "layers.0"."""
    return dict(self.named_modules())[target]


def _zero_grad(self: _Module, set_to_none: bool = True) -> None:
    """Releases all gradients, or sets them to 0."""
    for parameter in self.parameters():
        if parameter.grad is not None:
            parameter.grad = None if set_to_none else _core.zeros_like(parameter.grad)


# Hooks, for modules of every kind. Compiled modules have no attributes, so they are kept here.

_HOOKS: WeakKeyDictionary[_Module, dict[str, dict[int, Callable]]] = WeakKeyDictionary()


class Handle:
    """The handle of a hook; remove() removes it."""

    _next = 0

    def __init__(self, module: _Module, kind: str, hook: Callable) -> None:
        Handle._next += 1
        self._id, self._kind, self._module = Handle._next, kind, ref(module)
        _HOOKS.setdefault(module, {}).setdefault(kind, {})[self._id] = hook
        _core._nn._set_call_with_hooks(call_with_hooks)

    def remove(self) -> None:
        """Removes the hook."""
        module = self._module()
        if module is None or module not in _HOOKS:
            return
        _HOOKS[module].get(self._kind, {}).pop(self._id, None)
        if not any(_HOOKS[module].values()):
            del _HOOKS[module]
        if not _HOOKS:
            _core._nn._set_call_with_hooks(None)


def call_with_hooks(module: _Module, *args: Any, **kwargs: Any) -> Any:
    """forward() of a module with its hooks before and after."""
    hooks = _HOOKS.get(module, {})
    for hook in list(hooks.get("before", {}).values()):
        changed = hook(module, args)
        if changed is not None:
            args = changed if isinstance(changed, tuple) else (changed,)
    result = module.forward(*args, **kwargs)
    for hook in list(hooks.get("after", {}).values()):
        changed = hook(module, args, result)
        result = result if changed is None else changed
    return result


def _register_forward_hook(self: _Module, hook: Callable) -> Handle:
    """Calls hook(module, arguments, result) after forward(); a returned value replaces the result."""
    return Handle(self, "after", hook)


def _register_forward_pre_hook(self: _Module, hook: Callable) -> Handle:
    """Calls hook(module, arguments) before forward(); returned values replace the arguments."""
    return Handle(self, "before", hook)


for _name in ("named_buffers", "named_children"):
    setattr(_Module, _name, _listing(getattr(_Module, _name)))
for _name, _method in {
    "add_module": _Registration.register_module,
    "apply": _apply,
    "buffers": lambda self: Listing(tensor for _, tensor in self.named_buffers()),
    "children": lambda self: Listing(part for _, part in self.named_children()),
    "modules": lambda self: Listing(part for _, part in self.named_modules()),
    "named_modules": _named_modules,
    "named_parameters": _named_parameters,
    "parameters": _parameters,
    "state_dict": _state_dict,
    "requires_grad_": _requires_grad_,
    "load_state_dict": _load_state_dict,
    "get_submodule": _get_submodule,
    "get_parameter": lambda self, target: dict(self.named_parameters())[target],
    "zero_grad": _zero_grad,
    "cpu": lambda self: self.to("cpu"),
    "cuda": lambda self, device=0: self.to(f"cuda:{device}" if isinstance(device, int) else device),
    "float": lambda self: self.to("f32"),
    "double": lambda self: self.to("f64"),
    "half": lambda self: self.to("f16"),
    "bfloat16": lambda self: self.to("bf16"),
    "register_forward_hook": _register_forward_hook,
    "register_forward_pre_hook": _register_forward_pre_hook,
}.items():
    setattr(_Module, _name, _method)
