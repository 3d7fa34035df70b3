"""The cases of `causeway-bench learning` in PyTorch.

    python3 bench/peers/learning.py torch-cuda|torch-cpu [--threads N]

Prints one JSON object, as ops.py does.
"""

import argparse
import json
import sys

from attention import attention_cases
from norms import backward_of, norm_cases
from ops import measure_cuda, measure_host


def parameters(torch, device):
    width, entries = (768, 50304) if device == "cuda" else (128, 5030)
    layer = [(3 * width, width), (3 * width,), (width, width), (width,), (4 * width, width),
             (4 * width,), (width, 4 * width), (width,), (width,), (width,), (width,), (width,)]
    shapes = [(entries, width), (1024, width), (width,), (width,), *layer * 12]
    tensors = [torch.randn(shape, device=device).mul_(0.02).requires_grad_() for shape in shapes]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor) * 0.02
    return tensors


def optimizer_cases(torch, device):
    tensors = parameters(torch, device)
    size = f"{sum(tensor.numel() for tensor in tensors) / 1e6:.0f}M"
    fused = torch.optim.AdamW(tensors, lr=1e-4, fused=True)
    yield f"adamw f32 {size}", fused.step

    def clipped():
        torch.nn.utils.clip_grad_norm_(tensors, 1.0, foreach=device == "cuda")
        fused.step()

    yield f"clip and adamw f32 {size}", clipped


def linear_cases(torch, device):
    functional = torch.nn.functional
    rows, width = (16384, 1024) if device == "cuda" else (1024, 256)
    dtype, kind = (torch.bfloat16, "bf16") if device == "cuda" else (torch.float32, "f32")

    def draw(*shape):
        return torch.randn(*shape, device=device, dtype=dtype) * 0.02

    x, w_in, b_in = draw(rows, width), draw(4 * width, width), draw(4 * width)
    w_out, b_out = draw(width, 4 * width), draw(width)

    def mlp(x, w_in, b_in, w_out, b_out):
        hidden = functional.gelu(functional.linear(x, w_in, b_in), approximate="tanh")
        return functional.linear(hidden, w_out, b_out)

    shape = f"{kind} {rows}x{width}"
    yield f"linear {shape}", lambda: functional.linear(x, w_in, b_in)
    yield f"mlp {shape}", lambda: mlp(x, w_in, b_in, w_out, b_out)
    leaves = [x, w_in, b_in, w_out, b_out]
    yield f"mlp backward {shape}", backward_of(torch, mlp, leaves, draw(rows, width))


def convolution_cases(torch, device):
    images, size = (32, 128) if device == "cuda" else (4, 32)
    kinds = [("f32", torch.float32, False)]
    if device == "cuda":
        kinds += [("tf32", torch.float32, True), ("bf16", torch.bfloat16, False)]
    for kind, dtype, tf32 in kinds:
        x = torch.randn(images, 64, size, size, device=device, dtype=dtype)
        weight = torch.randn(128, 64, 3, 3, device=device, dtype=dtype) * 0.05
        gradient = torch.randn(images, 128, size, size, device=device, dtype=dtype)
        shape = f"{kind} {images},64,{size},{size} to 128"

        def conv(x, weight):
            return torch.nn.functional.conv2d(x, weight, padding=1)

        if device == "cuda":
            torch.backends.cudnn.benchmark = True
            torch.backends.cudnn.allow_tf32 = tf32
        yield f"conv 3x3 {shape}", lambda: conv(x, weight)
        yield f"conv 3x3 backward {shape}", backward_of(torch, conv, [x, weight], gradient)
        if kind == "f32":
            yield (f"max pool 2x2 f32 {images},64,{size},{size}",
                   lambda: torch.nn.functional.max_pool2d(x, 2))


def learning_cases(torch, device):
    yield from norm_cases(torch, device)
    yield from attention_cases(torch, device)
    yield from optimizer_cases(torch, device)
    yield from linear_cases(torch, device)
    yield from convolution_cases(torch, device)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch-cuda", "torch-cpu"])
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = arguments.peer.removeprefix("torch-")
    cases = []
    for name, run in learning_cases(torch, device):
        ms = measure_cuda(torch, run) if device == "cuda" else measure_host(run)
        cases.append({"name": name, "ms": ms})
    json.dump({"peer": f"PyTorch {torch.__version__}", "cases": cases}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
