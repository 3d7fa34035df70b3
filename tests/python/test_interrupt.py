"""Ctrl-C during long calls: they end within two seconds, and objects stay usable."""

import signal
import subprocess
import sys
import threading
import time

import causeway as cw
import numpy as np
import pytest

LONG_PREDICTION = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
import causeway as cw
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(4000, 40))
model = cw.TabularClassifier(device="cpu").fit(x, (x[:, 0] > 0).astype(int))
print("started", flush=True)
began = time.monotonic()
try:
    model.predict_proba(x)
    print("finished")
except KeyboardInterrupt:
    print(f"interrupted {time.monotonic() - began:.3f}")
small = cw.TabularClassifier(device="cpu").fit(x[:50], (x[:50, 0] > 0).astype(int))
print(small.predict_proba(x[:3]).shape)
"""


def test_predict_is_interrupted():
    pytest.importorskip("sklearn")
    process = subprocess.Popen([sys.executable, "-c", LONG_PREDICTION], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "started\n", process.stderr.read()
    time.sleep(1.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    line = process.stdout.readline()
    waited = time.monotonic() - sent
    out, err = process.communicate(timeout=60)
    assert line.startswith("interrupted"), (line, err)
    assert waited < 2, waited
    assert out == "(3, 2)\n" and process.returncode == 0, err


def test_other_threads_are_not_interrupted():
    """A prediction outside the main thread leaves Python's handling of signals alone."""
    pytest.importorskip("sklearn")
    x = np.random.default_rng(0).normal(size=(60, 3))
    model = cw.TabularClassifier(device="cpu", n_estimators=1).fit(x, (x[:, 0] > 0).astype(int))
    before = signal.getsignal(signal.SIGINT)
    found = []
    thread = threading.Thread(target=lambda: found.append(model.predict_proba(x).shape))
    thread.start()
    thread.join()
    assert found == [(60, 2)] and signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("where", ["batches", "family", "model", "evaluate"])
def test_a_run_ends_after_the_step_if_ctrl_c_comes_in_users_code(where, tmp_path):
    """The signal raises nothing there, although the code calls the library; a checkpoint is saved."""
    calls = []

    def interrupt_at(n):
        calls.append(where)
        if len(calls) == n:
            signal.raise_signal(signal.SIGINT)
        assert cw.ones((64, 64)).matmul(cw.ones((64, 64))).sum().item() == 64**3

    class Mean(cw.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = cw.nn.Linear(2, 2)

        def forward(self, x, y, n_context):
            if where == "model":
                interrupt_at(3)
            return self.weight(x[:, n_context:])

    def family(rng, rows, features, classes):
        if where == "family":
            interrupt_at(40)  # in the third window
        x = rng.normal(size=(rows, features))
        return x, x[:, 0] > 0

    def batches():
        for k in range(1000):
            if where == "batches":
                interrupt_at(4)
            x = np.random.default_rng(k).normal(size=(4, 20, 2))
            yield x, (x[:, :, 0] > 0), 10

    options = {"classes": 2, "steps": 1000, "log_steps": 1, "device": "cpu", "out": tmp_path, "model": Mean()}
    if where == "evaluate":
        options |= {"evaluate": lambda model: interrupt_at(2) or 0.0, "evaluate_steps": 2}
    if where == "batches":
        options |= {"batches": batches()}
    else:
        options |= {"prior": family, "rows": 20, "features": 2, "batch": 4, "train_share": 0.5}
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        done = cw.pretrain(**options)
    finally:
        signal.signal(signal.SIGINT, before)
    assert done.interrupted and 0 < done.log[-1]["step"] < 30
    last = done.log[-1]["step"]
    assert (tmp_path / "checkpoints" / f"step-{last:08}" / "manifest.json").exists()
