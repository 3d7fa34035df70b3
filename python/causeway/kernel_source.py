"""From Python functions to one text of the kernel language: the function with the functions, structs
and constants it refers to, and where each line comes from.
"""

from __future__ import annotations

import ast
import inspect
import math
import numbers
import re
import sys
import textwrap
from typing import Any

from . import kernel_types
from .kernel_types import Quaternion, Scalar, Value

# Modules whose attributes are the language's builtins and types.
_LANGUAGE = {"causeway", "warp"}


class Piece:
    """The source of one kernel, function or struct."""

    def __init__(self, target: Any, role: str) -> None:
        self.target = target
        self.role = role  # kernel, func or struct
        self.name = target.__name__
        try:
            lines, self.line = inspect.getsourcelines(target)
            self.file = inspect.getsourcefile(target) or "<unknown>"
        except (OSError, TypeError) as problem:
            raise TypeError(
                f"the source of {self.name} is not available; use kernel_from_source"
            ) from problem
        text = "".join(lines)
        self.text = textwrap.dedent(text)
        self.indent = len(text) - len(text.lstrip()) - (len(self.text) - len(self.text.lstrip()))
        self.tree = ast.parse(self.text).body[0]

    def lookup(self, name: str) -> tuple[bool, Any]:
        """What a name that is not local means to Python."""
        if inspect.isfunction(self.target):
            closure = dict(zip(self.target.__code__.co_freevars, self.target.__closure__ or ()))
            if name in closure:
                return True, closure[name].cell_contents
            scope = self.target.__globals__
        else:
            scope = vars(sys.modules.get(self.target.__module__, object()))
        return name in scope, scope.get(name)

    def free_names(self) -> list[str]:
        """Names that are read and not assigned, decorators left out."""
        local: set[str] = set()
        if isinstance(self.tree, ast.FunctionDef):
            local = {argument.arg for argument in self.tree.args.args}
        seen: dict[str, None] = {}
        for part in ast.iter_child_nodes(self.tree):
            if part in self.tree.decorator_list:
                continue
            for node in ast.walk(part):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    local.add(node.id)
                elif isinstance(node, ast.Name):
                    seen.setdefault(node.id)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    # An annotation may be a string.
                    seen.update(dict.fromkeys(re.findall(r"\b[A-Za-z_]\w*\b", node.value)))
        return [name for name in seen if name not in local]


class Text:
    """The text of a kernel and what it needs, in the order of definition."""

    def __init__(self, function: Any, role: str = "kernel") -> None:
        self.constants: dict[str, Any] = {}
        self.imports: list[str] = []
        self.pieces: list[tuple[Piece, dict[str, str]]] = []
        self._names: dict[str, Any] = {}
        main = Piece(function, role)
        self.file = main.file
        self._add(main)
        lines = [*self.imports]
        self.origins: list[tuple[int, str, int, int]] = []
        for piece, renamed in self.pieces:
            self.origins.append((len(lines) + 1, piece.file, piece.line, piece.indent))
            lines += _rename(piece.text, renamed).rstrip("\n").split("\n")
        self.text = "\n".join(lines) + "\n"

    def _add(self, piece: Piece) -> None:
        if piece.name in self._names:
            if self._names[piece.name] is not piece.target:
                raise TypeError(f"two different functions or structs are called {piece.name}")
            return
        self._names[piece.name] = piece.target
        renamed: dict[str, str] = {}
        for name in piece.free_names():
            found, value = piece.lookup(name)
            if found:
                self._resolve(piece, name, value, renamed)
        self.pieces.append((piece, renamed))

    def _resolve(self, piece: Piece, name: str, value: Any, renamed: dict[str, str]) -> None:
        role = getattr(value, "_kernel_role", None)
        language = _language_name(value)
        if inspect.ismodule(value):
            if value.__name__ in _LANGUAGE:
                self._import(f"import {value.__name__} as {name}")
        elif role is not None:
            target = getattr(value, "_function", value)
            if target is not piece.target:
                self._add(Piece(target, role))
                if target.__name__ != name:
                    renamed[name] = target.__name__
        elif language is not None:
            if language != name:
                renamed[name] = "causeway." + language
            else:
                self._import(f"from causeway import {name}")
        else:
            constant = _constant(value)
            if constant is not None:
                if self.constants.get(name, constant) != constant:
                    raise TypeError(f"two different constants are called {name}")
                self.constants[name] = constant

    def _import(self, line: str) -> None:
        if line not in self.imports:
            self.imports.append(line)


def _rename(text: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        text = re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, text)
    return text


def _language_name(value: Any) -> str | None:
    """How kernels spell a type or builtin of the language; None for other objects."""
    if isinstance(value, Scalar):
        return value.__name__
    if isinstance(value, type) and issubclass(value, Value):
        if value.__name__ in kernel_types.VALUES:
            return value.__name__
        scalar = f"dtype=causeway.{value.scalar}"
        if len(value.shape) == 1:
            return f"types.vector(length={value.shape[0]}, {scalar})"
        return f"types.matrix(shape={value.shape}, {scalar})"
    for name, scalar in kernel_types.SCALARS.items():
        if value is scalar:
            return name
    if any(value is annotation for annotation in kernel_types.ARRAYS):
        return value.__name__
    return getattr(value, "_builtin_name", None)


def _constant(value: Any) -> Any:
    """A number or vector as the compiler takes it; None for other objects."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Value) and not isinstance(value, Quaternion):
        rows, cols = (*value.shape, 0)[:2]
        return (value.scalar, rows, cols, [float(number) for number in value])
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real) and not math.isnan(value):
        return float(value)
    return None
