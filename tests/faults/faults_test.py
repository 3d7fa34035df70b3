"""Runs that are disturbed again and again end with the same model as an undisturbed run, bit for bit.

Each attempt of a run meets one fault: a kill, a signal, a full disk, a failing write, fsync or
allocation, or a file that is damaged before it resumes. A run that cannot resume, hangs or ends with
other bytes is lost.

Usage: faults_test.py build/causeway build/libfail_calls.so [--seconds S] [--faults N] [--seed K]
"""

import argparse
import collections
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STEPS = 60
LIMIT = 60  # seconds for one attempt
PRETRAIN = [
    "pretrain", "--device", "cpu", "--threads", "1", "--prior", "mlp", "--rows", "16", "--features", "1:6",
    "--classes", "2:3", "--width", "16", "--heads", "2", "--hidden", "24", "--layers", "1", "--thinking", "2",
    "--batch", "4", "--seed", "5", "--warmup", "4",
]  # fmt: skip
GPT = [
    "gpt", "train", "--device", "cpu", "--threads", "1", "--width", "16", "--heads", "2", "--layers", "1",
    "--length", "16", "--batch", "4", "--seed", "5", "--sample-steps", "20", "--sample-tokens", "4",
]  # fmt: skip
RUN = ["--steps", str(STEPS), "--save-steps", "4", "--log-steps", "1", "--quiet"]
INTERRUPTED = 130


class Lost(Exception):
    """A run that did not survive a fault."""


