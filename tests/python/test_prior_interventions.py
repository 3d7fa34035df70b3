"""Interventions, datasets without noise, and Bayes errors."""

import causeway as cw
import numpy as np
import pytest
from causeway._testing import prior_parts as parts
from prior_oracle import same


def strict_descendants(model, node):
    found = set()
    for parent, child in model["edges"]:  # in order
        if parent == node or parent in found:
            found.add(child)
    return found


@pytest.mark.parametrize("options", [
    {"family": "graph"}, {"family": "graph", "graph_noise": True, "regression": True},
    {"family": "graph", "reference_warps": True}, {"family": "mlp"}, {"family": "tree"},
    {"family": "simple"}, {"family": "rules"}, {"family": "linear"},
], ids=lambda o: "-".join(map(str, o.values())))
def test_interventions_change_descendants_only(options):
    prior = cw.Prior(**options, rows=64, features=(2, 7), classes=(2, 4), seed=12)
    n_changed, n_kept = 0, 0
    for k in range(16):
        model = prior.describe(k)
        expected = prior.batch(1, first=k)[0]
        for column in range(0, model["n_features"], 2):
            try:
                world = prior.intervene(k, column, 0.5)
            except cw.InvalidArgument as error:
                assert "categories" in str(error)
                continue
            same([(world.x.numpy(), world.y.numpy())], [tuple(t.numpy() for t in expected)])
            below = strict_descendants(model, model["features"][column]["node"])
            x, z = world.x.numpy(), world.counterfactual_x.numpy()
            assert len(np.unique(z[:, column])) == 1
            if model["features"][column]["n_categories"] == 0:
                limit = np.abs(x[:, column]).max() + 1e-4  # beyond it clamped
                if limit > 0.5 and model["features"][column]["kind"] == "numeric":
                    np.testing.assert_allclose(z[:, column], 0.5, atol=2e-3)
            for f, source in enumerate(model["features"]):
                if f == column:
                    continue
                if source["node"] in below:
                    n_changed += (x[:, f] != z[:, f]).any()
                else:
                    np.testing.assert_array_equal(x[:, f], z[:, f])
                    n_kept += 1
            if model["target"]["node"] in below:
                n_changed += (world.y.numpy() != world.counterfactual_y.numpy()).any()
            else:
                np.testing.assert_array_equal(world.y.numpy(), world.counterfactual_y.numpy())
                n_kept += 1
    assert n_changed > 10 and n_kept > 0


def test_interventions_on_causes_reach_the_target():
    """Where features are all the causes there are, the target's change is the function's own."""
    prior = cw.Prior("simple", rows=64, features=3, regression=True, seed=4)
    functions = [np.sin, np.cos, np.tanh, np.exp, lambda z: z]
    for k in range(8):
        world = prior.intervene(k, 1, 0.25)
        weight, scale, shift, kind = parts.simple_term(4, k, 1)
        term = lambda v: weight * functions[kind](scale * v + shift)  # noqa: B023, E731
        change = term(0.25) - term(world.x.numpy()[:, 1].astype(float))
        np.testing.assert_allclose(world.counterfactual_y.numpy() - world.y.numpy(), change, atol=3e-5)


def test_counterfactual_pairs_share_their_noise():
    """An intervention that sets a feature to what it was anyway changes nothing in those rows."""
    checked = 0
    for family, noise in (("graph", True), ("mlp", False), ("tree", False)):
        prior = cw.Prior(family, rows=100, features=(2, 6), regression=True, graph_noise=noise,
                         filter_predictable=False, seed=8)
        for k in range(12):
            model = prior.describe(k)
            for column, source in enumerate(model["features"]):
                x = prior.batch(1, first=k)[0][0].numpy()[:, column]
                value, count = np.unique(x, return_counts=True)
                value = value[count.argmax()]
                if count.max() < 5 or source["kind"] not in ("numeric", "neighbour_centre",
                                                             "neighbour_number", "softmax_number"):
                    continue
                try:
                    world = prior.intervene(k, column, float(value))
                except cw.InvalidArgument:
                    continue
                rows = world.x.numpy()[:, column] == value
                if not (world.counterfactual_x.numpy()[:, column] == value).all():
                    continue  # rounded on the way to the node's units
                np.testing.assert_array_equal(world.counterfactual_y.numpy()[rows], world.y.numpy()[rows])
                np.testing.assert_array_equal(world.counterfactual_x.numpy()[rows], world.x.numpy()[rows])
                checked += 1
    assert checked >= 5


