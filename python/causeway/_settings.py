"""Settings as JSON, and signatures generated from the library's configuration descriptions."""

from __future__ import annotations

import difflib
import inspect
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Converts a value to JSON types: NumPy numbers to Python's, infinities and NaN to text."""
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim):
        return [plain(inner) for inner in value]
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def to_json(settings: Mapping[str, Any]) -> str:
    return json.dumps(plain(settings))


def check_names(function: str, settings: Mapping[str, Any], names: Iterable[str]) -> None:
    """Raises TypeError for a keyword argument that is not among the names."""
    known = list(names)
    for name in settings:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {near[0]!r}?" if near else f"; expected one of: {', '.join(known)}"
            raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{advice}")


def names_of(fields: str) -> list[str]:
    """The names of a configuration's fields, given as JSON."""
    return [field["name"] for field in json.loads(fields)]


def document(function: Any, fields: str, first: list[inspect.Parameter]) -> None:
    """Sets the signature and docstring of a function that takes **settings.

    fields: JSON list of the configuration's fields; first: the parameters before the settings.
    """
    known = {parameter.name for parameter in first}
    table = [field for field in json.loads(fields) if field["name"] not in known]
    parameters = first + [
        inspect.Parameter(field["name"], inspect.Parameter.KEYWORD_ONLY, default=_default(field))
        for field in table
    ]
    function.__signature__ = inspect.Signature(parameters)
    lines = [f"    {field['name']}: {field['help']} [{field['default_text']}]" for field in table]
    function.__doc__ = inspect.cleandoc(function.__doc__) + "\n\nSettings:\n" + "\n".join(lines)


def _default(field: Mapping[str, Any]) -> Any:
    value = field["default"]
    return tuple(value) if isinstance(value, list) else value
