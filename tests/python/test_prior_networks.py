"""Networks, noise and forests of priors against NumPy in float64, given the recorded draws."""

import numpy as np
import pytest
from causeway._testing import prior_parts as parts
from prior_oracle import Notes, activate, bits, bounded, close, standardise, tensor

ROWS = 257
SEEDS = range(3)


SIMPLE = ("tanh leaky_relu elu identity selu silu relu softplus relu6 hardtanh sign rbf exp root "
          "inside_unit sin square magnitude").split()


@pytest.mark.parametrize("kind", range(18))
def test_network_activations(kind, rng):
    x = (2.0 + 3.0 * rng.normal(size=(ROWS, 4))).astype(np.float32)
    for seed in SEEDS:
        ours, notes = parts.mlp_activation(tensor(x), kind, seed)
        told = Notes(notes, seed)
        assert told.take("activation") == kind
        scale, shift = told.take("scale"), told.take("shift")
        moved = scale * (standardise(x.astype(float), 1e-6) + shift)
        name = SIMPLE[kind]
        theirs = np.sqrt(np.abs(moved)) if name == "root" else activate(name, moved, 1.0)
        finite = np.isfinite(theirs.astype(np.float32)).all(1)
        close(ours.numpy()[finite], theirs[finite], 1e-5 * max(1, scale), share=0.99)


def test_fourier_activation(rng):
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    for seed in SEEDS:
        ours, notes = parts.mlp_activation(tensor(x), 18, seed)
        told = Notes(notes, seed)
        scale, shift = told.take("scale"), told.take("shift")
        decay = told.take("fourier_decay")
        frequencies, phases, w = (told.take(f"fourier_{name}").astype(float)
                                  for name in ("frequencies", "phases", "weights"))
        z = (scale * (standardise(x.astype(float), 1e-6) + shift)).astype(np.float32).astype(float)
        theirs = np.sin(z[..., None] * frequencies + phases) @ w
        slack = np.minimum(4e-7 * (np.abs(z[..., None] * frequencies) + 7), 2) @ np.abs(w)
        slack = slack + np.abs(z).max() * 1e-6 * (np.abs(w) @ frequencies)  # of z itself
        assert (np.abs(ours.numpy() - theirs) <= slack + 1e-5).all()
        # The weights are a power of the frequency times a normal number, of length one before.
        power = frequencies**-decay
        normal = w / (power / np.linalg.norm(power))
        assert 0.5 < normal.std() * np.sqrt(1 + (normal.mean() / normal.std()) ** 2) < 1.5


