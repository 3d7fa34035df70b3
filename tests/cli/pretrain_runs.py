"""Shared by the tests of `causeway pretrain`: small runs and readers of their folders."""

import array
import json
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "dist"))
from ranks_test import clean_environment, free_port  # noqa: E402

PROGRAM = ""  # set by the tests
MPIRUN = ""
LIMIT = 60  # seconds for a run that goes well
END = 30  # seconds within which ranks end that have lost another
# Milliseconds a step. Widths differ from batch to batch; windows have four steps on the CPU.
SMALL = {
    "device": "cpu", "threads": 1, "prior": "mlp", "rows": 16, "features": "1:6", "classes": "2:3",
    "width": 16, "heads": 2, "hidden": 24, "layers": 1, "thinking": 2, "batch": 4, "seed": 5,
    "log-steps": 1, "warmup": 4,
}  # fmt: skip


def command(**options):
    """The arguments of a small run with some options replaced or added; True for a flag, None for
    nothing."""
    options = SMALL | {name.replace("_", "-"): value for name, value in options.items()}
    words = ["pretrain"]
    for name, value in options.items():
        if value is not None:
            words += ["--" + name] if value is True else ["--" + name, str(value)]
    return words


def start(arguments, environment=None, **more):
    return subprocess.Popen(
        [PROGRAM, *arguments], env=environment or clean_environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more
    )  # fmt: skip


def finish(process, limit=LIMIT):
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        err += "\nkilled by the test: it did not end"
    return process.returncode, out, err


def pretrain(**options):
    return finish(start(command(**options)))


def log_of(folder):
    return [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]


def losses_of(folder):
    return {line["step"]: line["loss"] for line in log_of(folder)}


def steps_of(folder):
    return sorted(int(path.name[5:]) for path in (folder / "checkpoints").glob("step-*"))


def model_of(folder, step):
    return (folder / "checkpoints" / f"step-{step:08}" / "model.safetensors").read_bytes()


def numbers_of(model):
    """The numbers of a model's file by tensor, without the biases of attention's keys: these shift
    all scores of a softmax alike, so their gradient is nothing but rounding, which AdamW scales up.
    """
    (size,) = struct.unpack("<Q", model[:8])
    numbers = {}
    for name, tensor in json.loads(model[8 : 8 + size]).items():
        if name == "__metadata__":
            continue
        first, end = tensor["data_offsets"]
        values = array.array("f", model[8 + size + first : 8 + size + end]).tolist()
        if name.endswith("qkv.bias"):  # (heads, 3, size)
            share = SMALL["width"] // SMALL["heads"]
            values = [value for i, value in enumerate(values) if i // share % 3 != 1]
        numbers[name] = values
    return numbers


def wait_until(holds, limit=END):
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            raise AssertionError("it did not come to that in time")
        time.sleep(0.01)


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def train(self, name, **options):
        """A run that goes well; its folder."""
        folder = self.folder / name
        code, _, err = pretrain(out=folder, **options)
        self.assertEqual(code, 0, err)
        return folder


def main():
    """Takes the program's path and mpirun's from the command line, the rest is unittest's."""
    global PROGRAM, MPIRUN
    PROGRAM = sys.argv.pop(1)
    if "--mpirun" in sys.argv:
        at = sys.argv.index("--mpirun")
        MPIRUN = sys.argv[at + 1]
        del sys.argv[at : at + 2]
    unittest.main()
