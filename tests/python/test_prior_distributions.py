"""Distributions of the graphs, networks and datasets of priors, with fixed seeds."""

import causeway as cw
import numpy as np
import pytest
from causeway._testing import prior_parts as parts
from goodness_of_fit import counts_fit, fits, log_integer_shares, rate_is, same_counts
from prior_oracle import CONVERTERS, NUMBERS, Notes, choices, correlated_integers

stats = pytest.importorskip("scipy.stats")
special = pytest.importorskip("scipy.special")


# --- graphs -------------------------------------------------------------------------------------


def edge_matrix(plan):
    masks = np.array(plan["parents"])
    return (masks[None, :] >> np.arange(len(masks))[:, None]) & 1  # [from, to]


def test_edges(rng):
    n, count = 8, 3000
    shares, ours = [], np.zeros((n, n))
    for k in range(count):
        edges = edge_matrix(parts.plan(1, k, 3, 2, min_nodes=n, max_nodes=n, connected=False))
        assert not np.tril(edges).any()  # from lower to higher: acyclic
        ours += edges
        shares.append(edges.sum() / (n * (n - 1) / 2))
    # Three Cauchy numbers add up to one about 0: half of all edges, though far from independently.
    simulated = []
    for _ in range(6000):
        base, gives, takes = rng.standard_cauchy(), rng.standard_cauchy(n), rng.standard_cauchy(n)
        p = special.expit(base + gives[:, None] + takes[None, :])
        simulated.append(np.triu(rng.random((n, n)) <= p, 1).sum() / (n * (n - 1) / 2))
    fits(shares, np.array(simulated))
    rates = ours[np.triu_indices(n, 1)] / count
    assert np.abs(rates - 0.5).max() < 5 * 0.5 / np.sqrt(count)


def test_edge_offset_makes_graphs_denser():
    density = [np.mean([edge_matrix(parts.plan(
        1, k, 3, 2, min_nodes=8, max_nodes=8, edge_offset=offset, connected=False)).sum()
        for k in range(300)]) for offset in (-3.0, 0.0, 3.0)]
    assert density[0] < density[1] - 2 < density[2] - 4


def test_nodes(rng):
    ours = np.array([len(parts.plan(2, k, 3, 2, connected=False)["parents"]) for k in range(4000)])
    same_counts(ours, correlated_integers(rng, 2, 33, True, 40000))
    widths = np.array([parts.plan(2, k, 3, 2, connected=False)["latent_widths"][0]
                       for k in range(4000)])
    same_counts(widths, correlated_integers(rng, 1, 32, True, 40000))


def test_columns_lie_on_few_nodes(rng):
    """A subset of the nodes holds all features, another the target."""
    n = 10
    used = np.array([len({c[0] for c in parts.plan(3, k, 200, 2, min_nodes=n, max_nodes=n,
                                                   connected=False)["columns"][:-1]})
                     for k in range(2000)])
    theirs = correlated_integers(rng, 1, n + 1, False, 20000)
    same_counts(used, theirs)  # with 200 columns, a node of the subset is left out hardly ever
    target = np.array([parts.plan(3, k, 3, 2, min_nodes=n, max_nodes=n, connected=False)
                       ["columns"][-1][0] for k in range(4000)])
    counts_fit(np.bincount(target, minlength=n), np.ones(n))


def test_features_and_target_share_an_ancestor():
    def ancestors(plan, nodes):
        found = set(nodes)
        for node in range(len(plan["parents"]) - 1, -1, -1):
            if node in found:
                found |= {p for p in range(node) if plan["parents"][node] >> p & 1}
        return found

    for k in range(500):
        plan = parts.plan(4, k, 2, 2)
        nodes = [c[0] for c in plan["columns"]]
        of_x, of_y = ancestors(plan, nodes[:-1]), ancestors(plan, nodes[-1:])
        assert of_x & of_y
        needed = {n for n in range(len(plan["parents"])) if plan["needed"] >> n & 1}
        assert needed == of_x | of_y


def test_shares_of_categorical_columns():
    n = 100
    plans = [parts.plan(5, k, n, 2, connected=False) for k in range(4000)]
    share = np.array([sum(c[1] > 0 for c in plan["columns"][:-1]) for plan in plans]) / n
    # clip(U(-0.5, 1.2), 0, 1), rounded to hundredths.
    rate_is((share == 0).sum(), 4000, 0.505 / 1.7)
    rate_is((share == 1).sum(), 4000, 0.205 / 1.7)
    inner = share[(share > 0) & (share < 1)]
    counts, _ = np.histogram(inner, np.linspace(0.005, 0.995, 12))
    counts_fit(counts, np.ones(11))


