"""The cases of `causeway-bench ops` in PyTorch and NumPy.

Prints one JSON object: {"peer": ..., "cases": [{"name", "ms"}]}. Times are medians after warm-up,
with events on a GPU and a clock on the CPU, of one call each, as in bench/harness.cpp.
"""

import argparse
import json
import statistics
import sys
import time


SLOW_MS = 3000.0  # slower cases are timed three times after one warm-up run


def warm_up(run):
    begin = time.perf_counter()
    for _ in range(3):
        run()
        if (time.perf_counter() - begin) * 1e3 > SLOW_MS / 3:
            break


def goes_on(times, least, most, enough_ms):
    total = sum(times)
    least = least if total < SLOW_MS else 3
    return len(times) < most and (len(times) < least or total < enough_ms)


def measure_cuda(torch, run, least=11, most=200, enough_ms=400.0):
    def run_and_wait():
        run()
        torch.cuda.synchronize()

    warm_up(run_and_wait)
    times = []
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    while goes_on(times, least, most, enough_ms):
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def measure_host(run, least=11, most=200, enough_ms=400.0):
    warm_up(run)
    times = []
    while goes_on(times, least, most, enough_ms):
        begin = time.perf_counter()
        run()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def torch_cases(torch, device):
    cuda = device == "cuda"
    n, size = (100_000_000, "100M") if cuda else (10_000_000, "10M")
    a, b = torch.randn(n, device=device), torch.randn(n, device=device)
    few = torch.randn(1000, device=device)
    yield "add f32 1K", lambda: few + few
    yield f"copy f32 {size}", a.clone
    yield f"fill f32 {size}", lambda: torch.zeros(n, device=device)
    yield f"add f32 {size}", lambda: a + b
    yield f"multiply by 2 f32 {size}", lambda: a * 2.0
    yield f"relu f32 {size}", lambda: torch.relu(a)
    yield f"gelu f32 {size}", lambda: torch.nn.functional.gelu(a)
    yield f"exp f32 {size}", lambda: torch.exp(a)
    yield f"tanh f32 {size}", lambda: torch.tanh(a)
    yield f"sin f32 {size}", lambda: torch.sin(a)
    yield f"less f32 {size}", lambda: a < b
    yield f"to bf16 f32 {size}", lambda: a.to(torch.bfloat16)
    yield f"sum f32 {size}", lambda: a.sum()
    yield f"max f32 {size}", lambda: a.max()
    yield f"argmax f32 {size}", lambda: a.argmax()
    yield f"variance f32 {size}", lambda: a.var(correction=0)
    yield f"cumulative sum f32 {size}", lambda: a.cumsum(0)
    yield f"normal f32 {size}", lambda: torch.randn(n, device=device)
    yield f"uniform f32 {size}", lambda: torch.rand(n, device=device)
    del a, b
    rows, columns = (16384, 4096) if cuda else (4096, 2048)
    shape = f"{rows}x{columns}"
    x, row = torch.randn(rows, columns, device=device), torch.randn(columns, device=device)
    yield f"sum over rows f32 {shape}", lambda: x.sum(1)
    yield f"sum over columns f32 {shape}", lambda: x.sum(0)
    yield f"transpose f32 {shape}", lambda: x.t().contiguous()
    yield f"add row f32 {shape}", lambda: x + row
    if cuda:
        tall = torch.randn(262144, 576, device=device, dtype=torch.bfloat16)
        yield "sum over columns bf16 262144x576", lambda: tall.sum(0)
        del tall
    keys = torch.randn(10_000_000 if cuda else 1_000_000, device=device)
    yield f"sort f32 {len(keys) // 1_000_000}M", lambda: torch.sort(keys, stable=True)
    index = torch.randint(0, rows, (rows,), device=device)
    yield f"index select f32 {shape}", lambda: x.index_select(0, index)
    del x, row, keys, index
    kinds = [("f32", torch.float32, False, (128, 256, 512, 1024, 2048))]
    if cuda:
        kinds = [("f32", torch.float32, False, (128, 256, 512, 1024, 2048, 4096)),
                 ("tf32", torch.float32, True, (128, 256, 512, 1024, 2048, 4096)),
                 ("bf16", torch.bfloat16, False, (4096, 8192)),
                 ("f16", torch.float16, False, (8192,))]
    for kind, dtype, tf32, sizes in kinds:
        for m in sizes:
            p = torch.randn(m, m, device=device, dtype=dtype)
            q = torch.randn(m, m, device=device, dtype=dtype)
            torch.backends.cuda.matmul.allow_tf32 = tf32
            yield f"matmul {kind} {m}", lambda: p @ q