@pytest.mark.parametrize("family", ["mlp", "tree"])
def test_targets_without_noise_are_functions_of_the_features(family):
    """Without noise, rows with the same causes have the same target."""
    prior = cw.Prior(family, rows=200, features=1, regression=True, seed=21)
    checked = 0
    for k in range(150):
        feature = prior.describe(k)["features"][0]
        if family == "mlp" and feature["node"] != 0:
            continue  # a causal network: the feature is not all there is
        if feature["kind"] == "categories":
            continue  # cut after the target was made
        world = prior.without_noise(k)
        x, y, quiet = (t.numpy() for t in (world.x, world.y, world.counterfactual_y))
        np.testing.assert_array_equal(world.x.numpy(), world.counterfactual_x.numpy())
        values, place, counts = np.unique(x[:, 0], return_inverse=True, return_counts=True)
        if len(values) > 40 or np.ptp(y) == 0:
            continue
        inner = [v for v in range(1, len(values) - 1) if counts[v] > 1]  # the ends may be clamped
        assert all(len(np.unique(quiet[place == v])) == 1 for v in inner)
        noisy = any(len(np.unique(y[place == v])) > 1 for v in inner)
        checked += noisy
    assert checked >= 5


def test_graphs_without_noise():
    """Columns of nodes without parents stay, those after noise change; twice gives the same."""
    prior = cw.Prior("graph", rows=150, features=(4, 10), regression=True, graph_noise=True, seed=3)
    changed = 0
    for k in range(15):
        model = prior.describe(k)
        world = prior.without_noise(k)
        again = prior.without_noise(k)
        np.testing.assert_array_equal(world.counterfactual_y.numpy(), again.counterfactual_y.numpy())
        parents = {node["id"]: node["parents"] for node in model["nodes"]}
        for f, source in enumerate(model["features"]):
            kept = (world.x.numpy()[:, f] == world.counterfactual_x.numpy()[:, f]).all()
            if not parents[source["node"]] and not source["kind"].startswith("softmax"):
                assert kept
            else:
                changed += not kept
        if parents[model["target"]["node"]]:
            changed += (world.y.numpy() != world.counterfactual_y.numpy()).any()
    assert changed > 10


def test_nothing_changes_where_there_is_no_noise():
    prior = cw.Prior("graph", rows=100, features=(2, 6), regression=True, seed=3)
    plain = 0
    for k in range(30):
        model = prior.describe(k)
        if any(source["kind"].startswith("softmax") for source in model["features"]):
            continue
        world = prior.without_noise(k)
        same([(world.x.numpy(), world.y.numpy())], [(world.counterfactual_x.numpy(), world.counterfactual_y.numpy())])
        plain += 1
    assert plain > 5


def test_bayes_errors():
    """Sampled classes differ from the likeliest as often as the estimate says."""
    n_rows = 250
    prior = cw.Prior("graph", rows=n_rows, features=(1, 3), classes=(2, 5), nodes=(2, 6), seed=5)
    said, seen, rows, n_sampled = 0.0, 0, 0, 0
    for facts in prior.batch(100).facts:
        model = prior.describe(facts.index)
        if not model["target"]["kind"].startswith("softmax"):
            assert facts.bayes_error == 0
            continue
        assert 0 <= facts.bayes_error < 1
        if any(source["kind"].startswith("softmax") for source in model["features"]):
            continue  # whose noise may have reached the target
        world = prior.without_noise(facts.index)
        seen += (world.y.numpy() != world.counterfactual_y.numpy()).sum()
        said += facts.bayes_error * n_rows
        rows += n_rows
        n_sampled += 1
    assert n_sampled >= 10
    deviation = np.sqrt(said * (1 - said / rows))
    assert abs(seen - said) < 4 * deviation, (seen, said, deviation)
