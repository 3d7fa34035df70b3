"""Runs records in NVIDIA Warp on the CPU and compares every written array with the interpreter's.

Usage: warp_check.py DATASET [COUNT]. The inputs are made from the record alone.
Exits with 77 where warp-lang is not installed.
"""

import contextlib
import importlib.util
import io
import math
import sys
import tempfile
from pathlib import Path

import causeway as cw
import numpy as np
from records import array_of, difference, parse_type, tolerance_of, values

try:
    import warp as wp
except ImportError:
    print("warp-lang is not installed")
    sys.exit(77)

wp.config.quiet = True
wp.config.enable_backward = False


def warp_type(text):
    scalar, shape = parse_type(text)
    dtype = getattr(wp, scalar)
    if text.startswith("quat"):
        return wp.quat
    if len(shape) == 1:
        return wp.types.vector(length=shape[0], dtype=dtype)
    return wp.types.matrix(shape=shape, dtype=dtype) if shape else dtype


def struct_value(module, parameter, row):
    value = getattr(module, parameter["type"])()
    at = 0
    for field in parameter["fields"]:
        scalar, shape = parse_type(field["type"])
        size = math.prod(shape)
        part = np.array(row[at : at + size], scalar).reshape(shape)
        setattr(value, field["name"], warp_type(field["type"])(*part.ravel()) if shape else part.item())
        at += size
    return value


def argument(module, parameter, place, launch):
    if "fields" in parameter:
        made = [struct_value(module, parameter, row) for row in values(parameter, place, launch)]
        return wp.array(made, dtype=getattr(module, parameter["type"])) if "shape" in parameter else made[0]
    data = array_of(parameter, place, launch)
    made = warp_type(parameter["type"])
    return wp.array(data, dtype=made) if "shape" in parameter else made(*data.ravel().tolist())


def differences(record, folder, number_of_record):
    """The largest relative difference, and what it is measured at."""
    path = folder / f"record_{number_of_record}.py"
    path.write_text(record["python_source"])
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    worst = 0.0
    for k, launch in enumerate(record["inputs"]):
        arguments = [argument(module, p, i, launch) for i, p in enumerate(launch["parameters"])]
        kernel = getattr(module, record["metadata"]["kernel"])
        wp.launch(kernel, dim=launch["dim"], inputs=arguments, device="cpu")
        ours = cw.pairs.run(record, k)
        for parameter, given in zip(launch["parameters"], arguments):
            if not parameter.get("output"):
                continue
            worst = max(worst, difference(given.numpy(), ours[parameter["name"]]))
    return worst


def main():
    records = cw.pairs.read(sys.argv[1])[: int(sys.argv[2]) if len(sys.argv) > 2 else None]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for i, record in enumerate(records):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    worst = differences(record, Path(folder), i)
                problem = None if worst <= tolerance_of(record) else f"differs by {worst:.2g}"
            except Exception as error:  # noqa: BLE001 what Warp refuses is what this looks for
                problem = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            if problem:
                wrong.append((record["metadata"]["id"], record["metadata"]["category"], problem))
                print(*wrong[-1], flush=True)
    print(f"{len(records) - len(wrong)} of {len(records)} records agree with Warp {wp.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
