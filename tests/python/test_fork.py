"""Processes made by fork() after the library was used: OpenMP's threads do not exist there."""

import multiprocessing
import os
import signal

import numpy as np
import pytest

import causeway as cw

LIMIT = 60  # seconds


@cw.kernel
def double(x: cw.array(dtype=float)):
    i = cw.tid()
    x[i] = 2.0 * x[i]


def product():
    x = cw.from_numpy(np.ones((200, 200), np.float32))
    return float((x @ x).numpy()[0, 0])


def prior():
    return float(np.nansum(cw.Prior("mlp", rows=64, seed=3).batch(4).x.numpy()))


def tokens():
    rows = np.random.default_rng(0).normal(size=(2000, 5)).astype(np.float32)
    return int(cw.Tokenizer(bins=16).fit(rows).transform(rows).astype(np.int64).sum())


def prediction():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 4))
    model = cw.TabularClassifier(n_estimators=1, device="cpu").fit(x, x[:, 0] > 0)
    return float(model.predict_proba(x)[:, 1].sum())


def launch():
    x = cw.from_numpy(np.ones(5000, np.float32))
    cw.launch(double, dim=5000, inputs=[x])
    return float(x.numpy().sum())


CALLS = [product, prior, tokens, prediction, launch]


def with_one_thread(call):
    """The result that a forked process computes: it has one thread, and products may round differently."""
    threads = cw.threads()
    cw.set_threads(1)
    try:
        return call()
    finally:
        cw.set_threads(threads)


def in_child(call):
    """The result of a call in a forked process; None if it did not end in time or failed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(LIMIT)
        try:
            os.write(writing, repr(call()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return float(text) if text else None


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_a_forked_process_computes_the_same(call):
    expected = call()  # starts threads
    assert in_child(call) == with_one_thread(call)
    assert call() == expected  # the parent still works


def test_multiprocessing():
    for call in CALLS:
        call()
    expected = [with_one_thread(call) for call in CALLS]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        results = [pool.apply_async(call) for call in CALLS]
        assert [result.get(timeout=LIMIT) for result in results] == expected
