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
