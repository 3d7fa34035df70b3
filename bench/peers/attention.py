"""The cases of bench/attention.cpp in PyTorch, with the fastest of its backends.

`attention_cases(torch, device)` yields (name, callable); on a GPU each backend that supports a
case is timed first, and the callable uses the fastest one.
"""

GPU_ROWS = [
    (16, 12, 1024, 64, True),
    (4, 16, 4096, 128, True),
    (2, 16, 8192, 128, False),
    (32, 90, 256, 64, False),
    (256, 4, 128, 32, False),
    (4096, 4, 20, 32, False),
]
CPU_ROWS = [(8, 4, 256, 32, False)]


def backends(torch, device):
    """Context managers that select one backend of scaled_dot_product_attention; None: PyTorch's choice."""
    if device != "cuda":
        return [None]
    from torch.nn.attention import SDPBackend

    names = ["CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION"]
    return [getattr(SDPBackend, name) for name in names if hasattr(SDPBackend, name)]


def under(torch, backend, run):
    """`run` restricted to one backend."""
    if backend is None:
        return run

    def limited():
        with torch.nn.attention.sdpa_kernel([backend]):
            return run()

    return limited


def rough_ms(torch, run):
    """A short measurement, to compare the backends."""
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(5):
        run()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 5


def fastest(torch, device, make):
    """The fastest of the callables make(backend) that run."""
    found = []
    for backend in backends(torch, device):
        try:
            run = make(backend)
            found.append((rough_ms(torch, run) if device == "cuda" else 0.0, len(found), run))
        except RuntimeError:
            continue  # the backend does not support this shape
    return min(found)[2]


def attention_cases(torch, device):
    attend = torch.nn.functional.scaled_dot_product_attention
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    for batch, heads, length, size, causal in GPU_ROWS if device == "cuda" else CPU_ROWS:
        shape = (batch, heads, length, size)
        q, k, v = (torch.randn(shape, device=device, dtype=dtype) for _ in range(3))
        gradient = torch.randn(shape, device=device, dtype=dtype)
        leaves = [x.clone().requires_grad_() for x in (q, k, v)]
        name = f"attention {batch},{heads},{length},{size} {'causal' if causal else 'full'}"

        def forward(backend):
            def run():
                with torch.no_grad():
                    return attend(q, k, v, is_causal=causal)

            return under(torch, backend, run)

        def backward(backend):
            out = under(torch, backend, lambda: attend(*leaves, is_causal=causal))()
            return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)

        yield f"{name} forward", fastest(torch, device, forward)
        yield f"{name} backward", fastest(torch, device, backward)
