"""Sphinx extension: turns the package's docstrings, which are plain text, into reStructuredText.

Indented blocks are code, lines "name: meaning" are lists, and `x` is code.
"""

from __future__ import annotations

import re

ENTRY = re.compile(r"^((?:[\w*]+, )*[\w*]+|\w+ \([^)]*\)): (?=\S)")


def inline(text: str) -> str:
    """Escapes markup, except code between backticks."""
    parts = re.split(r"`+([^`]+)`+", text)
    plain = [re.sub(r"([\\*_|`])", r"\\\1", part) for part in parts[::2]]
    out = plain[0]
    for inner, after in zip(parts[1::2], plain[1:]):
        out += f"``{inner}``" + ("\\" if after and after[0].isalnum() else "") + after
    return out


def paragraph(lines: list[str], is_first: bool) -> list[str]:
    """A paragraph; from the first line "name: meaning" on, a list. The first line of a docstring is its summary."""
    entries: list[list[str]] = []
    text: list[str] = []
    for i, line in enumerate(lines):
        if ENTRY.match(line) and not (is_first and i == 0):
            entries.append([line])
        elif entries:
            entries[-1].append(line)
        else:
            text.append(line)
    out = [inline(" ".join(line.strip() for line in text)), ""] if text else []
    for entry in entries:
        name, _, meaning = " ".join(line.strip() for line in entry).partition(": ")
        out.append(f"* ``{name}``: {inline(meaning)}")
    return out + [""]


def convert(lines: list[str]) -> list[str]:
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    out: list[str] = []
    for number, block in enumerate(filter(None, blocks)):
        is_code = all(line.startswith("    ") for line in block) and not ENTRY.match(block[0].strip())
        if is_code or block[0].lstrip().startswith(">>> "):
            code = block if is_code else ["    " + line.strip() for line in block]
            out += [".. code-block:: python", "", *code, ""]
        else:
            out += paragraph([line.strip() for line in block], is_first=number == 0)
    return out


def process(app, what, name, obj, options, lines):
    lines[:] = convert(lines)


def setup(app):
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