def numpy_cases(np):
    n = 10_000_000
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(n, dtype=np.float32), rng.standard_normal(n, dtype=np.float32)
    few = a[:1000].copy()
    yield "add f32 1K", lambda: few + few
    yield "copy f32 10M", a.copy
    yield "add f32 10M", lambda: a + b
    yield "multiply by 2 f32 10M", lambda: a * np.float32(2)
    yield "relu f32 10M", lambda: np.maximum(a, np.float32(0))
    yield "exp f32 10M", lambda: np.exp(a)
    yield "tanh f32 10M", lambda: np.tanh(a)
    yield "sin f32 10M", lambda: np.sin(a)
    yield "less f32 10M", lambda: a < b
    yield "sum f32 10M", a.sum
    yield "max f32 10M", a.max
    yield "argmax f32 10M", a.argmax
    yield "variance f32 10M", a.var
    yield "cumulative sum f32 10M", a.cumsum
    yield "normal f32 10M", lambda: rng.standard_normal(n, dtype=np.float32)
    yield "uniform f32 10M", lambda: rng.random(n, dtype=np.float32)
    x, row = a[: 4096 * 2048].reshape(4096, 2048), b[:2048]
    yield "sum over rows f32 4096x2048", lambda: x.sum(1)
    yield "sum over columns f32 4096x2048", lambda: x.sum(0)
    yield "transpose f32 4096x2048", lambda: np.ascontiguousarray(x.T)
    yield "add row f32 4096x2048", lambda: x + row
    keys = a[:1_000_000]
    yield "sort f32 1M", lambda: np.sort(keys, kind="stable")
    index = rng.integers(0, 4096, 4096)
    yield "index select f32 4096x2048", lambda: x.take(index, 0)
    for m in (128, 256, 512, 1024, 2048):
        p = rng.standard_normal((m, m), dtype=np.float32)
        q = rng.standard_normal((m, m), dtype=np.float32)
        yield f"matmul f32 {m}", lambda: p @ q


def measure_many(run, repeat=1000):
    """The time per call, by the median over batches of calls: for calls of microseconds."""
    times = []
    for _ in range(12):
        begin = time.perf_counter()
        for _ in range(repeat):
            run()
        times.append((time.perf_counter() - begin) * 1e3 / repeat)
    return statistics.median(times[1:])


def handoff_cases():
    """Exchange of tensors with PyTorch by DLPack, by the host's clock."""
    import causeway as cw
    import torch

    for device in ["cpu"] + (["cuda"] if torch.cuda.is_available() else []):
        t = cw.zeros((1024, 1024), device=device)
        theirs = torch.from_dlpack(t)
        assert theirs.data_ptr() == t.data_ptr
        legs = {"torch to torch": lambda: torch.from_dlpack(theirs),
                "to torch and back": lambda: cw.from_dlpack(t.torch()),
                "to torch by t.torch()": t.torch,
                "to torch by torch.from_dlpack": lambda: torch.from_dlpack(t),
                "from torch": lambda: cw.from_dlpack(theirs)}
        for name, leg in legs.items():
            yield f"{name}, {device}", measure_many(leg)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch-cuda", "torch-cpu", "numpy", "handoff"])
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    peer, cases = arguments.peer, []
    if peer == "numpy":
        import numpy as np

        version = f"NumPy {np.__version__}"
        cases = [{"name": name, "ms": measure_host(run)} for name, run in numpy_cases(np)]
    elif peer == "handoff":
        version = "Causeway, from Python"
        cases = [{"name": name, "ms": ms} for name, ms in handoff_cases()]
    else:
        import torch

        version = f"PyTorch {torch.__version__}"
        if arguments.threads:
            torch.set_num_threads(arguments.threads)
        device = peer.removeprefix("torch-")
        for name, run in torch_cases(torch, device):
            ms = measure_cuda(torch, run) if device == "cuda" else measure_host(run)
            cases.append({"name": name, "ms": ms})
    json.dump({"peer": version, "cases": cases}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
