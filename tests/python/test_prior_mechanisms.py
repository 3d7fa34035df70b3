"""Each mechanism of a prior against NumPy in float64, given the recorded random draws."""

import numpy as np
import pytest
from causeway._testing import prior_parts as parts
from prior_oracle import (
    ACTIVATIONS, CHEAP, CONVERTERS, FUNCTIONS, MATRICES, Functions, Notes, activate, bits,
    choices, close, mixture, nearest, open_uniform, random_activation, random_matrix, softmax,
    standardise, tensor, weights,
)

ROWS = 257
SEEDS = range(3)


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_activations(kind, rng):
    x = np.concatenate([rng.normal(size=(ROWS, 7)) * 10.0 ** rng.integers(-3, 2, (ROWS, 1)),
                        np.zeros((1, 7)), np.ones((1, 7)), -np.ones((1, 7))]).astype(np.float32)
    for exponent in (0.1, 1.0, 2.0, 5.0, 10.0):
        if kind == "integer_power" and exponent not in (2.0, 5.0):
            continue
        ours = parts.activate(tensor(x), ACTIVATIONS.index(kind), exponent).numpy()
        theirs = activate(kind, x.astype(float), np.float32(exponent).astype(float))
        # Powers go by exp(p log x), whose error grows with its argument.
        slack = 1.0 + exponent * np.abs(np.log(np.abs(x.astype(float)) + 1e-3)) * ("power" in kind)
        with np.errstate(over="ignore"):
            expected = theirs.astype(np.float32).astype(float)
        both = np.isfinite(expected)
        np.testing.assert_array_equal(np.isfinite(ours), both)
        error = np.abs(ours - theirs)[both]
        assert (error <= (4e-7 * slack * (np.abs(theirs) + 0.3))[both]).all(), error.max()


@pytest.mark.parametrize("kind", ACTIVATIONS)
def test_random_activations(kind, rng):
    n_fixed = 27
    at = ACTIVATIONS.index(kind)
    if at < n_fixed:
        forced = choices(activation=0, fixed_activation=at)
    elif kind in ("relu_power", "signed_power"):
        forced = choices(activation=4 + at - n_fixed)
    else:
        pytest.skip("only matrices take it")
    x = (3.0 + 2.0 * rng.normal(size=(ROWS, 5))).astype(np.float32)
    for seed in SEEDS:
        ours, notes = parts.activation(tensor(x), seed, forced)
        theirs = random_activation(Notes(notes, seed), x.astype(float))
        # Steps fall elsewhere in a row or two where the argument is within rounding of one.
        close(ours.numpy(), theirs, 2e-4, share=0.99)


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("shape", [(1, 5, 9), (1, 1, 1), (3, 20, 4), (1, 2, 300), (2, 7, 7)])
def test_matrices(kind, shape):
    for seed in SEEDS:
        ours, notes = parts.matrix(*shape, seed, choices(matrix=MATRICES.index(kind)))
        ours, theirs = ours.numpy(), random_matrix(Notes(notes, seed), *shape)
        close(ours.reshape(-1, shape[2]), theirs.reshape(-1, shape[2]), 0.0, 3e-5, share=0.99)
        lengths = np.linalg.norm(ours.astype(float), axis=-1)
        assert lengths.max() <= 1 + 1e-5
        if kind != "kernel":  # whose rows may vanish, where 1e-6 beside the length counts
            assert lengths.min() >= 0.99


@pytest.mark.parametrize("simple", range(4))
def test_activated_matrices_of_each_kind(simple):
    for at in range(12):
        forced = choices(matrix=4, simple_matrix=simple, plain_activation=at)
        ours, notes = parts.matrix(2, 6, 5, at, forced)
        told = Notes(notes, at)
        theirs = random_matrix(told, 2, 6, 5)
        assert np.isfinite(ours.numpy()).all()
        close(ours.numpy().reshape(-1, 5), theirs.reshape(-1, 5), 0.0, 2e-4, share=0.9)


def test_weights():
    for n in (1, 2, 3, 10, 200):
        for seed in SEEDS:
            ours = parts.weights(seed, 5, 3, n).numpy()
            theirs = np.stack([weights(seed, 5, row, n) for row in range(3)])
            np.testing.assert_allclose(ours, theirs, rtol=3e-5, atol=1e-12)
            np.testing.assert_allclose(np.linalg.norm(ours, axis=1), np.sqrt(n), rtol=1e-5)


def test_mixture_points():
    for seed in range(6):
        ours, notes = parts.mixture(500, seed)
        theirs = mixture(Notes(notes, seed), 500)
        np.testing.assert_allclose(ours.numpy(), theirs, rtol=1e-5, atol=1e-5 * np.abs(theirs).max())


