"""Distributions of the random numbers that priors draw, with fixed seeds."""

import numpy as np
import pytest
from causeway._testing import prior_parts as parts
from goodness_of_fit import counts_fit, fits, log_integer_shares, rate_is, same_counts
from prior_oracle import CHOICES, bits, correlated_integers, correlated_unit, open_uniform

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")


def test_uniforms():
    u = open_uniform(bits(1, 4, 20000)[:, :4])
    assert 0 < u.min() and u.max() < 1
    for word in range(4):
        fits(u[:, word], stats.uniform.cdf)
    assert np.abs(np.corrcoef(u.T) - np.eye(4)).max() < 0.03
    neighbours = open_uniform(bits(1, 5, 20000)[:, 0])
    assert abs(np.corrcoef(u[:, 0], neighbours)[0, 1]) < 0.03
    other = open_uniform(bits(2, 4, 20000)[:, 0])
    assert abs(np.corrcoef(u[:, 0], other)[0, 1]) < 0.03


def test_normals():
    z = parts.row_normals(3, 7, 5000, 4).numpy()
    for column in z.T:
        fits(column, stats.norm.cdf)
    assert np.abs(np.corrcoef(z.T) - np.eye(4)).max() < 0.06
    fits(parts.bulk_normals(3, 8, 20000).numpy(), stats.norm.cdf)


@pytest.mark.parametrize("shape", [1e-3, 0.05, 0.7, 1.0, 3.5, 400.0])
def test_gammas(shape):
    logs = parts.log_gammas(shape, 5, 20000).numpy().astype(float)
    assert np.isfinite(logs).all()

    def cdf(v):
        with np.errstate(under="ignore"):
            tail = np.exp(np.minimum(shape * v - special.gammaln(shape + 1), 0.0))
            return np.where(v < -15, tail, special.gammainc(shape, np.exp(np.maximum(v, -15))))

    fits(logs, cdf)


@pytest.mark.parametrize("a, b", [(1, 1), (0.5, 0.5), (5, 2), (0.03, 0.07), (3000, 7000), (1e-4, 0.1)])
def test_betas(a, b):
    drawn = parts.betas(a, b, 6, 20000).numpy()
    law = stats.beta(a, b)
    edges = np.unique([0.0, 1e-4, 1e-2, *np.clip(law.ppf(np.linspace(0.05, 0.95, 19)), 1e-4, 1 - 1e-4),
                       1 - 1e-2, 1 - 1e-4, 1.0])
    counts, _ = np.histogram(drawn, edges)
    counts_fit(counts, np.diff(law.cdf(edges)))


def test_cauchys():
    fits(parts.cauchys(8, 20000).numpy(), stats.cauchy.cdf)


def test_laws():
    laws = np.array([parts.law(3, 9, k) for k in range(5000)], float)
    total = laws.sum(1)
    fits(laws[:, 0] / total, stats.uniform.cdf)
    fits(np.log(total), stats.uniform(np.log(0.1), np.log(1e5)).cdf)
    others = np.array([parts.law(4, 9, k) for k in range(5000)], float)
    assert abs(np.corrcoef(laws[:, 0] / total, others[:, 0] / others.sum(1))[0, 1]) < 0.06


def test_draws_of_a_name_share_its_law():
    for seed in range(6):
        a, b = parts.law(2, seed, 0)
        drawn = parts.numbers(2, 0.0, 1.0, False, False, True, seed, 77, 4000).numpy()
        edges = np.unique(np.clip(stats.beta(a, b).ppf(np.linspace(0, 1, 9)), 1e-6, 1 - 1e-6))
        edges = np.concatenate([[0], edges, [1]])
        counts, _ = np.histogram(drawn, edges)
        counts_fit(counts, np.diff(stats.beta(a, b).cdf(edges)))


