"""Runs records in NVIDIA Warp on the CPU and compares every written array with the interpreter's.

Usage: warp_check.py DATASET [COUNT]. The inputs are made here, from the formulas in docs/pairs.md and the
record alone. Exits with 77 where warp-lang is not installed.
"""

import contextlib
import importlib.util
import io
import math
import re
import sys
import tempfile
from pathlib import Path

import causeway as cw
import numpy as np

try:
    import warp as wp
except ImportError:
    print("warp-lang is not installed")
    sys.exit(77)

wp.config.quiet = True
wp.config.enable_backward = False
MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def parse_type(text):
    """The scalar's name and the shape of a value: "mat2x2<float32>" gives ("float32", (2, 2))."""
    match = re.fullmatch(r"(vec|mat|quat)?([\dx]*)<(\w+)>", text)
    if not match:
        return text, ()
    kind, sizes, scalar = match.groups()
    return scalar, (4,) if kind == "quat" else tuple(int(n) for n in sizes.split("x"))


def number(field, edges, u):
    low, high, whole = field["low"], field["high"], field["fill"] == "integers"
    if edges:
        middle = (low + high) / 2
        ends = [low, high, 0 if low < 0 < high else low, math.floor(middle) if whole else middle]
        return ends[int(u * 4)]
    return low + math.floor(u * (high - low + 1)) if whole else low + u * (high - low)


def values(parameter, place, launch):
    """All scalars of a parameter, element by element."""
    fields = parameter.get("fields") or [parameter]
    count = math.prod(parameter.get("shape", [1]))
    stream = mix((launch["seed"] + 1000 + place) & MASK)
    out = []
    for element in range(count):
        leaf = 0
        row = []
        for field in fields:
            for _ in range(math.prod(parse_type(field["type"])[1])):
                u = (mix((stream + element * 64 + leaf) & MASK) >> 11) / 2**53
                leaf += 1
                if field["fill"] == "constant":
                    row.append(field["value"])
                elif field["fill"] == "permutation":
                    step = 1 + mix(stream) % count
                    while math.gcd(step, count) != 1:
                        step += 1
                    row.append((element * step + mix((stream + 1) & MASK) % count) % count)
                else:
                    row.append(number(field, launch["set"] == "edges", u))
        out.append(row)
    return out


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
    rows = values(parameter, place, launch)
    if "fields" in parameter:
        made = [struct_value(module, parameter, row) for row in rows]
        return wp.array(made, dtype=getattr(module, parameter["type"])) if "shape" in parameter else made[0]
    scalar, shape = parse_type(parameter["type"])
    if "shape" in parameter:
        data = np.array(rows).astype(scalar).reshape(*parameter["shape"], *shape)
        return wp.array(data, dtype=warp_type(parameter["type"]))
    data = np.array(rows[0]).astype(scalar)
    return warp_type(parameter["type"])(*data.tolist()) if shape else getattr(wp, scalar)(data[0])


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
            theirs = given.numpy().astype(np.float64)
            mine = ours[parameter["name"]].astype(np.float64).reshape(theirs.shape)
            scale = np.maximum(np.abs(mine), 0.01 * max(np.abs(mine).max(initial=0.0), 1e-6))
            worst = max(worst, float((np.abs(mine - theirs) / scale).max(initial=0.0)))
    return worst


def main():
    records = cw.pairs.read(sys.argv[1])[: int(sys.argv[2]) if len(sys.argv) > 2 else None]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        for i, record in enumerate(records):
            half = "float16" in record["python_source"]
            tolerance = 2e-2 if half else 1e-8 if "float64" in record["python_source"] else 1e-3
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    worst = differences(record, Path(folder), i)
                problem = None if worst <= tolerance else f"differs by {worst:.2g}"
            except Exception as error:  # noqa: BLE001 what Warp refuses is what this looks for
                problem = f"{type(error).__name__}: {str(error).splitlines()[0][:200] if str(error) else ''}"
            if problem:
                wrong.append((record["metadata"]["id"], record["metadata"]["category"], problem))
                print(*wrong[-1], flush=True)
    print(f"{len(records) - len(wrong)} of {len(records)} records agree with Warp {wp.__version__}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
