"""The cases of bench/norms.cpp in PyTorch."""


def backward_of(torch, forward, inputs, gradient):
    """A callable that runs only the backward pass of `forward`."""
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    out = forward(*leaves)
    return lambda: torch.autograd.grad(out, leaves, gradient, retain_graph=True)


def row_cases(torch, device, kind, dtype, rows, columns):
    functional = torch.nn.functional
    shape = f"{kind} {rows}x{columns}"
    x = torch.randn(rows, columns, device=device, dtype=dtype)
    other = torch.randn(rows, columns, device=device, dtype=dtype)
    weight = torch.randn(columns, device=device, dtype=dtype)
    bias = torch.randn(columns, device=device, dtype=dtype)

    def softmax(t):
        return torch.softmax(t, -1)

    def layer(t, w, b):
        return functional.layer_norm(t, (columns,), w, b, 1e-5)

    def rms(t, w):
        return functional.rms_norm(t, (columns,), w, 1e-5)

    def added(norm, *weights):
        total = x + other
        return total, norm(total, *weights)

    yield f"softmax {shape}", lambda: softmax(x)
    yield f"softmax backward {shape}", backward_of(torch, softmax, [x], other)
    yield f"layer norm {shape}", lambda: layer(x, weight, bias)
    yield f"layer norm backward {shape}", backward_of(torch, layer, [x, weight, bias], other)
    yield f"add and layer norm {shape}", lambda: added(layer, weight, bias)
    if hasattr(functional, "rms_norm"):
        yield f"rms norm {shape}", lambda: rms(x, weight)
        yield f"rms norm backward {shape}", backward_of(torch, rms, [x, weight], other)
        yield f"add and rms norm {shape}", lambda: added(rms, weight)


def batch_norm_cases(torch, device, kind, dtype, images, channels, pixels):
    x = torch.randn(images, channels, pixels, device=device, dtype=dtype)
    gradient = torch.randn_like(x)
    weight = torch.ones(channels, device=device, dtype=dtype)
    bias = torch.zeros(channels, device=device, dtype=dtype)
    mean = torch.zeros(channels, device=device)
    variance = torch.ones(channels, device=device)

    def norm(t, w, b):
        return torch.nn.functional.batch_norm(t, mean, variance, w, b, training=True)

    shape = f"{kind} {images}x{channels}x{pixels}"
    yield f"batch norm {shape}", lambda: norm(x, weight, bias)
    yield f"batch norm backward {shape}", backward_of(torch, norm, [x, weight, bias], gradient)


def cross_entropy_case(torch, device, kind, dtype, rows, columns):
    logits = torch.randn(rows, columns, device=device, dtype=dtype, requires_grad=True)
    targets = torch.randint(0, columns, (rows,), device=device)

    def run():
        loss = torch.nn.functional.cross_entropy(logits, targets)
        return torch.autograd.grad(loss, logits)

    return f"cross entropy {kind} {rows}x{columns}", run


def dropout_case(torch, device, kind, dtype, millions):
    x = torch.randn(millions * 1_000_000, device=device, dtype=dtype)
    return f"dropout {kind} {millions}M", lambda: torch.nn.functional.dropout(x, 0.1)


def embedding_case(torch, device, kind, dtype, picks, entries, columns):
    table = torch.randn(entries, columns, device=device, dtype=dtype)
    index = torch.randint(0, entries, (picks,), device=device)
    gradient = torch.randn(picks, columns, device=device, dtype=dtype)
    run = backward_of(torch, lambda t: torch.nn.functional.embedding(index, t), [table], gradient)
    return f"embedding backward {kind} {picks} of {entries}x{columns}", run


def norm_cases(torch, device):
    """Yields (name, callable) for every case that bench/norms.cpp has on the device."""
    f32, bf16 = torch.float32, torch.bfloat16
    if device == "cpu":
        for rows, columns in ((2048, 256), (8192, 96)):
            yield from row_cases(torch, device, "f32", f32, rows, columns)
            yield cross_entropy_case(torch, device, "f32", f32, rows, columns)
        yield from batch_norm_cases(torch, device, "f32", f32, 16, 64, 3136)
        yield cross_entropy_case(torch, device, "f32", f32, 256, 50304)
        yield dropout_case(torch, device, "f32", f32, 10)
        yield embedding_case(torch, device, "f32", f32, 4096, 50304, 256)
        return
    yield from row_cases(torch, device, "bf16", bf16, 16384, 4096)
    yield from row_cases(torch, device, "bf16", bf16, 1048576, 256)
    yield from row_cases(torch, device, "bf16", bf16, 262144, 192)
    yield from row_cases(torch, device, "bf16", bf16, 65536, 768)
    yield from row_cases(torch, device, "f32", f32, 1048576, 96)
    yield from batch_norm_cases(torch, device, "f32", f32, 64, 256, 3136)
    yield cross_entropy_case(torch, device, "bf16", bf16, 32768, 50304)
    yield cross_entropy_case(torch, device, "f32", f32, 1048576, 10)
    yield dropout_case(torch, device, "f32", f32, 100)
    yield dropout_case(torch, device, "bf16", bf16, 100)
    yield embedding_case(torch, device, "bf16", bf16, 32768, 50304, 1024)
