"""Compiles the Warp text of every kernel of the corpus in NVIDIA Warp.

Usage: warp_text_test.py build/causeway. Exits with 77 (skipped) where warp-lang is not installed.
"""

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"

try:
    import warp as wp
except ImportError:
    print("warp-lang is not installed")
    sys.exit(77)

wp.config.quiet = True
wp.config.enable_backward = False


def module_of(text):
    """One module of the texts of several kernels: every definition once."""
    parts = text.replace("from typing import Any\n\n", "").replace("import warp as wp\n", "\n").split("\n\n\n")
    definitions = dict.fromkeys(part.strip("\n") for part in parts if part.strip())
    return "from typing import Any\n\nimport warp as wp\n\n\n" + "\n\n\n".join(definitions) + "\n"


def main():
    wp.init()
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in sorted(CORPUS.glob("*.py")):
            command = [sys.argv[1], "kernel", "compile", str(file), "--emit", "warp"]
            text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            path = Path(folder, file.name)
            path.write_text(module_of(text))
            spec = importlib.util.spec_from_file_location(f"warp_text_{file.stem}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            kernels = [value for value in vars(module).values() if isinstance(value, wp.Kernel)]
            assert kernels[0].module.load("cpu"), f"Warp refuses {file.name}"
            count += len(kernels)
    assert count >= 150, count
    print(f"{count} kernels compiled by Warp {wp.__version__}")


if __name__ == "__main__":
    main()
