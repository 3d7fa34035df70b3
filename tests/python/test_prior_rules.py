"""The rules family: few columns decide the target, exactly where there is no noise."""

import re

import causeway as cw
import numpy as np
import pytest

RULES = ("XOR", "parity", "sum", "AND/OR", "at least", "count", "decision list", "decision tree",
         "any of", "first of", "lookup")


class Dataset:
    """Dataset k with its drivers (columns) and its target without noise."""

    def __init__(self, prior, k):
        self.model = prior.describe(k)
        self.rule = next(n["mechanism"] for n in self.model["nodes"] if n["id"] == 2)
        self.drivers = [f for f, column in enumerate(self.model["features"]) if column["node"] == 0]
        world = prior.without_noise(k)
        self.x, self.y, self.clean = (t.numpy() for t in (world.x, world.y, world.counterfactual_y))

    @property
    def is_categorical(self):
        return all(self.model["features"][f]["n_categories"] > 0 for f in self.drivers)


@pytest.fixture(scope="module")
def binary():
    prior = cw.Prior("rules", rows=600, features=(4, 12), classes=2, seed=3)
    return [Dataset(prior, k) for k in range(150)]


def test_a_lookup_of_the_drivers_solves_the_task(binary):
    n_checked = 0
    for data in binary:
        if not data.is_categorical:
            continue
        cells, place = np.unique(data.x[:, data.drivers], axis=0, return_inverse=True)
        for cell in range(len(cells)):
            assert len(np.unique(data.clean[place.ravel() == cell])) == 1, data.rule
        n_checked += 1
    assert n_checked > 50


def test_distractors_are_not_needed(binary):
    """Real drivers too: trees on the drivers alone predict held-out rows."""
    ensemble = pytest.importorskip("sklearn.ensemble")
    scores = []
    for data in binary[:60]:
        x = data.x[:, data.drivers]
        forest = ensemble.ExtraTreesClassifier(100, max_features=None, random_state=0)
        scores.append(forest.fit(x[:400], data.clean[:400]).score(x[400:], data.clean[400:]))
    assert np.quantile(scores, 0.1) > 0.85 and np.median(scores) > 0.97


def test_a_linear_model_does_not_solve_parity(binary):
    linear_model = pytest.importorskip("sklearn.linear_model")
    tree = pytest.importorskip("sklearn.tree")
    linear, trees = [], []
    for data in binary:
        if not data.rule.startswith(("parity", "XOR")) or not data.is_categorical:
            continue
        x, y = data.x[:, data.drivers], data.clean
        # One-hot, so that it is the interaction and not the order of the codes that is missing.
        hot = np.concatenate([x[:, [f]] == np.unique(x[:, f]) for f in range(x.shape[1])], 1)
        linear.append(linear_model.LogisticRegression().fit(hot[:400], y[:400])
                      .score(hot[400:], y[400:]))
        model = tree.DecisionTreeClassifier(max_depth=12, random_state=0)
        trees.append(model.fit(hot[:400], y[:400]).score(hot[400:], y[400:]))
    assert len(linear) >= 10
    assert np.median(linear) < 0.65 and np.median(trees) > 0.97


def test_classes_are_balanced(binary):
    minority = [min(data.clean.mean(), 1 - data.clean.mean()) for data in binary]
    assert min(minority) > 0.1 and np.mean(np.array(minority) > 0.25) > 0.9


@pytest.mark.parametrize("classes", [3, 10])
def test_many_classes(classes):
    prior = cw.Prior("rules", rows=800, features=(6, 12), classes=classes, seed=5)
    seen, majority = [], []
    for _, y in prior.batch(60):
        counts = np.bincount(y.numpy().astype(int), minlength=classes)
        seen.append((counts > 0).sum())
        majority.append(counts.max() / counts.sum())
    assert np.mean(np.array(seen) >= classes - 1) > 0.7
    assert np.median(majority) < 2 / classes and max(majority) < 0.8


def test_descriptions_name_rule_and_drivers(binary):
    kinds = set()
    for data in binary:
        assert data.rule.startswith(RULES)
        kinds.add(next(kind for kind in RULES if data.rule.startswith(kind)))
        named = {int(name) for name in re.findall(r"\bx(\d+)", data.rule)}
        if data.rule.startswith(("any", "first")):
            assert named <= set(data.drivers) and len(named) >= 3
        else:
            assert named == set(data.drivers)
    assert kinds == set(RULES) - {"sum", "count", "first of"}


