"""Shared by checks of records: inputs, made from the formulas in docs/pairs.md and the record alone, and comparisons."""

import math
import re

import numpy as np

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


def dtype_of(parameter):
    """The NumPy type of an element, with the layout that a C compiler gives it."""
    if "fields" not in parameter:
        scalar, shape = parse_type(parameter["type"])
        return np.dtype((scalar, shape))
    return np.dtype([(field["name"], dtype_of(field)) for field in parameter["fields"]], align=True)


def array_of(parameter, place, launch):
    """The elements of a parameter, of its shape; of shape () for one that is no array."""
    rows = values(parameter, place, launch)
    shape = tuple(parameter.get("shape", ()))
    if "fields" not in parameter:
        scalar, inner = parse_type(parameter["type"])
        return np.array(rows).astype(scalar).reshape((*shape, *inner))
    made = np.zeros(len(rows), dtype_of(parameter))
    for i, row in enumerate(rows):
        at = 0
        for field in parameter["fields"]:
            scalar, inner = parse_type(field["type"])
            size = math.prod(inner)
            made[i][field["name"]] = np.array(row[at : at + size]).astype(scalar).reshape(inner)
            at += size
    return made.reshape(shape)


def difference(found, expected):
    """The largest relative difference; infinite where integers differ or only one of two values is finite."""
    expected = expected.reshape(found.shape)
    if found.dtype.kind != "f":
        return 0.0 if np.array_equal(found, expected) else math.inf
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    if not np.isfinite(found[~same]).all() or not np.isfinite(expected[~same]).all():
        return math.inf
    largest = np.abs(expected[np.isfinite(expected)]).max(initial=0.0)
    scale = np.maximum(np.abs(expected[~same]), 0.01 * max(largest, 1e-6))
    return float((np.abs(found[~same] - expected[~same]) / scale).max(initial=0.0))


def tolerance_of(record):
    if "float16" in record["python_source"]:
        return 2e-2
    return 1e-8 if "float64" in record["python_source"] else 1e-3
