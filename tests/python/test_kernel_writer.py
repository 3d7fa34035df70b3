"""examples/kernel_writer from its dataset to its scores, in a few seconds."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tokenizers")
EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "kernel_writer"


def run(script, *arguments):
    command = [sys.executable, EXAMPLE / script, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_trains_and_scores(tmp_path):
    out = run("train.py", "--out", tmp_path, "--pairs", 120, "--level", "1:1", "--steps", 4, "--small")
    assert "model.safetensors: " in out
    out = run("score.py", tmp_path, "--records", 2, "--out", tmp_path / "texts.jsonl")
    shares = re.findall(r"^(parses|compiles|runs|agrees) +[0-9.]+%", out, re.MULTILINE)
    assert shares == ["parses", "compiles", "runs", "agrees"]
    assert len((tmp_path / "texts.jsonl").read_text().splitlines()) == 2
