"""The cases of `causeway-bench gpt` in PyTorch: GPT-2 in plain modules, flash attention, fused AdamW with
gradient clipping; generation with a static key-value cache.

    python3 bench/peers/gpt.py torch-cuda|torch-compile|torch-cpu [--threads N] [--cases TEXT]

Prints one JSON object, as ops.py does, with times and peak device memory. Weights are f32 with bf16 autocast
for training on a GPU, and bf16 for generation there.
"""

import argparse
import json
import sys
import time

from ops import measure_cuda, measure_host

# width, layers, heads, length, vocabulary
PRESETS = {"gpt2": (768, 12, 12, 1024, 50257), "gpt2-xl": (1600, 48, 25, 1024, 50257),
           "bytes": (128, 5, 4, 256, 257)}
TRAINING = {"cuda": [("gpt2", 64), ("gpt2", 16), ("gpt2-xl", 8)], "cpu": [("bytes", 16)]}
GENERATION = {"cuda": [("gpt2", 1), ("gpt2", 8), ("gpt2", 64)], "cpu": [("bytes", 1), ("gpt2", 1)]}


def modules(torch):
    """The model's class, defined after torch is imported."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.heads = heads
            self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU("tanh"), nn.Linear(4 * width, width))

        def forward(self, x, cache=None, position=None, mask=None):
            batch, length, width = x.shape
            q, k, v = self.qkv(self.norm_1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            if cache is not None:
                keys, values = cache
                keys.index_copy_(2, position, k)
                values.index_copy_(2, position, v)
                k, v = keys, values
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=cache is None)
            x = x + self.projection(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.mlp(self.norm_2(x))

    class Gpt(nn.Module):
        def __init__(self, width, layers, heads, length, vocabulary):
            super().__init__()
            self.embedding = nn.Embedding((vocabulary + 63) // 64 * 64, width)
            self.positions = nn.Embedding(length, width)
            self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
            self.norm = nn.LayerNorm(width)

        def loss(self, tokens, targets):
            x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.head_loss(x, targets)

        def head_loss(self, x, targets):
            logits = functional.linear(self.norm(x), self.embedding.weight)
            return functional.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())

        def step(self, tokens, position, mask, caches):
            """The next tokens (batch, 1), drawn at temperature 1."""
            x = self.embedding(tokens) + self.positions(position)
            for block, cache in zip(self.blocks, caches):
                x = block(x, cache, position, mask[position][None, None])
            logits = functional.linear(self.norm(x[:, -1]), self.embedding.weight).float()
            noise = torch.empty_like(logits).exponential_()
            return (torch.softmax(logits, -1) / noise).argmax(-1, keepdim=True)

    return Gpt


def training_case(torch, preset, batch, device, compiled):
    width, layers, heads, length, vocabulary = PRESETS[preset]
    model = modules(torch)(width, layers, heads, length, vocabulary).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device == "cuda")
    loss_of = model.loss
    if compiled and layers <= 12:
        loss_of = torch.compile(model.loss)
    elif compiled:  # all 48 layers at once would compile for minutes; compiled code of one serves all
        for block in model.blocks:
            block.compile()
        model.head_loss = torch.compile(model.head_loss)
    tokens = torch.randint(vocabulary, (batch, length), device=device)

    def run():
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(tokens, tokens)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return f"train {preset} {batch}x{length}", run


def generation_ms(torch, preset, batch, device, compiled):
    """The time of a step, from a run of many."""
    width, layers, heads, length, vocabulary = PRESETS[preset]
    model = modules(torch)(width, layers, heads, length, vocabulary).to(device).eval()
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    model.to(dtype)
    shape = (batch, heads, length, width // heads)
    caches = [[torch.zeros(shape, device=device, dtype=dtype) for _ in range(2)] for _ in range(layers)]
    if compiled:  # without it, no CUDA graph is recorded: a step changes its inputs
        for cache in caches:
            for tensor in cache:
                torch._dynamo.mark_static_address(tensor)
    mask = torch.ones(length, length, dtype=torch.bool, device=device).tril()
    step = torch.compile(model.step, mode="reduce-overhead", fullgraph=True) if compiled else model.step
    steps = 512 if device == "cuda" else 32
    steps = min(steps, length - 4)
    positions = torch.arange(steps, device=device)

    def run():
        tokens = torch.ones(batch, 1, dtype=torch.long, device=device)
        for i in range(steps):
            tokens = step(tokens, positions[i : i + 1], mask, caches).clone()
        return tokens.cpu()

    with torch.no_grad():
        run()
        start = time.perf_counter()
        run()
    return (time.perf_counter() - start) / steps * 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch-cuda", "torch-compile", "torch-cpu"])
    parser.add_argument("--threads", type=int)
    parser.add_argument("--cases", default="", help="run only cases whose name contains this text")
    arguments = parser.parse_args()
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = "cpu" if arguments.peer == "torch-cpu" else "cuda"
    compiled = arguments.peer == "torch-compile"
    torch.set_float32_matmul_precision("high")
    cases = []
    for preset, batch in GENERATION[device]:
        name = f"generate {preset} batch {batch}, per step"
        if arguments.cases not in name:
            continue
        cases.append({"name": name, "ms": generation_ms(torch, preset, batch, device, compiled)})
    for preset, batch in TRAINING[device]:
        if arguments.cases not in f"train {preset} {batch}x":
            continue
        name, run = training_case(torch, preset, batch, device, compiled)
        if device == "cpu":
            cases.append({"name": name, "ms": measure_host(run)})
            continue
        try:
            run()
            torch.cuda.reset_peak_memory_stats()
            cases.append({"name": name, "ms": measure_cuda(torch, run, least=3),
                          "peak_gib": torch.cuda.max_memory_reserved() / 2**30})
        except RuntimeError as problem:  # includes out of memory
            print(f"{name}: {str(problem).splitlines()[0]}", file=sys.stderr)
        del run
        torch.cuda.empty_cache()
    version = f"PyTorch {torch.__version__}" + (" compile" if compiled else "")
    json.dump({"peer": version, "cases": cases}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
