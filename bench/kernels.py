"""Compares kernels of the kernel language on a GPU with the same kernels written by hand in CUDA, and
fused functions with the unfused operations, torch and torch.compile.

    python3 bench/kernels.py [--out bench/results/NVIDIA-H200.json]
"""

import argparse
import datetime
import json
import pathlib
import sys
import time

import causeway as cw
import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path += [str(ROOT / "examples" / "kernels"), str(ROOT / "bench")]
from matmul import tiled_matmul  # noqa: E402
from run import commit  # noqa: E402

N = 64 << 20
HEAD = 'extern "C" __global__ void '
LOOP = "for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)"


@cw.kernel
def add(x: cw.array(dtype=float), y: cw.array(dtype=float), z: cw.array(dtype=float)):
    i = cw.tid()
    z[i] = x[i] + y[i]


@cw.kernel
def saxpy(a: float, x: cw.array(dtype=float), y: cw.array(dtype=float)):
    i = cw.tid()
    y[i] = a * x[i] + y[i]


@cw.kernel
def scale_relu(
    x: cw.array(dtype=float),
    a: cw.array(dtype=float),
    b: cw.array(dtype=float),
    c: cw.array(dtype=float),
    y: cw.array(dtype=float),
):
    i = cw.tid()
    y[i] = cw.max(a[i] * x[i] + b[i], 0.0) * c[i]


def by_hand(name, parameters, body):
    text = f"{HEAD}{name}({parameters}, long long n) {{ {LOOP} {body} }}"
    return cw.RawKernel(text, name)


def milliseconds(run, repeats=7, launches=20):
    """The best mean over `launches` back-to-back launches."""
    run()
    best = float("inf")
    for _ in range(repeats):
        torch.cuda.synchronize()
        cw.synchronize("cuda")
        start = time.perf_counter()
        for _ in range(launches):
            run()
        cw.synchronize("cuda")
        torch.cuda.synchronize()
        best = min(best, (time.perf_counter() - start) / launches)
    return best * 1e3


def compare(name, n_bytes, cases):
    """Times the cases in turn, three times each, and keeps the best."""
    best = {}
    for _ in range(3):
        for case, run in cases.items():
            best[case] = min(best.get(case, float("inf")), milliseconds(run))
    first = next(iter(best.values()))
    row = {"name": name, "ms": best, "ratio": {case: ms / first for case, ms in best.items()}}
    if n_bytes:
        row["bytes_per_second"] = n_bytes / first * 1e3
    print(f"{name}: " + ", ".join(f"{case} {ms:.4f} ms" for case, ms in best.items())
          + (f"; {row['bytes_per_second'] / 1e9:.0f} GB/s" if n_bytes else ""))
    return row


def pass_rows():
    x, y, z, w, out = (cw.ones(N, device="cuda") for _ in range(5))
    grid, block = ((132 * 8,), (256,))
    count = np.int64(N)
    flat = [["vector add", 12, lambda: add.launch(N, [x, y, z]),
             by_hand("add", "const float* x, const float* y, float* z", "z[i] = x[i] + y[i];"),
             (x, y, z, count)],
            ["saxpy", 12, lambda: saxpy.launch(N, [2.0, x, y]),
             by_hand("saxpy", "float a, const float* x, float* y", "y[i] = a * x[i] + y[i];"),
             (np.float32(2), x, y, count)],
            ["relu(a * x + b) * c", 20, lambda: scale_relu.launch(N, [x, y, z, w, out]),
             by_hand("scale_relu", "const float* x, const float* a, const float* b, const float* c, "
                     "float* y", "y[i] = fmaxf(a[i] * x[i] + b[i], 0.0f) * c[i];"),
             (x, y, z, w, out, count)]]
    for name, per_element, generated, raw, arguments in flat:
        yield compare(f"{name} 64M f32", per_element * N, {
            "generated": generated,
            "by hand": lambda raw=raw, arguments=arguments: raw(grid, block, arguments)})


def fused(x, a, b, c):
    return cw.relu(a * x + b) * c


def softmax(x):
    e = cw.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def fusion_rows():
    x, a, b, c = (cw.ones((8192, 4096), device="cuda") for _ in range(4))
    there = [torch.ones(8192, 4096, device="cuda") for _ in range(4)]
    torch_fused = torch.compile(lambda x, a, b, c: torch.relu(a * x + b) * c)
    torch_softmax = torch.compile(lambda x: torch.softmax(x, -1))
    one, rows = cw.fuse(fused), cw.fuse(softmax)
    yield compare("relu(a * x + b) * c 32M f32", 20 * 8192 * 4096, {
        "cw.fuse": lambda: one(x, a, b, c), "unfused": lambda: fused(x, a, b, c),
        "torch.compile": lambda: torch_fused(*there)})
    # a, b and c as rows: unfused operations move four times the bytes.
    rows_of = [cw.ones(4096, device="cuda") for _ in range(3)]
    torch_rows = [torch.ones(4096, device="cuda") for _ in range(3)]
    torch_fused_rows = torch.compile(lambda x, a, b, c: torch.relu(a * x + b) * c)
    yield compare("relu(a * x + b) * c 8192x4096 f32, a, b, c of 4096", 8 * 8192 * 4096, {
        "cw.fuse": lambda: one(x, *rows_of), "unfused": lambda: fused(x, *rows_of),
        "torch.compile": lambda: torch_fused_rows(there[0], *torch_rows)})
    yield compare("softmax 8192x4096 f32", 8 * 8192 * 4096, {
        "cw.fuse": lambda: rows(x), "unfused": lambda: softmax(x),
        "softmax": lambda: cw.functional.softmax(x), "torch.compile": lambda: torch_softmax(there[0])})


def matmul_row():
    n = 4096
    a, b = (cw.Generator(1).normal((n, n), device="cuda") for _ in range(2))
    c = cw.empty((n, n), device="cuda")
    row = compare(f"tiled matmul {n} f32", 0, {"RawKernel": lambda: tiled_matmul(a, b, c),
                                              "cuBLAS": lambda: a @ b})
    row["flops_per_second"] = 2 * n**3 / row["ms"]["RawKernel"] * 1e3
    print(f"tiled matmul: {row['flops_per_second'] / 1e12:.1f} TFLOP/s")
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path)
    out = parser.parse_args().out
    rows = [*pass_rows(), *fusion_rows(), matmul_row()]
    if out:
        record = json.loads(out.read_text()) if out.exists() else {}
        record["kernels"] = {"date": datetime.date.today().isoformat(), "commit": commit(),
                             "cases": rows}
        out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
