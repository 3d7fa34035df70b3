"""Shared by the tests of `causeway predict`: calls of the program and a small model."""

import json
import os
import random
import struct
import subprocess

PROGRAM = ""  # set by the tests


def causeway(*arguments, program=None, **environment):
    done = subprocess.run(
        [program or PROGRAM, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def write_model(path, classes):
    """A small model with random weights, written without the library."""
    config = {
        "width": 8, "heads": 1, "hidden": 8, "layers": 1, "group": 1, "thinking": 0,
        "classes": classes, "bins": 8, "pre_norm": True, "projection": False,
        "residual_decay": 1.0, "class_as_number": False, "mean_readout": False,
    }  # fmt: skip
    outputs = classes or 8
    inputs = (3 + (classes or 1) + 2 + 7) // 8 * 8
    shapes = {"encoder": [8, inputs], "norm.weight": [8]}
    for part in ("columns", "rows"):
        shapes |= {f"layers.0.{part}.qkv.weight": [24, 8], f"layers.0.{part}.qkv.bias": [24]}
    for part in ("layers.0.mlp", "decoder"):
        width = outputs if part == "decoder" else 8
        shapes |= {f"{part}.in.weight": [8, 8], f"{part}.in.bias": [8],
                   f"{part}.out.weight": [width, 8], f"{part}.out.bias": [width]}
    shapes |= {f"layers.0.norm{i}.weight": [8] for i in (1, 2, 3)}
    if not classes:
        shapes["borders"] = [7]
    rng = random.Random(1)
    header, data = {"__metadata__": {"model": "causeway.tabular.1", "config": json.dumps(config)}}, b""
    for name, shape in sorted(shapes.items()):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        values = [rng.uniform(-1, 1) for _ in range(count)]
        if name == "borders":
            values = [-1.5, -1, -0.5, 0, 0.5, 1, 1.5]
        piece = struct.pack(f"<{count}f", *values)
        header[name] = {"dtype": "F32", "shape": shape,
                        "data_offsets": [len(data), len(data) + len(piece)]}
        data += piece
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
