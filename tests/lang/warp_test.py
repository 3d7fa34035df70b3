"""Runs the corpus in NVIDIA Warp on the CPU and in our interpreter, and compares every array.

Usage: warp_test.py lang_driver. Exits with 77 (skipped) where warp-lang is not installed. A run's
`ulp=` is the distance allowed in units of the last place, 0 without it; it is measured at the
element or at a hundredth of the array's largest one, since Warp contracts products and sums.
"""

import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

try:
    import numpy as np
    import warp as wp
except ImportError:
    print("warp-lang is not installed: corpus and rejected kernels skipped")
    sys.exit(77)

wp.config.quiet = True
wp.config.enable_backward = False


def sequence(k):
    h = (k * 2654435761 + 12345) & 0xFFFFFFFF
    h ^= h >> 15
    h = (h * 2246822519) & 0xFFFFFFFF
    h ^= h >> 13
    return (h >> 8) / 16777216.0


class Values:
    """The inputs of one run, drawn in the order of the kernel's parameters."""

    def __init__(self):
        self.k = 0

    def draw(self, spec, count):
        if spec[0] == "z":
            return [0.0] * count
        kind, _, rest = spec.partition("(")
        if not rest:
            return [float(spec)] * count
        numbers = [float(x) for x in rest.rstrip(")").split(",")]
        if kind == "v":
            return [numbers[i % len(numbers)] for i in range(count)]
        low, high = numbers
        out = []
        for _ in range(count):
            x = sequence(self.k)
            self.k += 1
            out.append(low + int((high - low) * x) if kind == "i" else low + (high - low) * x)
        return out


def parse(text):
    for line in re.findall(r"^# run (.*)$", text, re.MULTILINE):
        words = line.split()
        pairs = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        dims = tuple(int(n) for n in pairs.pop("dim").split(","))
        yield words[0], dims, int(pairs.pop("ulp", 0)), pairs


def split(spec):
    value, bracket, shape = spec.partition("[")
    return value, tuple(int(n) for n in shape.rstrip("]").split(",")) if bracket else None


def leaves(dtype):
    """NumPy types of the scalars of a Warp type, in order."""
    if isinstance(dtype, wp._src.codegen.Struct):
        return [leaf for var in dtype.vars.values() for leaf in leaves(var.type)]
    scalar = getattr(dtype, "_wp_scalar_type_", dtype)
    count = int(np.prod(getattr(dtype, "_shape_", (1,))))
    return [wp._src.types.warp_type_to_np_dtype[{float: wp.float32, int: wp.int32, bool: wp.bool}.get(scalar, scalar)]] * count


def as_array(dtype, shape, values):
    kinds = leaves(dtype)
    n = int(np.prod(shape))
    if isinstance(dtype, wp._src.codegen.Struct):
        flat = np.array(values, dtype=np.float32)
        return wp.array(flat.view(dtype.numpy_dtype()).reshape(shape), dtype=dtype, device="cpu")
    if np.issubdtype(kinds[0], np.floating):
        values = np.array(values, dtype=np.float32)
    data = np.array(values).astype(kinds[0])
    inner = getattr(dtype, "_shape_", ())
    return wp.array(data.reshape(shape + tuple(inner)), dtype=dtype, shape=shape, device="cpu")


def as_value(dtype, values):
    if isinstance(dtype, wp._src.codegen.Struct):
        made = dtype()
        at = 0
        for name, var in dtype.vars.items():
            n = len(leaves(var.type))
            setattr(made, name, as_value(var.type, values[at : at + n]))
            at += n
        return made
    if hasattr(dtype, "_shape_"):
        return dtype(*[np.float32(x) for x in values])
    kind = leaves(dtype)[0]
    return kind(np.float32(values[0])) if np.issubdtype(kind, np.floating) else int(values[0])


