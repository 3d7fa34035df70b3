"""Devices, memory, threads, streams, graphs and the profiler."""

import gc
import json
import threading
import xml.etree.ElementTree

import causeway as cw
import numpy as np
import pytest
from oracle import check


def test_devices():
    cpu, *others = cw.devices()
    assert cpu["device"] == "cpu"
    assert cpu["name"] and cpu["memory_total"] > cpu["memory_free"] > 0
    assert cpu["multiprocessors"] >= 1
    for index, entry in enumerate(others):
        assert entry["device"] == f"cuda:{index}"
        assert entry["capability"] >= (7, 0)
        assert entry["peak_bandwidth"] > 1e11 and entry["l2_bytes"] > 0
    assert cw.cuda.device_count() == len(others)
    assert cw.cuda.is_available() == bool(others)
    assert bool(cw.cuda.absence()) != bool(others)
    assert isinstance(cw.cuda.runtime_version(), str)
    assert isinstance(cw.cuda.driver_version(), str)


def test_auto_is_the_best_device():
    expected = "cuda:0" if cw.cuda.is_available() else "cpu"
    assert cw.zeros(1, device="auto").device == expected


def test_memory_statistics(device):
    gc.collect()
    cw.reset_peak_memory(device)
    before = cw.memory_stats(device)
    x = cw.zeros(1 << 20, "u8", device)
    during = cw.memory_stats(device)
    assert during["current"] - before["current"] == 1 << 20
    assert during["allocations"] == before["allocations"] + 1
    del x
    after = cw.memory_stats(device)
    assert after["current"] == before["current"]
    assert after["frees"] == before["frees"] + 1
    assert after["peak"] - before["current"] == 1 << 20
    assert after["cached"] >= 1 << 20
    assert after["corrupted"] == 0
    assert {"limit", "segments", "upstream_allocations", "recoveries"} <= set(after)


def test_memory_is_reused(device):
    cw.synchronize(device)
    x = cw.zeros(100003, device=device)
    address, before = x.data_ptr, cw.memory_stats(device)["upstream_allocations"]
    del x
    y = cw.zeros(100003, device=device)
    assert y.data_ptr == address
    assert cw.memory_stats(device)["upstream_allocations"] == before


def test_release_cached_memory(device):
    cw.zeros(64 << 20, "u8", device)
    assert cw.memory_stats(device)["cached"] >= 64 << 20
    cw.release_cached_memory(device)
    assert cw.memory_stats(device)["cached"] < 64 << 20


def test_memory_scopes_nest(device):
    with cw.memory_scope("outer"):
        x = cw.zeros(1000, device=device)
        with cw.memory_scope("inner"):
            y = cw.zeros(5000, device=device)
        z = cw.zeros(1000, device=device)
    names = cw.memory_stats(device)["by_name"]
    assert names["outer"]["current"] == 2 * 4096
    assert names["inner"]["current"] == 20480
    assert names["outer"]["allocations"] >= 2
    del x, y, z
    assert cw.memory_stats(device)["by_name"]["outer"]["current"] == 0


def test_memory_limit(device):
    gc.collect()
    cw.release_cached_memory(device)
    held = cw.memory_stats(device)
    limit = held["current"] + held["cached"] + (64 << 20)
    try:
        cw.set_memory_limit(limit, device)
        assert cw.memory_stats(device)["limit"] == limit
        with cw.memory_scope("too much"):
            with pytest.raises(cw.OutOfMemory, match="limit") as caught:
                cw.zeros(256 << 20, "u8", device)
        message = str(caught.value)
        assert "256.0 MiB" in message and '"too much"' in message and device in message
        assert isinstance(caught.value, MemoryError)
        check(cw.ones(33, device=device) + 1, np.full(33, 2))
        cw.set_memory_limit("3 GiB", device)
        assert cw.memory_stats(device)["limit"] == 3 << 30
    finally:
        cw.set_memory_limit(0, device)
    assert cw.zeros(256 << 20, "u8", device).size == 256 << 20


def work(device):
    """Most kinds of operation, one after the other."""
    generator = cw.Generator(1)
    x = generator.normal((33, 65), device=device)
    y = (x @ x.T).contiguous() / 65
    z = cw.concatenate([y.sort(axis=-1), y.argsort().to("f32")])
    z[1:] = z[:-1]
    z += x[:, :33].expand(2, 33, 33).reshape(66, 33)
    s = cw.where(z > 0, z, -z).T.sum(axis=0).cumsum()
    u = x[[1, 2]].pad(1).var() + cw.stack(x.split(11)).mean(axis=(0, 1)).max()
    index = generator.permutation(33, device).unsqueeze(1).expand(33, 33)
    v = y.scatter_add(index, y, axis=0).gather(index, axis=0).topk(3)[0]
    return (s.mean() + u + v.argmax().to("f32") + x.to("bf16").exp().to("f32").std()).item()


def test_every_failed_allocation_leaves_all_in_order(device):
    expected = work(device)
    gc.collect()
    before = cw.memory_stats(device)["current"]
    failures = 0
    for n in range(1, 1000):
        cw.testing.fail_nth_allocation(n, device)
        try:
            result = work(device)
        except cw.OutOfMemory as error:
            assert "failure injected" in str(error)
            failures += 1
        else:
            cw.testing.fail_nth_allocation(0, device)
            break
        assert cw.memory_stats(device)["current"] == before
        if n % 10 == 0:
            assert work(device) == expected
    assert failures > 30
    assert result == expected
    assert cw.memory_stats(device)["current"] == before