def check_function(x, n_out, forced, seed, run=None):
    ours, notes = parts.function(tensor(x), n_out, seed, forced)
    told = Functions(Notes(notes, seed))
    theirs = told(x.astype(np.float32).astype(float), n_out)
    clear = np.broadcast_to(told.margin, len(x)) > 1e-4  # or another centre may be the nearest
    assert clear.mean() > 0.95
    error = np.broadcast_to(told.error, theirs.shape)
    rtol = 5e-4 if forced.get(0) == 0 else 5e-5  # layer after layer, each scaled by up to ten
    close(ours.numpy()[clear], theirs[clear], rtol, error[clear], share=0.99)
    return told


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("n_in, n_out", [(1, 1), (3, 2), (30, 7)])
def test_functions(kind, n_in, n_out, rng):
    # Matrices and activations have their own tests; here those that do not amplify rounding.
    forced = dict(function=FUNCTIONS.index(kind), activation=0)
    for seed in range(4):
        x = rng.normal(size=(ROWS, n_in))
        for act in (0, 7, 15):  # tanh, softplus, sin
            check_function(x, n_out, choices(**forced, fixed_activation=act), seed)


@pytest.mark.parametrize("kind", CHEAP)
def test_products(kind, rng):
    forced = choices(function=FUNCTIONS.index("product"), cheap_function=CHEAP.index(kind))
    for seed in SEEDS:
        check_function(rng.normal(size=(ROWS, 4)), 3, forced, seed)


@pytest.mark.parametrize("product", [0, 1])
def test_gaussian_process_kernels(product, rng):
    forced = choices(function=FUNCTIONS.index("gaussian_process"), product_kernel=product)
    for seed in range(6):
        check_function(rng.normal(size=(ROWS, 4)), 3, forced, seed)


def test_tree_splits_are_values_of_the_data(rng):
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    for seed in range(6):
        _, notes = parts.function(tensor(x), 2, seed, choices(function=1))
        told = Notes(notes, seed)
        thresholds = told.take("thresholds")
        columns = told.integers("split_columns")
        assert all(t in x[:, c] for t, c in zip(thresholds, columns, strict=True))


def test_centres_are_distinct_rows(rng):
    x = rng.normal(size=(ROWS, 3)).astype(np.float32)
    rows = {row.tobytes(): i for i, row in enumerate(x)}
    for seed in range(10):
        _, notes = parts.function(tensor(x), 2, seed, choices(function=2))
        centres = Notes(notes, seed).take("centres").reshape(-1, 3)
        found = [rows[centre.tobytes()] for centre in centres]
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("aggregation", range(4))
def test_functions_of_parents(aggregation, rng):
    xs = [rng.normal(size=(ROWS, width)).astype(np.float32) for width in (2, 1, 4)]
    for seed in SEEDS:
        for function in (1, 3, 5):
            forced = choices(parents=1, aggregation=aggregation, function=function)
            ours, notes = parts.parents([tensor(x) for x in xs], 3, seed, forced)
            told = Functions(Notes(notes, seed))
            each = np.stack([told(x.astype(float), 3) for x in xs])
            joined = [each.sum(0), each.prod(0), each.max(0),
                      np.log(np.exp(each).sum(0))][aggregation]
            error = 3 * told.error * (1 + np.abs(each).max(0)) ** 2
            close(ours.numpy(), joined, 5e-5, error, share=0.99)


def test_functions_of_joined_parents(rng):
    xs = [rng.normal(size=(ROWS, width)).astype(np.float32) for width in (2, 1, 4)]
    for seed in SEEDS:
        ours, notes = parts.parents([tensor(x) for x in xs], 3, seed, choices(parents=0, function=3))
        theirs = Functions(Notes(notes, seed))(np.concatenate(xs, 1).astype(float), 3)
        close(ours.numpy(), theirs, 1e-5)


@pytest.mark.parametrize("kind", range(4))
def test_points(kind):
    n, stride = 5, 288
    for seed in SEEDS:
        forced = choices(base_points=kind, function=FUNCTIONS.index("linear"))
        ours, notes = parts.points(ROWS, n, seed, forced)
        told = Notes(notes, seed)
        assert told.take("points") == kind
        if kind == 3:
            matrix = told.matrix("covariance_matrix", (n, n))
            scaled = matrix * told.take("covariance_weights").astype(float)
            inner = told.matrix("covariance_base", (n, stride))
        base = told.matrix("base_points", (n, stride))[:, :ROWS].T
        if kind == 3:
            close(base, inner[:, :ROWS].T @ scaled.T, 1e-5)
        if kind == 1:
            assert (np.linalg.norm(base, axis=1) <= 1 + 1e-6).all()
        close(ours.numpy(), Functions(told)(base, n), 1e-5)


