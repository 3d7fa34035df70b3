"""Time per kernel of training on a GPU, as torch.profiler (CUPTI) sees it: also of kernels in CUDA graphs.

    python3 bench/kernel_times.py pretrain [--steps 96] [--set stages=0:240]...   the recipe of the packaged classifier
    python3 bench/kernel_times.py gpt [--steps 12] [--set batch=64]...            GPT-2 124M on random tokens

--set sets any setting of cw.pretrain or cw.gpt.train. The first half of the steps is not measured.
"""

import argparse
import re
import struct
import tempfile
from collections import Counter
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
        settings = {"preset": "gpt2", "log_steps": 2, "steps": given.steps, "batch": 64, **dict(given.set)}
        cw.gpt.train(shard, device="cuda", callback=window.line, **settings)


def report(found, steps):
    times, counts = Counter(), Counter()
    begin, end = float("inf"), 0
    for event in found.events():
        if event.device_type != torch.autograd.DeviceType.CUDA:
            continue
        name = re.sub(r"<.*|\(.*", "", event.name.replace("causeway::kernels::cuda::", "").removeprefix("void "))
        times[name] += event.time_range.elapsed_us()
        counts[name] += 1
        begin, end = min(begin, event.time_range.start), max(end, event.time_range.end)
    total = sum(times.values())
    print(f"{steps} steps: {(end - begin) / steps / 1000:.3f} ms per step, kernels {total / steps / 1000:.3f} ms")
    for name, time in times.most_common(40):
        print(f"{time / total:6.1%} {time / steps:10.1f} us {counts[name] / steps:8.1f} per step  {name[:110]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("pretrain", "gpt"))
    parser.add_argument("--steps", type=int)
    parser.add_argument("--set", action="append", default=[], type=lambda text: text.split("=", 1))
    given = parser.parse_args()
    given.steps = given.steps or {"pretrain": 96, "gpt": 12}[given.what]
    torch.cuda.init()
    window = Window(given.steps)
    {"pretrain": train_tabular, "gpt": train_gpt}[given.what](given, window)
    report(*window.finish())


if __name__ == "__main__":
    main()
