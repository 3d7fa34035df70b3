"""Priors and Python threads."""

import threading
import time

import causeway as cw


def test_other_threads_run_concurrently():
    """Generation holds no lock of Python's."""
    prior = cw.Prior("graph", rows=512, features=(20, 40), classes=2, seed=1)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    prior.batch(6)
    end = time.perf_counter()
    done.set()
    thread.join()
    assert sum(begin < t < end for t in ticks) > (end - begin) / 0.1


def test_threads_may_share_a_prior():
    prior = cw.Prior("mlp", rows=100, features=(1, 8), classes=(2, 4), seed=3)
    expected = prior.batch(8).hashes()
    found = [None] * 4

    def work(slot):
        found[slot] = prior.batch(8, first=0).hashes()

    threads = [threading.Thread(target=work, args=(slot,)) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(hashes == expected for hashes in found)
