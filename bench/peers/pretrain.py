"""The training steps of `causeway-bench pretrain` in PyTorch: nanoTabPFN's architecture in plain modules,
bf16 autocast on a GPU, AdamW with gradient clipping.

    python3 bench/peers/pretrain.py torch-cuda|torch-compile|torch-cpu [--threads N]

Prints one JSON object, as ops.py does, with times and peak device memory. The data are random tensors on
the device, while the time of causeway includes the generation of datasets.
"""

import argparse
import json
import sys

from ops import measure_cuda, measure_host

# (batch, rows, features, width, layers, steps of a run on a GPU), as in bench/pretrain.cpp.
CASES = [(32, 150, 5, 96, 3, 64), (32, 1000, 11, 96, 3, 64), (2, 1000, 11, 256, 5, 64),
         (64, 1024, 20, 256, 5, 16)]
HEADS, CLASSES, CONTEXT_FRACTION = 4, 2, 0.6


def modules(torch):
    """The model's classes, defined after torch is imported."""
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):
        """Every token of `x` (batch, tokens, width) attends to the first n_context tokens."""

        def __init__(self, width):
            super().__init__()
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x, n_context):
            batch, tokens, width = x.shape
            split = self.qkv(x).view(batch, tokens, 3, HEADS, width // HEADS)
            q, k, v = split.permute(2, 0, 3, 1, 4)
            mixed = functional.scaled_dot_product_attention(q, k[:, :, :n_context], v[:, :, :n_context])
            return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.columns, self.rows = Attention(width), Attention(width)
            self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                     nn.Linear(2 * width, width))
            self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))

        def forward(self, x, n_context):
            tables, rows, columns, width = x.shape
            flat = x.reshape(tables * rows, columns, width)
            flat = self.norms[0](flat + self.columns(flat, columns))
            turned = flat.view(tables, rows, columns, width).transpose(1, 2)
            turned = turned.reshape(tables * columns, rows, width)
            turned = self.norms[1](turned + self.rows(turned, n_context))
            x = turned.view(tables, columns, rows, width).transpose(1, 2)
            return self.norms[2](x + self.mlp(x))

    class Model(nn.Module):
        def __init__(self, width, layers):
            super().__init__()
            self.feature, self.target = nn.Linear(1, width), nn.Linear(1, width)
            self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
            self.decoder = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(),
                                         nn.Linear(2 * width, CLASSES))

        def forward(self, x, y, n_context):
            """The loss of the query rows, those from n_context on, of x (tables, rows, features)."""
            seen = x[:, :n_context]
            mean, deviation = seen.mean(1, keepdim=True), seen.std(1, keepdim=True)
            x = ((x - mean) / (deviation + 1e-20)).clamp(-100, 100)
            shown = y[:, :n_context].float()
            unknown = shown.mean(1, keepdim=True).expand(-1, y.shape[1] - n_context)
            target = self.target(torch.cat([shown, unknown], 1)[..., None, None])
            tokens = torch.cat([self.feature(x[..., None]), target], 2)
            for block in self.blocks:
                tokens = block(tokens, n_context)
            logits = self.decoder(tokens[:, n_context:, -1])
            return functional.cross_entropy(logits.flatten(0, 1).float(), y[:, n_context:].flatten())

    return Model


def steps_of(torch, case, device, compiled):
    """A function that runs the steps of one case."""
    batch, rows, features, width, layers, steps = case
    if device == "cpu":
        steps = 4
    model = modules(torch)(width, layers).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=device == "cuda")
    loss_of = torch.compile(model) if compiled else model
    x = torch.randn(batch, rows, features, device=device)
    y = torch.randint(CLASSES, (batch, rows), device=device)
    n_context = int(CONTEXT_FRACTION * rows)

    def run():
        for _ in range(steps):
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                loss = loss_of(x, y, n_context)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return loss

    name = f"pretrain {batch},{rows},{features} width {width} layers {layers}"
    return f"{name}, {batch * steps} datasets", run


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["torch-cuda", "torch-compile", "torch-cpu"])
    parser.add_argument("--threads", type=int)
    arguments = parser.parse_args()
    import torch

    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = "cpu" if arguments.peer == "torch-cpu" else "cuda"
    compiled = arguments.peer == "torch-compile"
    torch.set_float32_matmul_precision("high")
    cases = []
    chosen = CASES[:2] if compiled else CASES  # compiling takes longer than measuring
    for case in chosen if device == "cuda" else CASES[:1]:
        name, run = steps_of(torch, case, device, compiled)
        if device == "cpu":
            cases.append({"name": name, "ms": measure_host(run)})
            continue
        try:
            run()
            torch.cuda.reset_peak_memory_stats()
            ms = measure_cuda(torch, run, least=3)  # a run takes seconds
            cases.append({"name": name, "ms": ms,
                          "peak_gib": torch.cuda.max_memory_reserved() / 2**30})
        except RuntimeError as problem:  # includes out of memory
            print(f"{name}: {str(problem).splitlines()[0]}", file=sys.stderr)
        del run
        torch.cuda.empty_cache()
    version = f"PyTorch {torch.__version__}" + (" compile" if compiled else "")
    json.dump({"peer": version, "cases": cases}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
