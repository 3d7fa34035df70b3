"""Time per kernel of training on a GPU, as torch.profiler (CUPTI) sees it: also of kernels in CUDA graphs.

    python3 bench/kernel_times.py pretrain [--steps 96] [--set stages=0:240]...   the recipe of the packaged classifier
    python3 bench/kernel_times.py gpt [--steps 12] [--set batch=64]...            GPT-2 124M on random tokens

--set sets any setting of cw.pretrain or cw.gpt.train. The first half of the steps is not measured. Kernels of
several streams overlap: the sum of their times is more than the time in which at least one of them runs ("busy").
"""

import argparse
import json
import re
import struct
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy
import torch
from torch.profiler import ProfilerActivity, profile

import causeway as cw


class Window:
    """Profiles from the first log line after half of the steps to the end."""

    def __init__(self, steps):
        self.begin, self.end, self.profile, self.started = steps // 2, steps, None, 0

    def line(self, line):
        if self.profile is None and self.begin <= line["step"] < self.end:
            self.profile = profile(activities=[ProfilerActivity.CUDA])
            self.profile.__enter__()
            self.started = line["step"]

    def finish(self):
        torch.cuda.synchronize()
        self.profile.__exit__(None, None, None)
        return self.profile, self.end - self.started


def train_tabular(given, window):
    class Lines(cw.callbacks.Callback):
        def on_step(self, line):
            window.line(line)

    settings = {"recipe": "classifier", "log_steps": 8, "steps": given.steps, **dict(given.set)}
    cw.pretrain(device="cuda", callbacks=[Lines()], **settings)


def train_gpt(given, window):
    tokens = numpy.random.default_rng(1).integers(0, 50257, 4_000_000).astype(numpy.uint16)
    with tempfile.TemporaryDirectory() as folder:
        shard = Path(folder) / "tokens.bin"
        header = struct.pack("<3i", 20240520, 1, len(tokens)) + bytes(1024 - 12)
        shard.write_bytes(header + tokens.tobytes())
        # Nothing is held out, so that there is no evaluation at the end.
        settings = {"preset": "gpt2", "log_steps": 2, "steps": given.steps, "batch": 64, "validation": 0}
        settings.update(given.set)
        cw.gpt.train(shard, device="cuda", callback=window.line, **settings)


def short_name(name):
    """The name of a kernel without return type, our namespaces, template and function arguments."""
    name = name.removeprefix("void ").replace("(anonymous namespace)::", "").replace("causeway::kernels::cuda::", "")
    return re.sub(r"[<(].*", "", name).strip()


def busy_time(spans):
    """The length of the union of (begin, end)."""
    total, until = 0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def report(found, steps):
    spans = defaultdict(list)
    for event in found.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            spans[short_name(event.name)].append((event.time_range.start, event.time_range.end))
    every = [span for of_name in spans.values() for span in of_name]
    wall = max(end for _, end in every) - min(begin for begin, _ in every)
    times = {name: sum(end - begin for begin, end in of_name) for name, of_name in spans.items()}
    total, busy = sum(times.values()), busy_time(every)
    print(
        f"{steps} steps: {wall / steps / 1000:.3f} ms per step, busy {busy / steps / 1000:.3f} ms, "
        f"sum of kernels {total / steps / 1000:.3f} ms"
    )
    for name, time in sorted(times.items(), key=lambda item: -item[1])[:40]:
        count = len(spans[name]) / steps
        print(f"{time / total:6.1%} {time / steps:10.1f} us {count:8.1f} per step  {name[:110]}")


def setting(text):
    """NAME=VALUE as a pair; numbers, true and false become values of Python."""
    name, value = text.split("=", 1)
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("pretrain", "gpt"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--set", action="append", default=[], type=setting)
    given = parser.parse_args()
    given.steps = given.steps or {"pretrain": 96, "gpt": 12}[given.what]
    torch.cuda.init()
    window = Window(given.steps)
    {"pretrain": train_tabular, "gpt": train_gpt}[given.what](given, window)
    report(*window.finish())


if __name__ == "__main__":
    main()
