"""Random tensors: moments, ranges, and reproducibility."""

import causeway as cw
import numpy as np
import pytest
from oracle import FLOATS, INTEGERS, host, name

N = 100003


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_uniform_stays_below_its_end(dtype, device):
    for low, high in ((0, 1), (-1, 0), (0.1, 0.3), (-6, -2)):
        values = host(cw.Generator(2).uniform(N, low, high, dtype, device)).astype(np.float64)
        assert values.max() < high


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_uniform(dtype, device):
    values = host(cw.Generator(1).uniform(N, -2, 6, dtype, device)).astype(np.float64)
    assert values.min() >= -2 and values.max() < 6
    deviation = 8 / np.sqrt(12)
    assert abs(values.mean() - 2) < 5 * deviation / np.sqrt(N)
    assert abs(values.std() - deviation) < 0.02
    counts, _ = np.histogram(values, 8, (-2, 6))
    assert abs(counts - N / 8).max() < 6 * np.sqrt(N / 8)


@pytest.mark.parametrize("dtype", FLOATS, ids=name)
def test_normal(dtype, device):
    values = host(cw.Generator(2).normal(N, 3, 2, dtype, device)).astype(np.float64)
    z = (values - 3) / 2
    assert abs(z.mean()) < 5 / np.sqrt(N)
    assert abs(z.var() - 1) < 5 * np.sqrt(2 / N)
    assert abs((z**3).mean()) < 5 * np.sqrt(15 / N)
    assert abs((z**4).mean() - 3) < 5 * np.sqrt(96 / N)
    assert abs((np.abs(z) < 1).mean() - 0.6827) < 0.01


@pytest.mark.parametrize("dtype", INTEGERS, ids=name)
def test_integers(dtype, device):
    low = -3 if dtype not in (cw.u8, cw.u16) else 3
    values = cw.Generator(3).integers((7, N // 7), low, low + 10, dtype, device)
    assert values.dtype == dtype
    counts = np.bincount(host(values).reshape(-1).astype(np.int64) - low, minlength=10)
    assert len(counts) == 10
    assert abs(counts - values.size / 10).max() < 6 * np.sqrt(N / 10)


def test_wide_integers(device):
    drawn = cw.Generator(4).integers(N, -(2**63), 2**63 - 1, device=device)
    values = host(drawn).astype(np.float64)
    assert abs(values.mean()) < 5 * 2**63 / np.sqrt(3 * N)
    assert values.min() < -0.99 * 2**63 and values.max() > 0.99 * 2**63


@pytest.mark.parametrize("n", [0, 1, 31, 32, 33, N])
def test_permutation(n, device):
    order = host(cw.Generator(5).permutation(n, device))
    np.testing.assert_array_equal(np.sort(order), np.arange(n))
    if n == N:
        assert abs(np.corrcoef(order, np.arange(n))[0, 1]) < 0.02
        assert (order == np.arange(n)).sum() < 10


def draws(generator, device):
    return [
        generator.uniform((3, 33), device=device),
        generator.normal((5, 7), dtype="f64", device=device),
        generator.normal(33, dtype="bf16", device=device),
        generator.integers(31, 0, 1000, device=device),
        generator.permutation(33, device),
    ]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_the_same_seed_gives_the_same_bits_on_every_device(seed, device):
    for ours, reference in zip(draws(cw.Generator(seed), device), draws(cw.Generator(seed), "cpu")):
        assert host(ours).tobytes() == host(reference).tobytes()


def test_other_seeds_and_calls_differ(device):
    generator = cw.Generator(7)
    first, second = generator.uniform(33, device=device), generator.uniform(33, device=device)
    other = cw.Generator(8).uniform(33, device=device)
    assert first.tolist() != second.tolist()
    assert first.tolist() != other.tolist()


def test_a_call_does_not_depend_on_the_ones_before(device):
    generator = cw.Generator(7)
    generator.normal(1000003, device=device)
    assert (generator.seed, generator.next) == (7, 1)
    second = generator.uniform(33, device=device)
    fresh = cw.Generator(7)
    fresh.next = 1
    assert fresh.uniform(33, device=device).tolist() == second.tolist()


def test_a_longer_draw_begins_with_the_shorter(device):
    short = cw.Generator(7).uniform(33, device=device)
    assert cw.Generator(7).uniform(N, device=device)[:33].tolist() == short.tolist()


def test_the_same_bits_at_any_number_of_threads():
    before = cw.threads()
    try:
        results = []
        for threads in (1, 3):
            cw.set_threads(threads)
            results.append(host(cw.Generator(7).normal(N)).tobytes())
    finally:
        cw.set_threads(before)
    assert results[0] == results[1]