def test_independent_numbers():
    draw = lambda low, high, log: parts.numbers(  # noqa: E731
        0, low, high, log, False, False, 1, 3, 10000).numpy().astype(float)
    fits(draw(-2.0, 5.0, False), stats.uniform(-2, 7).cdf)
    fits(np.log(draw(0.1, 10.0, True)), stats.uniform(np.log(0.1), np.log(100)).cdf)
    massed = parts.numbers(0, 0.0, 1.0, False, True, False, 1, 3, 10000).numpy()
    rate_is((massed == 0).sum(), 10000, 1 / 12)
    rate_is((massed == 1).sum(), 10000, 1 / 12)
    inner = massed[(massed > 0) & (massed < 1)]
    fits(inner, stats.uniform.cdf)


@pytest.mark.parametrize("low, high", [(2, 4), (2, 10), (1, 128), (2, 201)])
def test_log_uniform_integers(low, high):
    drawn = parts.integers(0, low, high, True, False, False, 3, 20000).numpy().astype(int)
    assert drawn.min() >= low and drawn.max() < high
    counts_fit(np.bincount(drawn, minlength=high)[low:], log_integer_shares(low, high))


def test_even_integers():
    drawn = parts.integers(0, 1, 8, False, False, False, 3, 20000).numpy().astype(int)
    counts_fit(np.bincount(drawn, minlength=8)[1:], np.ones(7))


@pytest.mark.parametrize("low, high, log", [(2, 33, True), (1, 8, False), (1, 32, True)])
def test_correlated_integers(low, high, log, rng):
    ours = parts.integers(0, low, high, log, True, False, 3, 10000).numpy()
    same_counts(ours, correlated_integers(rng, low, high, log, 40000))


def simulated_weights(rng, n, count):
    """NumPy's weights, of a dataset each."""
    made = np.empty((count, n))
    for k in range(count):
        unit = correlated_unit(rng, 2)
        low = np.log(0.1 / np.log(1 + n))
        decay = np.exp(low + (np.log(6) - low) * np.clip(1.2 * unit[0] - 0.1, 0, 1))
        spread = np.exp(np.log(1e-4) + np.log(1e5) * unit[1])
        logs = rng.permutation(spread * rng.normal(size=n) - decay * np.log(np.arange(1, n + 1)))
        w = np.exp(logs - logs.max())
        made[k] = w * np.sqrt(n) / np.linalg.norm(w)
    return made


@pytest.mark.parametrize("n", [2, 8, 27])
def test_weights(n, rng):
    choice = {2: "activation_first", 8: "function", 27: "fixed_activation"}[n]
    cumulative = parts.choice_weights(CHOICES.index(choice), 5, 3000).numpy()
    ours = np.diff(cumulative, axis=1, prepend=0)
    direct = np.stack([parts.weights(seed, 3, 1, n).numpy()[0] for seed in range(3000)])
    theirs = simulated_weights(rng, n, 6000)
    coarse = lambda values: np.round(values.astype(float), 3)  # noqa: E731: f32 rounds the ends
    for made in (ours, direct):
        np.testing.assert_allclose(np.linalg.norm(made, axis=1), np.sqrt(n), rtol=1e-3)
        fits(coarse(made.max(1)), coarse(theirs.max(1)))
        fits(coarse(np.median(made, 1)), coarse(np.median(theirs, 1)))
        # No category is favoured.
        shares = made / made.sum(1, keepdims=True)
        assert np.abs(shares.mean(0) - 1 / n).max() < 5 * shares.std(0).max() / np.sqrt(3000)


@pytest.mark.parametrize("n", [17, 20, 64, 100])
def test_orders(n):
    orders = np.array([parts.order(seed, 1, n) for seed in range(4000)])
    for place in range(5):
        counts_fit(np.bincount(orders[:, place], minlength=n), np.ones(n))
    distance = np.bincount((orders[:, 1] - orders[:, 0]) % n, minlength=n)
    counts_fit(distance[1:], np.ones(n - 1))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8])
def test_small_orders(n):
    """Every place may take every value, about as often."""
    orders = np.array([parts.order(seed, 1, n) for seed in range(4000)])
    for place in range(n):
        shares = np.bincount(orders[:, place], minlength=n) * n / 4000
        assert np.abs(shares - 1).max() < 0.2
