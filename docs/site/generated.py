"""Sphinx extension: replaces comments <!-- generated: NAME --> in pages by text made from the program's
help (program), from the configuration descriptions (configuration), from the functions of a module
(functions MODULE), and from bench/scale.py (scale)."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
import types
from pathlib import Path

SCALE = Path(__file__).resolve().parents[2] / "bench" / "scale.py"
MARK = re.compile(r"<!-- generated: (\w+)(?: ([\w.]+))? -->")


def help_of(command: list[str]) -> str:
    program = [sys.executable, "-m", "causeway"]
    return subprocess.run([*program, *command, "--help"], check=True, capture_output=True, text=True).stdout


def parse_help(text: str):
    """The description, the usage line, the options and subcommands by heading, and the closing text."""
    lines = text.splitlines()
    usage = next(i for i, line in enumerate(lines) if line.startswith("Usage: "))
    description, heading, groups, closing = " ".join(lines[:usage]), "", {}, []
    for line in lines[usage + 1 :]:
        if line.startswith(" " * 10) and heading and groups[heading]:
            groups[heading][-1][1] += " " + line.strip()
        elif line.startswith("  ") and heading:
            name, _, meaning = line.strip().partition("  ")
            groups[heading].append([name, meaning.strip()])
        elif line.endswith(":") and not line.startswith(" "):
            heading = line[:-1]
            groups[heading] = []
        elif line.strip():
            heading = ""
            closing.append(line.strip())
    return description, lines[usage].removeprefix("Usage: "), groups, " ".join(closing)


def program(command: tuple[str, ...] = ()) -> str:
    """One section per command."""
    description, usage, groups, closing = parse_help(help_of(list(command)))
    subcommands = groups.pop("Subcommands", [])
    title = " ".join(("causeway", *command))
    out = [f"{'##' if len(command) < 2 else '###'} {title}", f"{description.rstrip('.')}.", f"```\n{usage}\n```"]
    for heading, options in groups.items():
        options = [option for option in options if option[0] != "-h,--help"]
        if not options:
            continue
        if heading not in ("Options", "Positionals"):
            out.append(f"**{heading}**")
        out += [f"`{name}`\n: {escape(meaning)}" for name, meaning in options]
    out.append(escape(closing))
    out += [program((*command, name)) for name, _ in subcommands]
    return "\n\n".join(part for part in out if part)


def escape(text: str) -> str:
    """Text of the program as Markdown."""
    return re.sub(r"([\\`*_<>|\[\]])", r"\\\1", text)


def configuration() -> str:
    """One section per configuration, one entry per field."""
    from causeway import _core

    out = []
    for title, module in (
        ("Priors", _core._prior), ("Pre-training", _core._pretrain), ("GPT training", _core._gpt),
        ("Kernel pairs", _core._pairs),
    ):  # fmt: skip
        out.append(f"## {title}")
        for field in json.loads(module.fields()):
            name = ".".join(filter(None, (field["section"], field["name"])))
            kind = "true|false" if isinstance(field["default"], bool) else field["type"]
            default = f" Default: {escape(field['default_text'])}." if field["default_text"] else ""
            out.append(f"`{name}`: `{kind}`\n: {escape(field['help'])}.{default}")
    return "\n\n".join(out)


# Where functions of tensors are written in Python.
WRITTEN_IN = {"causeway": ("arithmetic", "creation", "einsum", "functions", "random", "search", "serialization"),
              "causeway.functional": ("functional",)}  # fmt: skip


def functions(module: str) -> str:
    """One entry per function of tensors in a module, compiled or written in Python."""
    own = {f"causeway.{name}" for name in WRITTEN_IN[module]}
    found = vars(importlib.import_module(module))
    names = sorted(name for name, value in found.items() if not name.startswith("_")
                   and (type(value).__name__ == "nb_func"
                        or (isinstance(value, types.FunctionType) and value.__module__ in own)))
    lines = [f".. autofunction:: {module}.{name}" for name in names]
    return "```{eval-rst}\n" + "\n".join(lines) + "\n```"


def scale() -> str:
    """The table of bench/scale.py."""
    return subprocess.run([sys.executable, SCALE], check=True, capture_output=True, text=True).stdout


PARTS = {"program": program, "configuration": configuration, "functions": functions, "scale": scale}


def read(app, page, source):
    source[0] = MARK.sub(lambda match: PARTS[match[1]](*filter(None, [match[2]])), source[0])


def setup(app):
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