def arguments(kernel, pairs):
    values = Values()
    args, arrays = [], {}
    for arg in kernel.adj.args:
        kind = arg.type
        if isinstance(kind, wp._src.codegen.Struct) and any(key.startswith(arg.label + ".") for key in pairs):
            made = kind()
            for name, var in kind.vars.items():
                label = f"{arg.label}.{name}"
                value, shape = split(pairs[label])
                if shape is None:
                    setattr(made, name, as_value(var.type, values.draw(value, len(leaves(var.type)))))
                else:
                    count = int(np.prod(shape)) * len(leaves(var.type.dtype))
                    arrays[label] = as_array(var.type.dtype, shape, values.draw(value, count))
                    setattr(made, name, arrays[label])
            args.append(made)
            continue
        value, shape = split(pairs[arg.label])
        if shape is None:
            args.append(as_value(kind, values.draw(value, len(leaves(kind)))))
        else:
            count = int(np.prod(shape)) * len(leaves(kind.dtype))
            arrays[arg.label] = as_array(kind.dtype, shape, values.draw(value, count))
            args.append(arrays[arg.label])
    return args, arrays


def distance(ours, theirs):
    if not np.issubdtype(ours.dtype, np.floating):
        return float(np.count_nonzero(ours != theirs)) * np.inf if np.any(ours != theirs) else 0.0
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    both_nan = np.isnan(a) & np.isnan(b)
    same = both_nan | (a == b)
    if np.all(same):
        return 0.0
    size = np.maximum(np.abs(b), 0.01 * np.max(np.abs(b)))
    unit = np.spacing(np.maximum(size, np.finfo(ours.dtype).tiny).astype(ours.dtype)).astype(np.float64)
    return float(np.max(np.where(same, 0.0, np.abs(a - b) / unit)))


def load(path):
    spec = importlib.util.spec_from_file_location("corpus_" + path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(driver):
    problems, n_runs, n_exact = [], 0, 0
    for path in sorted((HERE / "corpus").glob("*.py")):
        text = path.read_text()
        done = subprocess.run([driver, "run", str(path)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            problems.append(f"{path.name}: {done.stdout[-600:]}")
            continue
        ours = {}
        for line in done.stdout.splitlines():
            kernel, name, data = (line + " ").split(" ", 2)
            ours[kernel, name] = bytes.fromhex(data.strip())
        module = load(path)
        for name, dims, ulp, pairs in parse(text):
            kernel = getattr(module, name)
            args, arrays = arguments(kernel, pairs)
            wp.launch(kernel, dim=dims, inputs=args, device="cpu")
            n_runs += 1
            worst = 0.0
            for label, array in arrays.items():
                theirs = array.numpy()
                mine = np.frombuffer(ours[name, label], dtype=theirs.dtype)
                if theirs.dtype.names:  # structs: all their scalars are float32 here
                    theirs, mine = theirs.view(np.float32), mine.view(np.float32)
                worst = max(worst, distance(mine, theirs.reshape(-1)))
            n_exact += worst == 0.0
            if worst > ulp:
                problems.append(f"{path.name} {name}: {worst:g} ulp from Warp, allowed {ulp}")
    print(f"{n_runs} kernels ran in Warp {wp.config.version} and here: {n_exact} to the bit, {len(problems)} differ")
    return problems


def rejected(driver):
    """What Warp refuses, we refuse."""
    problems = []
    files = sorted((HERE / "rejected").glob("*.py"))
    done = subprocess.run([driver, "check", *map(str, files)], capture_output=True, text=True, check=False)
    verdicts = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    n_warp = 0
    for path in files:
        if not verdicts.get(str(path), "").startswith("error "):
            problems.append(f"{path.name}: accepted here")
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                module = load(path)
                for name in dir(module):
                    kernel = getattr(module, name)
                    if isinstance(kernel, wp.Kernel):
                        options = kernel.module.resolve_options(wp.config)
                        wp._src.context.ModuleBuilder(kernel.module, options).codegen("cpu")
            problems.append(f"{path.name}: accepted by Warp")
        except Exception:  # Warp raises many kinds
            n_warp += 1
    print(f"{len(files)} kernels are refused here, {n_warp} of them by Warp")
    return problems


def main():
    with tempfile.TemporaryDirectory() as cache:
        os.environ["WARP_CACHE_PATH"] = cache
        wp.config.kernel_cache_dir = cache
        problems = compare(sys.argv[1]) + rejected(sys.argv[1])
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