@pytest.mark.parametrize("few", [False, True])
def test_category_counts(few, rng):
    n = 40
    most, ours = [], []
    for k in range(3000):
        plan = parts.plan(6, k, n, 2, connected=False, few_categories=few)
        sizes = [c[1] for c in plan["columns"][:-1] if c[1] > 0]
        if len(sizes) == n:
            most.append(max(sizes))
            ours.append(sizes[rng.integers(n)])
    theirs_most, theirs = [], []
    for _ in range(4000):
        limit = (correlated_integers(rng, 2, 10, True, 1)[0] if few else
                 np.clip(np.floor(np.exp(rng.uniform(np.log(2), np.log(201)))), 2, 200))
        n_free = int(np.clip(np.floor(np.clip(1.2 * rng.random() - 0.1, 0, 1) * (n + 1)), 0, n))
        free = np.floor(np.exp(rng.uniform(np.log(2), np.log(limit + 1), n_free)))
        high = min(10, limit + 1)
        place, weight = rng.random(), np.exp(rng.uniform(np.log(0.1), np.log(1e4)))
        unit = rng.beta(place * weight + 1e-12, (1 - place) * weight + 1e-12, n - n_free)
        bound = np.clip(np.floor(np.exp(np.log(2) + (np.log(high) - np.log(2)) * unit)), 2, high - 1)
        sizes = np.concatenate([free, bound])
        theirs_most.append(sizes.max())
        theirs.append(rng.choice(sizes))
    assert max(most) <= (9 if few else 200)
    same_counts(np.array(most) // 5, np.array(theirs_most) // 5)
    same_counts(np.array(ours), np.array(theirs))


def test_converters():
    kinds, widths, sizes = [], [], []
    for k in range(1500):
        plan = parts.plan(7, k, 20, 4, connected=False, even=True)
        for _, size, width, kind in plan["columns"][:-1]:
            if size == 0:
                assert CONVERTERS[kind] in ("numeric", "kumaraswamy") and width == 1
            else:
                assert kind < 7 and (width == size if kind >= 4 else 1 <= width <= size)
            if size >= 3:
                sizes.append(size)
                widths.append(width)
            kinds.append((size > 0, kind))
    kinds = np.array(kinds)
    numeric = kinds[kinds[:, 0] == 0, 1]
    counts_fit([(numeric == 7).sum(), (numeric == 8).sum()], [1, 1])
    counts_fit(np.bincount(kinds[kinds[:, 0] == 1, 1], minlength=7), np.ones(7))
    # Even choices: 4 of 7 look for neighbours, half of which take all of the width.
    rate_is(sum(w == s for w, s in zip(widths, sizes, strict=True)), len(sizes), 3 / 7 + 2 / 7)


def test_choices_are_correlated_unless_even():
    """Converters of one dataset are more alike than those of many."""
    def alike(even):
        pairs = []
        for k in range(600):
            columns = parts.plan(8, k, 10, 2, connected=False, even=even)["columns"][:-1]
            found = [kind for _, size, _, kind in columns if size > 0]
            pairs += [found[0] == found[1]] if len(found) > 1 else []
        return np.mean(pairs)

    assert abs(alike(True) - 1 / 7) < 0.06
    assert alike(False) > 0.3


# --- points and causes --------------------------------------------------------------------------


def base_points(kind, n, rows, seed):
    _, notes = parts.points(rows, n, seed, choices(base_points=kind, function=3))
    stride = -(-rows // 32) * 32
    return Notes(notes, seed).take("base_points").reshape(n, stride)[:, :rows].T.astype(float)


def test_points():
    even = base_points(0, 5, 4000, 1)
    for column in even.T:
        fits(column, stats.uniform(-1, 2).cdf)
    ball = base_points(1, 3, 4000, 1)
    radius = np.linalg.norm(ball, axis=1)
    fits(radius**3, stats.uniform.cdf)
    for column in (ball / radius[:, None]).T:
        fits(column, stats.uniform(-1, 2).cdf)  # Archimedes: heights on a sphere are even
    for column in base_points(2, 5, 4000, 1).T:
        fits(column, stats.norm.cdf)


def test_causes(rng):
    normal = parts.causes(4000, 4, 0, False, 1)[0].numpy()
    for column in normal.T:
        fits(column, stats.norm.cdf)
    even = parts.causes(4000, 4, 2, False, 1)[0].numpy()
    for column in even.T:
        fits(column, stats.uniform.cdf)
    fixed = parts.causes(500, 1500, 0, True, 1)[0].numpy().astype(float)
    means, deviations = fixed.mean(0), fixed.std(0)
    fits(means, rng.normal(size=20000) * np.sqrt(1 + rng.normal(size=20000) ** 2 / 500))
    fits(deviations, np.abs(rng.normal(size=20000) * rng.normal(size=20000)))


def kind_of_cause(column):
    values = np.unique(column)
    if len(values) > 25:
        return "normal" if column.min() < 0 else "even"
    steps = np.diff(values)
    return "zipf" if np.allclose(steps, np.round(steps), atol=1e-4) else "categories"


def test_mixed_causes():
    """The three thresholds are 0.66 U, of each dataset."""
    counts = {"normal": 0, "categories": 0, "zipf": 0, "even": 0}
    zipf = []
    for seed in range(300):
        x = parts.causes(300, 10, 1, False, seed)[0].numpy()
        for column in x.T:
            counts[kind_of_cause(column)] += 1
            if kind_of_cause(column) == "zipf":
                zipf.append(column - column.min())
    half = 0.33
    expected = {"normal": 1 - half, "categories": half * (1 - half),
                "zipf": half * half * (1 - half), "even": half**3}
    for kind, share in expected.items():  # columns of a dataset are correlated: no chi-square
        assert abs(counts[kind] / 3000 - share) < 0.035, (kind, counts)
    assert max(column.max() for column in zipf) <= 9
    top = np.mean([(column == 0).mean() for column in zipf])
    exponents = np.linspace(2, 4, 201)
    assert abs(top - (1 / special.zeta(exponents)).mean()) < 0.02


# --- networks and trees -------------------------------------------------------------------------


def mlp_plans(count=4000, n_features=5):
    return [parts.mlp_plan(1, k, n_features) for k in range(count)]


@pytest.fixture(scope="module")
def plans():
    return mlp_plans()


def truncated(rng, low, high, count):
    """A normal number above 0 whose mean and relative deviation are drawn."""
    mean = np.exp(rng.uniform(np.log(low), np.log(high), count))
    deviation = mean * np.exp(rng.uniform(np.log(0.01), 0, count))
    value = rng.normal(mean, deviation)
    while (value < 0).any():
        value = np.where(value < 0, rng.normal(mean, deviation), value)
    return value


def test_network_sizes(plans, rng):
    of = lambda name: np.array([plan[name] for plan in plans])  # noqa: E731
    causal = of("is_causal")
    same_counts(of("n_layers"), np.minimum(2 + np.rint(truncated(rng, 1, 6, 20000)), 16))
    hidden = np.minimum(4 + np.rint(truncated(rng, 5, 130, 20000)), 512)
    fits(of("n_hidden")[~causal], hidden)
    fits(of("n_hidden")[causal], np.maximum(hidden, 11))
    same_counts(of("n_causes")[causal], 1 + np.rint(truncated(rng, 1, 12, 20000)))
    assert (of("n_causes")[~causal] == 5).all()
    fits(of("weight_deviation"), truncated(rng, 0.01, 10, 20000))
    fits(of("noise"), truncated(rng, 1e-4, 0.3, 20000))
    a, b = rng.uniform(0.1, 5, (2, 20000))
    fits(of("dropout"), 0.9 * rng.beta(a, b))


def test_network_booleans(plans):
    for name in ("is_causal", "y_is_effect", "in_clique", "sort_features", "fixed_causes",
                 "fixed_noise", "blocks", "by_rank", "oblivious"):
        rate_is(sum(plan[name] for plan in plans), len(plans), 0.5)


def test_network_causes(plans, rng):
    odds = np.concatenate([np.ones((20000, 1)), rng.uniform(-3, 5, (20000, 2))], 1)
    shares = special.softmax(odds, 1).mean(0)
    counts_fit(np.bincount([plan["law"] for plan in plans], minlength=3), shares)


def test_network_activation_shares(plans, rng):
    kinds = np.stack([plan["kinds"].numpy() for plan in plans[:2000]])
    shares = np.diff(kinds, axis=1, prepend=0) / kinds[:, -1:]
    odds = np.concatenate([np.ones((4000, 1)), rng.uniform(-5, 6, (4000, 55))], 1)
    theirs = special.softmax(odds, 1)
    fits(shares[:, 1:].max(1), theirs[:, 1:].max(1))
    fits(shares[:, 0], theirs[:, 0])


def test_tree_sizes(plans):
    of = lambda name: np.array([plan[name] for plan in plans])  # noqa: E731
    gone = np.exp(-np.arange(4) / 2)  # an exponential number of mean 2 is above 0, 1, 2, 3
    counts_fit(np.bincount(of("tree_depth"), minlength=5)[2:], [1 - gone[1], gone[1] - gone[2], gone[2]])
    counts_fit(np.bincount(of("n_trees"), minlength=5)[1:],
               [1 - gone[1], gone[1] - gone[2], gone[2] - gone[3], gone[3]])
    counts_fit(np.bincount(of("tree_layers"), minlength=3)[1:], [1, 1])
    counts_fit(np.bincount(of("tree_hidden"), minlength=10)[3:], np.ones(7))


# --- shapes of datasets -------------------------------------------------------------------------


def facts_of(count, **options):
    return cw.Prior("simple", seed=3, **options).batch(count)


def test_sizes():
    batch = facts_of(6000, rows="log 16:60", features=(1, 4), classes=(2, 5), filter_classes=False)
    counts_fit(np.bincount(batch.n_rows, minlength=61)[16:], log_integer_shares(16, 61))
    counts_fit(np.bincount(batch.n_features, minlength=5)[1:], np.ones(4))
    counts_fit(np.bincount(batch.n_classes, minlength=6)[2:], np.ones(4))
    assert abs(np.corrcoef(batch.n_rows, batch.n_classes)[0, 1]) < 0.06


def test_train_shares():
    batch = facts_of(3000, rows=1000, features=1, regression=True, train_share=(0.3, 0.9))
    share = batch.n_train / 1000
    assert share.min() >= 0.3 and share.max() <= 0.9
    fits(share + np.random.default_rng(0).random(3000) / 1000, stats.uniform(0.3, 0.6).cdf)
    assert (facts_of(20, rows=1000, features=1, regression=True, train_share=0.8).n_train == 800).all()


def test_families_of_a_mix():
    prior = cw.Prior("mix", rows=24, features=1, regression=True, filter_predictable=False,
                     mix={"simple": 5, "mlp": 3, "tree": 2}, seed=2)
    families = [facts.family for facts in prior.batch(1200).facts]
    counts_fit([families.count(name) for name in ("simple", "mlp", "tree")], [5, 3, 2])


def test_simple_terms():
    terms = np.array([parts.simple_term(1, k, f) for k in range(2000) for f in range(3)])
    fits(terms[:, 0], stats.uniform(-2, 4).cdf)
    fits(terms[:, 1], stats.uniform(0.5, 1.5).cdf)
    fits(terms[:, 2], stats.uniform(-1, 2).cdf)
    counts_fit(np.bincount(terms[:, 3].astype(int), minlength=5), np.ones(5))


def test_simple_datasets_are_their_terms():
    prior = cw.Prior("simple", rows=64, features=6, regression=True, seed=4)
    functions = [np.sin, np.cos, np.tanh, np.exp, lambda z: z]
    batch = prior.batch(50)
    fits(batch.x.numpy().ravel(), stats.uniform(-np.sqrt(3), 2 * np.sqrt(3)).cdf)
    for k, (x, y) in enumerate(batch):
        total = 0.0
        for f in range(6):
            weight, scale, shift, kind = parts.simple_term(4, k, f)
            total = total + weight * functions[kind](scale * x.numpy()[:, f].astype(float) + shift)
        np.testing.assert_allclose(y.numpy(), total, atol=2e-5)


# --- missing values -----------------------------------------------------------------------------


def missing_by(k, missing_share=0.3, **options):
    """Whether cells are missing, and what they held."""
    options = {"rows": 1000, "features": 4, "regression": True, "seed": 5, **options}
    full = cw.Prior("simple", **options).batch(1, first=k)
    holed = cw.Prior("simple", missing_share=missing_share, **options).batch(1, first=k)
    np.testing.assert_array_equal(full.y.numpy(), holed.y.numpy())
    x, z = full.x.numpy()[0], holed.x.numpy()[0]
    gone = np.isnan(z)
    np.testing.assert_array_equal(x[~gone], z[~gone])
    return gone, x


def test_missing_rates():
    rates = np.array([missing_by(k, (0.1, 0.5))[0].mean() for k in range(400)])
    fits(rates, stats.uniform(0.1, 0.4).cdf)


def test_missing_mechanisms():
    counts = np.zeros(3, int)
    for k in range(150):
        gone, x = missing_by(k)
        own = np.array([np.corrcoef(gone[:, f], x[:, f])[0, 1] for f in range(4)])
        later = np.array([np.corrcoef(gone[:, f], x[:, (f + 1) % 4])[0, 1] for f in range(4)])
        by_own, by_later = (own > 0.25).all(), (later[:3] > 0.25).all()
        assert not (by_own and by_later)
        if not by_own and not by_later:
            assert np.abs(own).max() < 0.15 and np.abs(later).max() < 0.15
        counts[[0 if by_own else 1 if by_later else 2][0]] += 1
        np.testing.assert_allclose(gone.mean(), 0.3, atol=0.04)
    counts_fit(counts, [1, 1, 1])


def test_numbers_have_names():
    assert len(NUMBERS) == 31
