"""Edge cases of indices, ranges and memory, compared with NumPy."""

import causeway as cw
import numpy as np
import pytest


def test_numbers_go_straight_to_their_type(device):
    assert cw.array([0.1, 1e300], dtype="f64", device=device).tolist() == [0.1, 1e300]
    assert cw.asarray([16777217.0], dtype="i64", device=device).tolist() == [16777217]
    assert cw.array(0.1, dtype="f64", device=device).item() == 0.1
    assert cw.array([0.1], device=device).dtype == cw.f32


@pytest.mark.parametrize("entry", [
    slice(-4, None, -1), slice(-9, None, -2), slice(-4, 5, -1), slice(None, None, 2**63 - 1),
    slice(1, None, 2**63 - 1), slice(None, None, -(2**70)), slice(2, None, -(2**63) + 1),
])
def test_slices_reach_beyond_the_ends(device, entry):
    values = np.arange(12.0).reshape(3, 4)
    x = cw.array(values, device=device)
    for key in (entry, (slice(None), entry)):
        assert np.array_equal(x[key].numpy(), values[key])
        y, want = x.clone(), values.copy()
        y[key], want[key] = 7, 7
        assert np.array_equal(y.numpy(), want)


def test_axes_that_are_none(device):
    x = cw.ones((2, 3), device=device)
    with pytest.raises(cw.InvalidArgument, match="not a permutation of the 2 axes"):
        x.permute(())
    with pytest.raises(cw.Error, match="axis"):
        x.sum(axis=2**32)


def test_ranges_of_large_integers(device):
    for start, stop, step in ((2**60, 2**60 + 10, 3), (2**53, 2**53 + 3, 1), (5, -(2**62), -(2**61)),
                              (-(2**63), 2**63 - 1, 2**62), (3, 3, -1), (3, 5, -1)):
        assert cw.arange(start, stop, step, device=device).tolist() == list(range(start, stop, step))
    with pytest.raises(cw.InvalidArgument, match="too many elements"):
        cw.arange(0, 2**62, device=device)


def test_results_have_memory_of_their_own(device):
    for make in (cw.round, cw.floor, cw.ceil, cw.trunc, lambda x: +x):
        x = cw.array([1, 2, 3], device=device)
        y = make(x)
        y += 1
        assert x.tolist() == [1, 2, 3]


def test_memory_that_was_wrapped_twice_overlaps():
    values = np.arange(6.0)
    cw.asarray(values)[:] = values[::-1]
    assert values.tolist() == [5, 4, 3, 2, 1, 0]
    cw.asarray(values)[1:] = cw.asarray(values)[:-1]
    assert values.tolist() == [5, 5, 4, 3, 2, 1]


def test_random_integers_fit(device):
    generator = cw.Generator(1)
    for low, high in ((0, 300), (-5, 5)):
        with pytest.raises(cw.InvalidArgument, match="u8"):
            generator.integers((4,), low, high, dtype="u8", device=device)
    assert generator.integers((4,), 0, 256, dtype="u8", device=device).dtype == cw.u8


def test_not_every_float_is_an_integer(device):
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN or infinity"):
            int(cw.array(value, device=device))
    assert int(cw.array(-2.5, device=device)) == -2


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.bool_, np.float16])
def test_scalars_of_numpy_are_kept(kind):
    made = [cw.asarray(kind(i % 2 + 0.0)) for i in range(20)]
    noise = [np.float64(i) for i in range(100)]
    assert [x.item() for x in made] == [kind(i % 2).item() for i in range(20)] and len(noise) == 100