class Run:
    """A run in a folder, and the undisturbed run that it must equal."""

    def __init__(self, program, library, folder, name, arguments):
        self.program, self.library, self.folder, self.name = program, library, folder, name
        self.arguments = [*arguments, *RUN]
        self.out = folder / name
        self.whole = folder / f"{name}-whole"
        self.log_is_damaged = False
        counts = folder / f"{name}.counts"
        start = time.monotonic()
        code, text = self.attempt(self.whole, {"COUNT_CALLS": str(counts)})
        self.seconds = time.monotonic() - start
        if code != 0:
            raise Lost(f"the undisturbed run of {name} failed: {text}")
        self.n_writes, self.n_syncs, self.n_allocations = map(int, counts.read_text().split())
        if min(self.n_writes, self.n_syncs, self.n_allocations) < STEPS:
            raise Lost(f"{library} does not see the calls of {program}: {counts.read_text()}")

    def command(self, out):
        return [self.program, *self.arguments, "--out", str(out), "--resume"]

    def start(self, out, environment):
        # The standard libraries come before an allocator that the program is linked with, so that all allocations reach
        # the library's malloc.
        preload = {"LD_PRELOAD": f"{self.library} libstdc++.so.6 libc.so.6"} if environment else {}
        return subprocess.Popen(
            self.command(out), env=os.environ | {"OMP_NUM_THREADS": "1"} | preload | environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip

    def attempt(self, out, environment=None, disturb=None):
        process = self.start(out, environment or {})
        if disturb is not None:
            disturb(process)
        try:
            text, _ = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
            raise Lost(f"{self.name} hung: {text}") from None
        return process.returncode, text

    def checkpoints(self):
        return sorted((self.out / "checkpoints").glob("step-*"))

    def newest_step(self):
        return max((int(path.name[5:]) for path in self.checkpoints()), default=0)

    def check_equal(self):
        """The model and every logged loss are those of the undisturbed run."""
        model = "model.safetensors"
        if (self.out / model).read_bytes() != (self.whole / model).read_bytes():
            raise Lost(f"{self.name} ended with another model")
        # Faults may cost lines of the log, and damage may change them. Training does not depend on them.
        if not self.log_is_damaged and not losses_of(self.out).items() <= losses_of(self.whole).items():
            raise Lost(f"{self.name} logged other losses")


def losses_of(folder):
    """By step. Lines that are not JSON are skipped: a damaged log keeps them."""
    losses = {}
    for line in (folder / "log.jsonl").read_text(errors="replace").splitlines():
        try:
            fields = json.loads(line)
            losses[fields["step"]] = fields["loss"]
        except (ValueError, KeyError, TypeError):
            continue
    return losses


def send(number, moment):
    """Sends a signal after `moment` seconds, unless the program has ended."""

    def disturb(process):
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.send_signal(number)

    return disturb


def damage(path, dice):
    """Truncates a file, flips a bit or overwrites a piece with zeros, or zeros with ones; says what was done."""
    content = bytearray(path.read_bytes())
    at = dice.randrange(len(content))
    kind = dice.choice(["truncated", "bit flipped", "overwritten"])
    if kind == "truncated":
        del content[at:]
    elif kind == "bit flipped":
        content[at] ^= 1 << dice.randrange(8)
    else:
        piece = content[at : at + 512]
        content[at : at + 512] = (b"\0" if any(piece) else b"\xff") * len(piece)
    path.write_bytes(content)
    return f"{kind} at byte {at}"


class Faults:
    """Draws faults and applies them to runs."""

    def __init__(self, seed):
        self.dice = random.Random(seed)
        self.counts = collections.Counter()

    def kill(self, run):
        moment = self.dice.uniform(0, run.seconds)
        return run.attempt(run.out, disturb=send(signal.SIGKILL, moment))

    def interrupt(self, run):
        number = self.dice.choice([signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
        code, text = run.attempt(run.out, disturb=send(number, self.dice.uniform(0, run.seconds)))
        step = re.search(r"interrupted at step (\d+)", text)
        if step is not None and (code != INTERRUPTED or run.newest_step() != int(step[1])):
            raise Lost(f"{run.name}: interrupted without a checkpoint of the last step: {text}")
        return code, text

    def full_disk(self, run):
        return run.attempt(run.out, {"FULL_DISK": str(self.dice.randint(1, run.n_writes))})

    def write(self, run):
        return run.attempt(run.out, {"FAIL_WRITE": str(self.dice.randint(1, run.n_writes))})

    def sync(self, run):
        return run.attempt(run.out, {"FAIL_SYNC": str(self.dice.randint(1, run.n_syncs))})

    def allocation(self, run):
        return run.attempt(run.out, {"FAIL_ALLOC": str(self.dice.randint(1, run.n_allocations))})

    def damaged_file(self, run):
        """Damages the newest checkpoint, if there is another, or a file outside the checkpoints."""
        steps = run.checkpoints()
        files = [path for path in run.out.glob("*") if path.is_file() and path.name != "config.json"]
        if len(steps) > 1:
            files += list(steps[-1].iterdir())
        files = sorted(path for path in files if path.stat().st_size > 0)
        if not files:
            return self.kill(run)
        path = self.dice.choice(files)
        done = damage(path, self.dice)
        run.log_is_damaged = run.log_is_damaged or path.name == "log.jsonl"
        code, text = run.attempt(run.out, disturb=send(signal.SIGKILL, self.dice.uniform(0, 2 * run.seconds)))
        # Only the end of a log can be recognised as damaged.
        is_checked = path.suffix == ".safetensors" or path.name == "manifest.json"
        if code == 0 and is_checked and path.name not in text:
            raise Lost(f"{run.name}: {path} was {done}, which nothing reported: {text}")
        return code, text

    def apply(self, run):
        kinds = [self.kill, self.interrupt, self.full_disk, self.write, self.sync, self.allocation, self.damaged_file]
        fault = self.dice.choice(kinds)
        before = run.newest_step()
        code, text = fault(run)
        if fault != self.damaged_file and run.newest_step() < before:
            raise Lost(f"{run.name}: {fault.__name__} lost the checkpoint of step {before}: {text}")
        self.counts[fault.__name__.replace("_", " ")] += 1
        return code


def survive(run, faults, goes_on):
    """Disturbs a run until it ends, then compares it. Returns the number of faults."""
    shutil.rmtree(run.out, ignore_errors=True)
    run.log_is_damaged = False
    n_faults = 0
    while goes_on():
        newest = run.newest_step()
        n_faults += 1
        if faults.apply(run) == 0 and run.newest_step() == STEPS:
            break
        if newest == STEPS and n_faults > 1:
            break
    code, text = run.attempt(run.out)
    if code != 0:
        raise Lost(f"{run.name} does not resume: {text}")
    run.check_equal()
    return n_faults


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("library")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--faults", type=int, default=0, help="this number of faults, however long it takes")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    end = time.monotonic() + given.seconds
    faults = Faults(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = random.Random(given.seed)
        text = folder / "text.txt"
        text.write_text(" ".join(words.choice(["red", "green", "blue", "one", "two"]) for _ in range(2000)))
        runs = [
            Run(given.program, given.library, folder, "pretrain", PRETRAIN),
            Run(given.program, given.library, folder, "gpt", [*GPT, "--data", str(text)]),
        ]
        n_faults = n_runs = 0

        def goes_on():
            total = sum(faults.counts.values())
            return total < given.faults if given.faults > 0 else time.monotonic() < end

        while goes_on():
            n_faults += survive(runs[n_runs % 2], faults, goes_on)
            n_runs += 1
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(faults.counts.items()))
    print(f"{n_faults} faults in {n_runs} runs, 0 runs lost, all models bit-identical ({kinds})")


if __name__ == "__main__":
    try:
        main()
    except Lost as problem:
        sys.exit(f"a run was lost: {problem}")
