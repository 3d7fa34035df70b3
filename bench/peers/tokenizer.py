"""The cases of `causeway-bench tokenizer` in other libraries.

    python3 bench/peers/tokenizer.py torch-cuda|cupy|numba|torch-cpu|scikit-learn [--threads N]

Prints one JSON object, as ops.py does. 10M x 20 f32 on a GPU, 1M x 20 on the CPU, 256 bins. The fit
in torch sorts every column; its encode is torch.bucketize per column, to int32, the narrowest dtype it
supports.
"""

import argparse
import json
import sys

from ops import measure_cuda, measure_host

COLUMNS, BINS = 20, 256


def torch_data(torch, device, n):
    generator = torch.Generator(device).manual_seed(1)
    shape = (COLUMNS, n)
    yield "normal", torch.randn(shape, device=device, generator=generator)
    yield "5 values", torch.randint(0, 5, shape, device=device, generator=generator).float()
    yield "N(1000,1)", torch.randn(shape, device=device, generator=generator) + 1000


def torch_cases(torch, device):
    n = 10_000_000 if device == "cuda" else 1_000_000
    size = f"{n // 1_000_000}M x {COLUMNS}"
    for name, x in torch_data(torch, device, n):
        at = torch.linspace(0, n - 1, BINS + 1, device=device).round().long()[1:-1]

        def fit():
            return [torch.sort(x[c]).values[at] for c in range(COLUMNS)]

        edges = fit()

        def encode():
            return [torch.bucketize(x[c], edges[c], out_int32=True, right=True) for c in range(COLUMNS)]

        def both():
            found = fit()
            return [torch.bucketize(x[c], found[c], out_int32=True, right=True) for c in range(COLUMNS)]

        yield f"fit, {name} {size}", fit
        yield f"encode, {name} {size}", encode
        yield f"fit and encode, {name} {size}", both


def cupy_cases(cupy):
    n = 10_000_000
    x = cupy.random.default_rng(1).standard_normal((COLUMNS, n), dtype=cupy.float32)
    levels = cupy.linspace(0, 100, BINS + 1)
    yield (f"fit, normal 10M x {COLUMNS}",
           lambda: [cupy.percentile(x[c], levels) for c in range(COLUMNS)])


def numba_cases(torch):
    import numpy

    if not hasattr(numpy, "row_stack"):  # removed from NumPy, still used by Numba
        numpy.row_stack = numpy.vstack
    from numba import cuda

    @cuda.jit
    def encode_kernel(x, edges, out):
        row, column = cuda.grid(2)
        if row < x.shape[1]:
            value, token = x[column, row], 0
            for i in range(edges.shape[1]):
                if value >= edges[column, i]:
                    token = i + 1
            out[column, row] = token

    n = 10_000_000
    x = torch.randn((COLUMNS, n), device="cuda")
    edges = torch.quantile(x[:, :1_000_000], torch.linspace(0, 1, BINS + 1, device="cuda")[1:-1], dim=1)
    edges = edges.T.contiguous()
    out = torch.empty((COLUMNS, n), dtype=torch.uint8, device="cuda")
    views = [cuda.as_cuda_array(t) for t in (x, edges, out)]
    yield (f"encode, normal 10M x {COLUMNS}",
           lambda: encode_kernel[((n + 255) // 256, COLUMNS), (256, 1)](*views))


def scikit_learn_cases():
    import numpy as np
    from sklearn.preprocessing import KBinsDiscretizer

    x = np.random.default_rng(1).standard_normal((1_000_000, COLUMNS), dtype=np.float32)
    made = KBinsDiscretizer(BINS, encode="ordinal", strategy="quantile", subsample=None,
                            quantile_method="linear")
    made.fit(x)
    yield f"fit, normal 1M x {COLUMNS} by rows", lambda: made.fit(x)
    yield f"encode, normal 1M x {COLUMNS} by rows", lambda: made.transform(x)
    yield f"fit and encode, normal 1M x {COLUMNS} by rows", lambda: made.fit_transform(x)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch-cuda", "cupy", "numba", "torch-cpu", "scikit-learn"])
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    peer, cases = arguments.peer, []
    if peer == "scikit-learn":
        import sklearn

        version, made = f"scikit-learn {sklearn.__version__}", scikit_learn_cases()
    else:
        import torch

        if arguments.threads:
            torch.set_num_threads(arguments.threads)
        if peer == "cupy":
            import cupy

            version, made = f"CuPy {cupy.__version__}", cupy_cases(cupy)
        elif peer == "numba":
            import numba

            version, made = f"Numba {numba.__version__}", numba_cases(torch)
        else:
            version = f"PyTorch {torch.__version__}"
            made = torch_cases(torch, peer.removeprefix("torch-"))
    for name, run in made:
        on_host = peer in ("torch-cpu", "scikit-learn")
        if on_host:
            ms = measure_host(run, least=3, most=11, enough_ms=2000.0)
        else:
            # CuPy and Numba use the default stream, as PyTorch does here.
            ms = measure_cuda(torch, run)
        cases.append({"name": name, "ms": ms})
    json.dump({"peer": version, "cases": cases}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
