"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from .._core import Tensor
from .._core._nn import _Module, _Sequential
from .module import Module

class Sequential(_Sequential):
    """Applies modules in sequence."""

    def __init__(self, *modules: Any) -> None:
        named = modules[0] if len(modules) == 1 and isinstance(modules[0], dict) else None
        super().__init__(list(modules) if named is None else [])
        for name, module in (named or {}).items():
            self.register_module(name, module)

    def append(self, module: _Module) -> Sequential:
        """Appends a module."""
        self.register_module(str(len(self)), module)
        return self

    def forward(self, x: Tensor) -> Any:
        for part in self:
            x = part(x)
        return x

    def __iter__(self) -> Iterator[_Module]:
        return iter([part for _, part in self.named_children()])

    def __getitem__(self, index: Any) -> Any:
        found = list(self)[index]
        return Sequential(*found) if isinstance(index, slice) else found

    def __len__(self) -> int:
        return len(self.named_children())


class ModuleList(Module):
    """A list of submodules."""

    def __init__(self, modules: Any = ()) -> None:
        super().__init__()
        self._list: list[_Module] = []
        for module in modules:
            self.append(module)

    def append(self, module: _Module) -> ModuleList:
        """Appends a module."""
        self.register_module(str(len(self._list)), module)
        self._list.append(module)
        return self

    def __iter__(self) -> Iterator[_Module]:
        return iter(self._list)

    def __getitem__(self, index: Any) -> Any:
        found = self._list[index]
        return ModuleList(found) if isinstance(index, slice) else found

    def extend(self, modules: Iterable[_Module]) -> ModuleList:
        """Appends modules."""
        for module in modules:
            self.append(module)
        return self

    def __len__(self) -> int:
        return len(self._list)


class ModuleDict(Module):
    """A dict of submodules."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Any) -> None:
        """Adds modules by name."""
        for name, module in modules.items() if hasattr(modules, "items") else modules:
            self.register_module(name, module)

    def __getitem__(self, key: str) -> _Module:
        return dict(self.named_children())[key]

    def __setitem__(self, key: str, module: _Module) -> None:
        self.register_module(key, module)

    def __contains__(self, key: str) -> bool:
        return key in dict(self.named_children())

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.named_children())

    def keys(self) -> list[str]:
        """The names."""
        return [name for name, _ in self.named_children()]

    def values(self) -> list[_Module]:
        """The modules."""
        return [part for _, part in self.named_children()]

    def items(self) -> list[tuple[str, _Module]]:
        """Pairs of name and module."""
        return list(self.named_children())


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, parameters: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self._count = 0
        for parameter in parameters:
            self.append(parameter)

    def append(self, parameter: Tensor) -> ParameterList:
        """Appends a parameter."""
        self.register_parameter(str(self._count), parameter)
        self._count += 1
        return self

    def __getitem__(self, index: int) -> Tensor:
        return self._find(str(range(self._count)[index]))

    def __iter__(self) -> Iterator[Tensor]:
        return iter([self[i] for i in range(self._count)])

    def __len__(self) -> int:
        return self._count
