"""Estimates training over many GPUs from the rates measured on one (bench/results/NVIDIA-H200.json) and a model
of the network.

    python3 bench/scale.py [--network-bandwidth 40] [--jitter 0.01] [--failure-hours 50000] [--json]

- A step takes the measured time of one GPU, plus the part of the gradients' all-reduce that the backward pass, two
  thirds of the step, does not hide: the last bucket, and what is longer than the backward pass.
- An all-reduce of B bytes over n ranks moves 2 B (n - 1) / n bytes over the slowest link, NVLink inside a machine or
  the network between machines, and takes 2 log2(n) latencies, as a tree does.
- Ranks wait for the slowest: with a standard deviation of `jitter` of the step, sqrt(2 ln n) of it.
- A rank fails every `failure-hours` on average, which ends the run for all. It restarts from the last checkpoint; the
  time between checkpoints is the one that loses least.
- The batch per GPU stays the same, so the batch of all ranks grows with them.
"""

import argparse
import json
import math
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
N_GPUS = (1, 8, 1000, 100_000)
GPUS_PER_NODE = 8
BUCKET_BYTES = 32 << 20
BACKWARD_SHARE = 2 / 3
# Suite, case, label, batch per GPU, unit, units per step, steps that were measured, parameters.
WORKLOADS = [
    ("pretrain", "pretrain 64,1024,20 width 256 layers 5, 1024 datasets", "tabular, 64 of 1024 x 20", 64,
     "datasets", 64, 16, 4.8e6),
    ("gpt", "train gpt2 64x1024", "GPT-2 124M", 64, "tokens", 64 * 1024, 1, 124e6),
    ("gpt", "train gpt2-xl 32x1024, recompute mlp", "GPT-2 XL", 32, "tokens", 32 * 1024, 1, 1.56e9),
]  # fmt: skip


def all_reduce_seconds(n_bytes, n_ranks, model):
    """The time of one all-reduce in a ring over the slowest link."""
    if n_ranks == 1:
        return 0.0
    bandwidth = model.node_bandwidth if n_ranks <= GPUS_PER_NODE else model.network_bandwidth
    moved = 2 * n_bytes * (n_ranks - 1) / n_ranks
    return moved / (bandwidth * 1e9) + 2 * math.log2(n_ranks) * model.latency * 1e-6


def step_seconds(alone, gradient_bytes, n_ranks, model):
    """A step of one GPU, the wait for the slowest rank, and the part of the all-reduce that is not hidden."""
    whole = all_reduce_seconds(gradient_bytes, n_ranks, model)
    last = all_reduce_seconds(min(BUCKET_BYTES, gradient_bytes), n_ranks, model)
    slowest = alone * (1 + model.jitter * math.sqrt(2 * math.log(n_ranks)))
    return slowest + last + max(0.0, whole - last - BACKWARD_SHARE * alone)


def available(n_ranks, model):
    """The share of the time that is not lost to failures and checkpoints."""
    between = 3600 * model.failure_hours / n_ranks
    interval = math.sqrt(2 * model.checkpoint_seconds * between)
    lost = model.checkpoint_seconds / interval + (interval / 2 + model.restart_seconds) / between
    return max(0.0, 1 - lost)


def estimates(model):
    results = json.loads((ROOT / "bench" / "results" / "NVIDIA-H200.json").read_text())
    for suite, name, label, batch, unit, amount, n_steps, n_parameters in WORKLOADS:
        case = next(case for case in results[suite]["cases"] if case["name"] == name)
        alone = case["ms"] / 1e3 / n_steps
        for n_gpus in N_GPUS:
            seconds = step_seconds(alone, 4 * n_parameters, n_gpus, model)
            efficiency = available(n_gpus, model) * alone / seconds
            yield {"workload": label, "gpus": n_gpus, "batch": n_gpus * batch, "unit": unit,
                   "step_ms": 1e3 * seconds, "efficiency": efficiency,
                   "per_second": n_gpus * amount / alone * efficiency}


def rounded(value):
    """Three digits: 3532881 to "3,530,000"."""
    return f"{round(value, 2 - math.floor(math.log10(value))):,.0f}" if value else "0"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--node-bandwidth", type=float, default=360, help="GB/s per GPU inside a machine")
    parser.add_argument("--network-bandwidth", type=float, default=40, help="GB/s per GPU between machines")
    parser.add_argument("--latency", type=float, default=10, help="microseconds per hop")
    parser.add_argument("--jitter", type=float, default=0.01, help="deviation of a rank's step, as a share of it")
    parser.add_argument("--failure-hours", type=float, default=50_000, help="mean time to failure of one GPU")
    parser.add_argument("--restart-seconds", type=float, default=300, help="from a failure to the next step")
    parser.add_argument("--checkpoint-seconds", type=float, default=5, help="that a checkpoint stops the run")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    rows = list(estimates(given))
    if given.json:
        print(json.dumps(rows, indent=1))
        return
    print("| training | GPUs | batch | rate | efficiency |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row['workload']} | {row['gpus']:,} | {row['batch']:,} | "
              f"{rounded(row['per_second'])} {row['unit']}/s | {row['efficiency']:.0%} |")


if __name__ == "__main__":
    main()
