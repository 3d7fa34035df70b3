"""The case of `causeway-bench prior` that other libraries can express: a target that is a sum of functions
of uniform features, 64 rows x 4 features, in many datasets at once.

    python3 bench/peers/prior.py torch-cuda|torch-compile|numba|numpy [--threads N]

Prints one JSON object, as ops.py does. No other library generates the other families on a GPU; on the
CPU their reference implementations reached 35 (mlp, 150 x 5), 3.3 (graph, 1000 x 1:20) and 2.3 (graph,
1024 x 1:100) datasets per second and core.
"""

import argparse
import json
import math
import sys

from ops import measure_cuda, measure_host

ROWS, FEATURES = 64, 4


def torch_generate(torch, count, device):
    x = torch.rand(count, ROWS, FEATURES, device=device) * 2 * math.sqrt(3) - math.sqrt(3)
    w = torch.rand(count, 1, FEATURES, device=device) * 4 - 2
    s = torch.rand(count, 1, FEATURES, device=device) * 1.5 + 0.5
    b = torch.rand(count, 1, FEATURES, device=device) * 2 - 1
    z = s * x + b
    y = (w[..., 0] * torch.sin(z[..., 0]) + w[..., 1] * torch.cos(z[..., 1])
         + w[..., 2] * torch.tanh(z[..., 2]) + w[..., 3] * torch.exp(z[..., 3]))
    return x, y


def numba_generate(count):
    import numpy

    numpy.row_stack = numpy.vstack  # removed from NumPy, still used by Numba
    from numba import cuda
    from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32
    import torch

    x = torch.empty(count, ROWS, FEATURES, device="cuda")
    y = torch.empty(count, ROWS, device="cuda")
    w = torch.rand(count, 12, device="cuda")
    states = create_xoroshiro128p_states(count * ROWS, seed=1)

    @cuda.jit
    def kernel(states, w, x, y):
        dataset, row = cuda.blockIdx.x, cuda.threadIdx.x
        at = dataset * ROWS + row
        total = 0.0
        for f in range(FEATURES):
            value = xoroshiro128p_uniform_float32(states, at) * 3.4641016 - 1.7320508
            x[dataset, row, f] = value
            z = (w[dataset, 4 + f] * 1.5 + 0.5) * value + w[dataset, 8 + f] * 2 - 1
            weight = w[dataset, f] * 4 - 2
            if f == 0:
                total += weight * math.sin(z)
            elif f == 1:
                total += weight * math.cos(z)
            elif f == 2:
                total += weight * math.tanh(z)
            else:
                total += weight * math.exp(z)
        y[dataset, row] = total

    w_view, x_view, y_view = (cuda.as_cuda_array(t) for t in (w, x, y))
    return lambda: kernel[count, ROWS](states, w_view, x_view, y_view)


def numpy_generate(count):
    import numpy

    generator = numpy.random.default_rng(1)

    def run():
        x = generator.random((count, ROWS, FEATURES), dtype=numpy.float32) * 3.4641016 - 1.7320508
        w = generator.random((count, 3, FEATURES), dtype=numpy.float32)
        z = (w[:, None, 1] * 1.5 + 0.5) * x + w[:, None, 2] * 2 - 1
        w = w[:, None, 0] * 4 - 2
        y = (w[..., 0] * numpy.sin(z[..., 0]) + w[..., 1] * numpy.cos(z[..., 1])
             + w[..., 2] * numpy.tanh(z[..., 2]) + w[..., 3] * numpy.exp(z[..., 3]))
        return x, y

    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("peer", choices=["torch-cuda", "torch-compile", "numba", "numpy"])
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    gpu = arguments.peer != "numpy"
    count = 1_000_000 if gpu else 10_000
    if arguments.peer == "numpy":
        import numpy

        ms, name = measure_host(numpy_generate(count)), f"numpy {numpy.__version__}"
    else:
        import torch

        name = f"torch {torch.__version__}"
        if arguments.peer == "numba":
            run, name = numba_generate(count), "numba"
        elif arguments.peer == "torch-compile":
            compiled = torch.compile(torch_generate)
            run, name = (lambda: compiled(torch, count, "cuda")), name + " compile"
        else:
            def run():
                return torch_generate(torch, count, "cuda")
        ms = measure_cuda(torch, run)
    case = {"name": f"simple {ROWS} x {FEATURES}, {count} datasets", "ms": ms}
    json.dump({"peer": name, "cases": [case]}, sys.stdout)


if __name__ == "__main__":
    main()