def test_layers():
    weights_, biases = (part.numpy() for part in parts.layer(40, 30, False, 0.6, 2.0, False, 1))
    kept = (weights_ != 0).mean()
    assert abs(kept - 0.4) < 0.05
    assert abs(weights_[weights_ != 0].std() - 2.0 / np.sqrt(0.4)) < 0.4
    assert np.abs(biases).max() <= 1 / np.sqrt(40) + 1e-7
    first, _ = parts.layer(40, 30, False, 0.6, 2.0, True, 1)
    assert (first.numpy() != 0).all()  # nothing is left out of the first layer
    seen = set()
    for seed in range(60):
        blocks, _ = parts.layer(36, 49, True, 0.6, 2.0, False, seed)
        blocks = blocks.numpy()
        n = next(n for n in range(1, 8) if (blocks[: 49 // n, : 36 // n] != 0).all()
                 and (blocks != 0).sum() == n * (49 // n) * (36 // n))
        seen.add(n)
        for k in range(n):
            assert (blocks[k * (49 // n) : (k + 1) * (49 // n),
                           k * (36 // n) : (k + 1) * (36 // n)] != 0).all()
    assert seen >= {1, 2, 3, 4, 5}


def test_noise(rng):
    x = rng.normal(size=(4000, 6)).astype(np.float32)
    biases = list(np.arange(6.0))
    quiet = parts.noise(tensor(x), 0.3, False, False, biases, 1).numpy()
    np.testing.assert_allclose(quiet, x + np.arange(6), rtol=1e-6)
    loud = parts.noise(tensor(x), 0.3, False, True, biases, 1).numpy()
    np.testing.assert_allclose((loud - quiet).std(0), 0.3, rtol=0.06)
    fixed = parts.noise(tensor(x), 0.3, True, True, biases, 1).numpy()
    assert (fixed - quiet).std(0).std() > 0.05  # each unit has its own


def test_noise_forest(rng):
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    for seed in SEEDS:
        for depth, n_trees in ((2, 1), (4, 3)):
            ours, notes = parts.noise_forest(tensor(x), 2, depth, n_trees, seed)
            told = Notes(notes, seed)
            theirs = np.zeros((ROWS, 2))
            for _ in range(n_trees):
                site = int(told.take("leaf_site"))
                place = np.zeros(ROWS, int)
                for _ in range(depth):
                    columns = told.integers("split_columns")
                    thresholds = told.take("thresholds")
                    side = x[np.arange(ROWS), columns[place]] > thresholds[place]
                    place = 2 * place + side
                counts = np.bincount(place, minlength=1 << depth)
                leaves = np.stack(
                    [open_normal(seed, site, 1 << depth, o) for o in range(2)], 1)
                theirs += leaves[place] / np.sqrt(counts[place])[:, None]
            close(ours.numpy(), theirs, 1e-5)


def open_normal(seed, site, count, b):
    """The first normal number of each counter: Box and Muller's radius and angle."""
    words = bits(seed, site, count, b)
    u = (words[:, 0] + 1.0) * 2.0**-32
    return np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * (words[:, 1] >> 8) * 2.0**-24)


def test_normals_are_box_and_mullers():
    ours = parts.row_normals(3, 9, 2000, 1).numpy()[:, 0]
    np.testing.assert_allclose(ours, open_normal(3, 9, 2000, 0), atol=3e-6)
    bulk = parts.bulk_normals(3, 9, 333).numpy()
    words = bits(3, 9, 84)
    u = (words[:, 2] + 1.0) * 2.0**-32
    third = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * (words[:, 3] >> 8) * 2.0**-24)
    np.testing.assert_allclose(bulk[0::4], open_normal(3, 9, 84, 0), atol=3e-6)
    np.testing.assert_allclose(bulk[2::4], third[:83], atol=3e-6)


def test_orders_are_permutations():
    for n in (1, 2, 3, 4, 5, 17, 64, 65, 1000):
        for site in range(4):
            assert sorted(parts.order(1, site, n)) == list(range(n))


def test_forest_scores(rng):
    x = rng.normal(size=(300, 5)).astype(np.float32)
    labels = (x[:, 0] > 0).astype(np.float32) + (x[:, 1] > 0.5)
    score = parts.forest(tensor(x), tensor(labels), 3, 1)
    shares = np.bincount(labels.astype(int)) / 300
    np.testing.assert_allclose(score["squared_error_of_mean"], 1 - (shares**2).sum(), rtol=1e-5)
    np.testing.assert_allclose(
        score["improvement"], score["squared_error_of_mean"] - score["squared_error"], atol=1e-5)
    assert score["predictable"] and score["squared_error"] < 0.4 * score["squared_error_of_mean"]
    noise = rng.integers(0, 3, 300)
    assert not parts.forest(tensor(x), tensor(noise), 3, 1)["predictable"]
    number = parts.forest(tensor(x), tensor(2 * x[:, 0]), 0, 1)
    assert number["predictable"]
    np.testing.assert_allclose(number["squared_error_of_mean"], (2 * x[:, 0]).var(), rtol=1e-3)


def test_bounded_rows_are_even():
    rows = bounded(bits(5, 2, 20000)[:, 0], 7)
    assert np.abs(np.bincount(rows) - 20000 / 7).max() < 250