def test_numbers_as_columns(rng):
    x = rng.normal(size=(ROWS, 1)).astype(np.float32)
    for seed in SEEDS:
        column, values, _, _ = parts.convert(tensor(x), 0, CONVERTERS.index("numeric"), seed, {})
        np.testing.assert_array_equal(column.numpy(), x)
        np.testing.assert_array_equal(values.numpy(), x)


@pytest.mark.parametrize("warp_node", [False, True])
def test_warped_numbers(warp_node, rng):
    x = rng.normal(size=(ROWS, 1)).astype(np.float32)
    for seed in range(6):
        column, values, _, notes = parts.convert(
            tensor(x), 0, CONVERTERS.index("kumaraswamy"), seed, {}, warp_node=warp_node)
        told = Notes(notes, seed)
        a, b = told.take("kumaraswamy_a"), told.take("kumaraswamy_b")
        assert 0.2 - 1e-6 <= min(a, b) and max(a, b) <= 5 + 1e-5
        wide = x.astype(float)
        unit = (wide - wide.min()) / (wide.max() - wide.min())
        warped = 1 - (1 - unit**a) ** b
        if warp_node:  # the node's children meet the warped value
            np.testing.assert_array_equal(values.numpy(), column.numpy())
        else:
            np.testing.assert_array_equal(values.numpy(), x)
        # Near 1, where b < 1, the rounding of u^a is magnified.
        bound = 3e-6 + b * (1 - unit**a + 1e-7) ** (b - 1) * 3e-7
        assert (np.abs(column.numpy() - warped) <= bound).all()


def test_a_forced_warp_is_undone(rng):
    """The node's value is the one whose warp the column was set to."""
    x = rng.normal(size=(ROWS, 1)).astype(np.float32)
    for seed in range(6):
        column, values, _, notes = parts.convert(
            tensor(x), 0, CONVERTERS.index("kumaraswamy"), seed, {}, forced=0.3)
        told = Notes(notes, seed)
        a, b = told.take("kumaraswamy_a"), told.take("kumaraswamy_b")
        assert (column.numpy()[ROWS:] == np.float32(0.3)).all()
        unit = (values.numpy()[ROWS:].astype(float) - x.min()) / (x.max() - x.min())
        np.testing.assert_allclose(1 - (1 - np.clip(unit, 0, 1) ** a) ** b, 0.3, atol=2e-3)


@pytest.mark.parametrize("n_categories, width", [(2, 1), (3, 3), (9, 4), (60, 2), (400, 3)])
@pytest.mark.parametrize("converter", CONVERTERS[:4])
def test_categories_by_neighbours(converter, n_categories, width, rng):
    x = rng.normal(size=(ROWS, width)).astype(np.float32)
    for seed in SEEDS:
        column, values, _, notes = parts.convert(
            tensor(x), n_categories, CONVERTERS.index(converter), seed, choices(cheap_function=1))
        told = Notes(notes, seed)
        p = told.take("category_p")
        centres = told.take("category_centres").reshape(-1, width)
        assert len(centres) == min(n_categories, ROWS)
        rows = {row.tobytes() for row in x}
        assert len({c.tobytes() for c in centres} & rows) == len(centres)
        found, margin = nearest(x.astype(float), centres.astype(float), p)
        clear = margin > 1e-4
        got = column.numpy()[:, 0].astype(int)
        np.testing.assert_array_equal(got[clear], found[clear])
        after = values.numpy()
        if converter == "neighbour":
            np.testing.assert_array_equal(after, x)
        elif converter == "neighbour_centre":
            np.testing.assert_array_equal(after, centres[got])
        elif converter == "neighbour_number":
            np.testing.assert_array_equal(after, np.repeat(got[:, None], width, 1))
        else:
            close(after, Functions(told)(centres[got].astype(float), width), 1e-5)


