"""bench/scale.py: the estimates of one GPU are the measurements, and those of many follow from the assumptions."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def estimates(*options):
    command = [sys.executable, ROOT / "bench" / "scale.py", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def test_one_gpu_is_measured():
    results = json.loads((ROOT / "bench" / "results" / "NVIDIA-H200.json").read_text())
    case = next(case for case in results["gpt"]["cases"] if case["name"] == "train gpt2 64x1024")
    row = next(row for row in estimates("--failure-hours", "1e12")
               if row["workload"] == "GPT-2 124M" and row["gpus"] == 1)
    assert row["per_second"] == pytest.approx(64 * 1024 / (case["ms"] / 1e3), rel=1e-4)


def test_ideal_machines_scale_perfectly():
    ideal = ["--network-bandwidth", "1e12", "--node-bandwidth", "1e12", "--latency", "0", "--jitter", "0",
             "--failure-hours", "1e15"]
    assert all(row["efficiency"] == pytest.approx(1, abs=1e-3) for row in estimates(*ideal))


@pytest.mark.parametrize("option", ["--network-bandwidth=0.5", "--jitter=0.05", "--failure-hours=5000"])
def test_worse_machines_lose_more(option):
    usual, worse = estimates(), estimates(option)
    for a, b in zip(usual, worse):
        assert b["efficiency"] <= a["efficiency"] + 1e-12
        if a["gpus"] == 1000 and (a["workload"] == "GPT-2 XL" or "bandwidth" not in option):
            assert b["efficiency"] < 0.97 * a["efficiency"]