def test_random_labels(binary):
    """Labels differ from the rule as often as the Bayes error says; half of the tasks are exact."""
    said = np.array([data.model["bayes_error"] for data in binary])
    seen = np.array([(data.y != data.clean).mean() for data in binary])
    assert 0.35 < (said == 0).mean() < 0.65 and (seen[said == 0] == 0).all()
    assert abs(seen.mean() - said.mean()) < 4 * np.sqrt(said.mean() / (150 * 600))
    assert said.max() < 0.16


def test_column_types():
    prior = cw.Prior("rules", rows=300, features=9, classes=2, seed=8)
    types = []
    for k in range(80):
        n = np.array([column["n_categories"] for column in prior.describe(k)["features"]])
        assert ((n == 0) | ((n >= 2) & (n <= 8))).all()
        types.append("real" if (n == 0).all() else "binary" if (n == 2).all() else
                     "categorical" if (n > 0).all() else "mixed")
    assert {kind: types.count(kind) >= 5 for kind in set(types)} == dict.fromkeys(
        ("real", "binary", "categorical", "mixed"), True)


def test_regression_targets_take_the_values_of_the_outcomes():
    prior = cw.Prior("rules", rows=500, features=(3, 8), regression=True, seed=2)
    n_noisy = 0
    for k in range(40):
        data = Dataset(prior, k)
        values = np.unique(data.clean)
        assert 2 <= len(values) <= 64, data.rule
        if data.is_categorical:
            cells, place = np.unique(data.x[:, data.drivers], axis=0, return_inverse=True)
            assert all(np.ptp(data.clean[place.ravel() == c]) == 0 for c in range(len(cells)))
        n_noisy += len(np.unique(data.y)) > 100
    assert n_noisy == 40


def test_comparisons():
    prior = cw.Prior("rules", rows=400, features=(2, 8), classes=3, rule_weights={"lookup": 1, "comparison": 4}, seed=6)
    seen = set()
    for data in (Dataset(prior, k) for k in range(80)):
        match = re.match(r"comparison of x(\d+)(?: ([*+]) x(\d+))? and x(\d+)(?: [*+] x(\d+))?", data.rule)
        if match is None or not data.is_categorical:
            continue
        codes = [data.x[:, f] * data.model["features"][f]["deviation"] + data.model["features"][f]["mean"] + 1
                 for f in (int(name) for name in match.group(1, 3, 4, 5) if name)]
        codes = [np.round(code) for code in codes]
        combine = {"*": np.multiply, "+": np.add, None: lambda a: a}[match.group(2)]
        half = len(codes) // 2
        signs = np.sign(combine(*codes[:half]) - combine(*codes[half:]))
        for sign in (-1, 0, 1):
            assert len(np.unique(data.clean[signs == sign])) <= 1, data.rule
        assert len(np.unique(data.clean)) > 1
        seen.add((match.group(2), half))
    assert seen == {("*", 2), ("+", 2), (None, 1)}


def test_weights_of_rules():
    options = {"rows": 100, "features": (4, 8), "classes": 2, "seed": 6}
    lines = cw.Prior("rules", rule_weights="lines=1", **options)
    assert all(Dataset(lines, k).rule.startswith("any of") for k in range(20))
    # A rule that does not suit the number of classes is a lookup.
    many = cw.Prior("rules", rule_weights={"comparison": 1}, **options | {"classes": 5})
    assert all(Dataset(many, k).rule.startswith("lookup") for k in range(20))
    plain = cw.Prior("rules", **options)
    assert "rule_weights" not in plain.config and lines.config["rule_weights"] == [0, 0, 0, 0, 0, 1, 0, 0]
    same = cw.Prior("rules", rule_weights=[2, 1, 1, 1, 1, 2, 2, 0], **options)
    assert same.batch(20).hashes() == plain.batch(20).hashes()
    for weights in ("lines=-1", "lines=0", [1] * 9, "row=1"):
        with pytest.raises(cw.InvalidArgument, match="rule"):
            cw.Prior("rules", rule_weights=weights, **options)


def test_interventions_on_drivers_follow_the_rule():
    """Rows that had the value keep their target; the rest has that of rows with the same cells."""
    prior = cw.Prior("rules", rows=500, features=6, classes=2, seed=4)
    n_changed = 0
    for k in range(40):
        data = Dataset(prior, k)
        if data.model["bayes_error"] > 0 or not data.is_categorical:
            continue
        table = {tuple(row): label for row, label in
                 zip(data.x[:, data.drivers], data.clean, strict=True)}
        for column in data.drivers:
            value = float(np.unique(data.x[:, column])[0])
            world = prior.intervene(k, column, value)
            x, y = world.counterfactual_x.numpy()[:, data.drivers], world.counterfactual_y.numpy()
            for row, label in zip(x, y, strict=True):
                assert table.get(tuple(row), label) == label
            n_changed += (y != data.clean).any()
    assert n_changed > 10