@pytest.mark.parametrize("n", [2, 5, 40])
@pytest.mark.parametrize("converter", CONVERTERS[4:7])
def test_categories_by_softmax(converter, n, rng):
    x = rng.normal(size=(ROWS, n)).astype(np.float32)
    for seed in SEEDS:
        column, values, unlikely, notes = parts.convert(
            tensor(x), n, CONVERTERS.index(converter), seed, choices(function=3), noiseless=True)
        told = Notes(notes, seed)
        scale, site = told.take("softmax_scale"), told.take("draw_site")
        bias = told.take("softmax_bias").astype(float)
        p = softmax(scale * standardise(x.astype(float)) + bias)
        place = open_uniform(bits(seed, site, ROWS)[:, 0])[:, None]
        cumulative = p.cumsum(1)
        drawn = (place >= cumulative[:, :-1]).sum(1)
        clear = np.abs(cumulative - place).min(1) > 1e-5
        got = column.numpy()[:, 0].astype(int)
        np.testing.assert_array_equal(got[:ROWS][clear], drawn[clear])
        np.testing.assert_allclose(unlikely.numpy()[:ROWS, 0], 1 - p.max(1), atol=2e-5)
        # The world without noise takes the likeliest.
        top = np.sort(p, axis=1)
        sure = top[:, -1] - top[:, -2] > 1e-5
        np.testing.assert_array_equal(got[ROWS:][sure], p.argmax(1)[sure])
        after = values.numpy()
        if converter == "softmax":
            np.testing.assert_array_equal(after, np.concatenate([x, x]))
        elif converter == "softmax_number":
            np.testing.assert_array_equal(after, np.repeat(got[:, None], n, 1))
        else:
            stride = -(-n // 32) * 32
            embeddings = told.take("embeddings").reshape(n, stride)
            np.testing.assert_array_equal(after, embeddings[:, got].T)


@pytest.mark.parametrize("converter", CONVERTERS[:7])
def test_forced_categories(converter, rng):
    x = rng.normal(size=(ROWS, 5)).astype(np.float32)
    column, values, _, _ = parts.convert(
        tensor(x), 5, CONVERTERS.index(converter), 3, choices(cheap_function=3), forced=2.0)
    plain, kept, _, _ = parts.convert(
        tensor(x), 5, CONVERTERS.index(converter), 3, choices(cheap_function=3))
    np.testing.assert_array_equal(column.numpy()[:ROWS], plain.numpy())
    np.testing.assert_array_equal(values.numpy()[:ROWS], kept.numpy())
    assert (column.numpy()[ROWS:] == 2).all()
    if converter not in ("softmax",):  # which only reads
        # All rows of the category stand for one point.
        assert (values.numpy()[ROWS:] == values.numpy()[ROWS]).all()


def test_tidying(rng):
    x = rng.normal(size=(ROWS, 4)) * [1, 10, 1e-3, 1]
    x[:5] *= [40, 1, 1, 1]
    x[:, 3] = 7.0
    x = x.astype(np.float32)
    ours, spreads = (part.numpy() for part in parts.tidy(tensor(x)))
    wide = x.astype(float)
    mean, deviation = wide.mean(0), np.maximum(wide.std(0, ddof=1), 1e-6)
    inside = np.abs(wide - mean) <= 4 * deviation
    masked = np.where(inside, wide, np.nan)
    mean, deviation = np.nanmean(masked, 0), np.maximum(np.nanstd(masked, 0, ddof=1), 1e-6)
    clamped = np.clip(wide, mean - 4 * deviation, mean + 4 * deviation)
    mean, deviation = clamped.mean(0), np.maximum(clamped.std(0, ddof=1), 1e-6)
    theirs = np.clip((clamped - mean) / deviation, -100, 100)
    np.testing.assert_allclose(ours[:, :3], theirs[:, :3], atol=2e-5)
    np.testing.assert_allclose(spreads[:3], np.stack([mean, deviation], 1)[:3], rtol=1e-5, atol=1e-6)
    assert len(np.unique(ours[:, 3])) == 1


@pytest.mark.parametrize("how", ["rank", "value", "balanced"])
def test_classes_from_numbers(how, rng):
    y = rng.normal(size=(ROWS, 1)).astype(np.float32)
    for n_classes in (2, 3, 10):
        ours, bounds = parts.classify(tensor(y), n_classes, how == "balanced", how == "rank", 4)
        bounds = bounds.numpy()
        np.testing.assert_array_equal(ours.numpy()[:, 0], (y > bounds).sum(1))
        if how == "rank":
            assert set(bounds) <= set(y[:, 0])
        if how == "balanced":
            counts = np.bincount(ours.numpy()[:, 0].astype(int), minlength=n_classes)
            assert counts.max() - counts.min() <= 1


def test_categorised_columns(rng):
    """A category is the number of bounds below, renamed."""
    x = rng.normal(size=(ROWS, 30)).astype(np.float32)
    seen = 0
    for seed in range(40):
        ours, notes = parts.categorise(tensor(x), seed)
        ours, told = ours.numpy(), Notes(notes, seed)
        columns = [int(value) for name, value in told.all if name == "categorised"]
        for c in range(x.shape[1]):
            if c not in columns:
                np.testing.assert_array_equal(ours[:, c], x[:, c])
        for c in columns:
            bounds = told.take("bounds")
            below = (x[:, [c]] > bounds).sum(1)
            renamed = dict(zip(below, ours[:, c], strict=True))
            assert len(set(renamed.values())) == len(renamed)
            np.testing.assert_array_equal([renamed[k] for k in below], ours[:, c])
            assert set(bounds) <= set(x[:, c])
            assert 0 <= ours[:, c].min() and ours[:, c].max() <= len(bounds)
            seen += 1
    assert seen > 30
