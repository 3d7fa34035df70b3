"""What the kernel examples share: their options, and a timer that prints one line."""

import argparse
import time

import causeway as cw


def options(size):
    """--size and --device of an example."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=size)
    parser.add_argument("--device", default="cuda" if cw.cuda.is_available() else "cpu")
    return parser.parse_args()


def measure(name, launch, device, n_bytes=0, n_flops=0):
    """Prints the time of launch() at its best, and what it reaches by the bytes or operations given."""
    best = float("inf")
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        cw.synchronize(device)
        start = time.perf_counter()
        launch()
        cw.synchronize(device)
        best = min(best, time.perf_counter() - start)
    rates = [f"{n_bytes / best / 1e9:.1f} GB/s"] if n_bytes else []
    rates += [f"{n_flops / best / 1e9:.1f} GFLOP/s"] if n_flops else []
    print(f"{name:<24}{device:<8}{best * 1e3:10.3f} ms  {'  '.join(rates)}")