def test_guarded_memory_finds_nothing(device):
    try:
        cw.testing.set_guarded_memory(True, device)
        work(device)
        assert np.isnan(cw.empty(33, device=device).numpy()).all()
    finally:
        cw.testing.set_guarded_memory(False, device)
    assert cw.memory_stats(device)["corrupted"] == 0


def test_threads():
    before = cw.threads()
    try:
        cw.set_threads(3)
        assert cw.threads() == 3
        with pytest.raises(cw.InvalidArgument, match=r"\[threads\].*1 or more, got 0"):
            cw.set_threads(0)
    finally:
        cw.set_threads(before)


def test_python_threads_run_concurrently(device):
    expected, results, errors = work(device), [], []

    def run():
        try:
            results.extend(work(device) for _ in range(5))
        except Exception as error:  # noqa: BLE001: reported below
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert results == [expected] * 20


def test_streams(device):
    first, second = cw.Stream(device), cw.Stream(device)
    assert first.device == device
    with cw.stream(first) as current:
        assert current == cw.current_stream(device) == first
        x = cw.full((33, 65), 2.0, device=device)
        with cw.stream(second):
            assert cw.current_stream(device) == second
            second.wait(first)
            y = x @ x.T
        assert cw.current_stream(device) == first
    second.synchronize()
    assert second.done
    check(y, np.full((33, 33), 260))
    cw.synchronize(device)
    if device == "cpu":
        with pytest.raises(cw.InvalidArgument, match="no stream handles"):
            cw.Stream.external(1, device)
    else:
        assert first != second
        wrapped = cw.Stream.external(first.handle, device)
        assert wrapped == first


def test_memory_outlives_the_stream_that_used_it(cuda):
    x = cw.ones(100003, device=cuda)
    for _ in range(10):
        with cw.stream(cw.Stream(cuda)):
            y = x * 2
    del x, y
    gc.collect()
    check(cw.ones(33, device=cuda), np.ones(33))
    cw.synchronize(cuda)


def test_graphs_are_for_cuda():
    with pytest.raises(cw.DeviceError, match=r"\[graph.capture\].*graphs need a CUDA device"):
        cw.capture(lambda: None, "cpu")


def test_graph(cuda):
    x = cw.zeros(33, device=cuda)
    y = cw.arange(33, dtype="f32", device=cuda)
    x + y * 2  # warms up
    cw.synchronize(cuda)

    def step():
        x.copy_from(x + y * 2)
        return x.sum()

    graph = cw.capture(step, cuda)
    assert not x.any().item()
    for _ in range(3):
        graph.replay()
    check(x, np.arange(33) * 6)
    assert graph.output.item() == 6 * 33 * 16
    with pytest.raises(ZeroDivisionError):
        cw.capture(lambda: 1 / 0, cuda)
    assert (x + 1).min().item() == 1


def test_profile(device, tmp_path):
    with cw.profile() as profile:
        x = cw.ones((129, 65), device=device)
        for _ in range(3):
            x.exp()
        x @ x.T
    x.log()  # not recorded
    rows = {row["name"]: row for row in profile.report()}
    assert rows["unary.exp"]["count"] == 3
    assert rows["unary.exp"]["device"] == device
    assert rows["unary.exp"]["bytes"] == 3 * 2 * x.nbytes
    assert rows["unary.exp"]["total_ms"] > 0
    assert rows["matmul"]["kind"] == "kernel"
    assert "unary.log" not in rows
    report = json.loads(profile.json())
    assert report["wall_ms"] > 0
    assert {entry["name"] for entry in report["entries"]} == set(rows)
    profile.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert sum(event["name"] == "unary.exp" for event in events) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["trace.json"]


def test_version():
    assert cw.__version__.count(".") == 2


def test_profile_shows_who_held_memory(device, tmp_path):
    with cw.memory_scope("before & after"):
        kept = cw.zeros(3 << 20, "u8", device)
    with cw.profile() as p:
        with cw.memory_scope("peak"):
            large = cw.zeros(8 << 20, "u8", device)
        del large
        with cw.memory_scope("later"):
            small = cw.zeros(1 << 20, "u8", device)
    memory = json.loads(p.json())["memory"][device]
    assert memory["at_peak"]["before & after"] == 3 << 20
    assert memory["at_peak"]["peak"] == 8 << 20
    assert memory["at_peak"].get("later", 0) == 0
    assert memory["peak"] >= 11 << 20
    p.trace(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    counters = [e["args"] for e in events if e["ph"] == "C" and e["name"] == f"memory of {device}"]
    assert any(args.get("later") == 1 << 20 and args["peak"] == 0 for args in counters)
    p.memory_page(tmp_path / "memory.html")
    page = (tmp_path / "memory.html").read_text()
    xml.etree.ElementTree.fromstring(page)  # well-formed
    assert "before &amp; after" in page and "8.0 MiB" in page
    del kept, small
