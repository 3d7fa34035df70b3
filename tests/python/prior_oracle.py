"""Reference implementations of the mechanisms of priors in NumPy and float64, given the random draws."""

import causeway as cw
import numpy as np
from causeway._testing import prior_parts as parts

CHOICES = ("function cheap_function matrix simple_matrix activation plain_activation "
           "fixed_activation activation_first activation_last product_kernel base_points "
           "covariance_points numeric_converter categorical_converter categorical_wide parents "
           "aggregation").split()
NUMBERS = ("n_nodes n_feature_nodes category_limit category_size node_width node_importance "
           "weights_decay weights_spread mlp_width mlp_layers n_trees tree_depth n_centres "
           "distance_power gp_decay gp_scale em_components em_spread em_power em_exponent "
           "kernel_scale relu_exponent power_exponent negative_exponent integer_exponent rescale "
           "kumaraswamy_a kumaraswamy_b softmax_scale mixture_centres noise").split()
FUNCTIONS = "mlp trees nearest linear quadratic gaussian_process clusters product".split()
CHEAP = "gaussian_process trees nearest linear quadratic".split()
MATRICES = "gaussian weights singular_values kernel activation".split()
ACTIVATIONS = ("tanh leaky_relu elu identity selu silu relu softplus relu6 hardtanh sign heaviside "
               "rbf exp inside_unit sin square magnitude log_magnitude rank sigmoid round fraction "
               "softmax is_max argsort log_sigmoid relu_power signed_power negative_power "
               "integer_power").split()
CONVERTERS = ("neighbour neighbour_centre neighbour_function neighbour_number softmax "
              "softmax_centre softmax_number numeric kumaraswamy").split()


def same(ours, theirs):
    """Asserts that two lists of (x, y) hold the same values."""
    assert len(ours) == len(theirs)
    for (x, y), (u, v) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(x, u)
        np.testing.assert_array_equal(y, v)


def choices(**forced):
    """Categories that choices must take, as the parts want them."""
    return {CHOICES.index(name): category for name, category in forced.items()}


def tensor(values):
    return cw.array(np.ascontiguousarray(values, np.float32))


class Notes:
    """What a run told, read in order."""

    def __init__(self, notes, seed=0):
        self.all = [(name, value if isinstance(value, float) else value.numpy())
                    for name, value in notes]
        self.at = 0
        self.seed = seed

    def take(self, name):
        """The next of a name."""
        for at in range(self.at, len(self.all)):
            if self.all[at][0] == name:
                self.at = at + 1
                return self.all[at][1]
        raise AssertionError(f"no {name} after {self.at} of {[n for n, _ in self.all]}")

    def matrix(self, name, shape):
        return self.take(name).astype(np.float64).reshape(shape)

    def integers(self, name):
        return self.take(name).view(np.int32)

    def normals(self, name, rows, n):
        """Standard normal numbers of a site."""
        return parts.row_normals(self.seed, int(self.take(name)), rows, n).numpy().astype(float)


def bits(seed, site, count, b=0):
    return parts.bits(seed, int(site), count, b).numpy()


def open_uniform(words):
    return ((words >> 9) + 0.5) * 2.0**-23


def bounded(words, limit):
    return (words * limit) >> 32


def standardise(x, epsilon=1e-4):
    return (x - x.mean(0)) / (x.std(0) + epsilon)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_sigmoid(x):
    return -np.logaddexp(0.0, -x)


def activate(kind, x, exponent):
    """One of the 31, along the last axis where it looks at all of it."""
    with np.errstate(all="ignore"):
        return {
            "tanh": lambda: np.tanh(x),
            "leaky_relu": lambda: np.where(x > 0, x, 0.01 * x),
            "elu": lambda: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
            "identity": lambda: x,
            "selu": lambda: 1.0507009873554805 * np.where(
                x > 0, x, 1.6732632423543772 * np.expm1(np.minimum(x, 0))),
            "silu": lambda: x * np.exp(log_sigmoid(x)),
            "relu": lambda: np.maximum(x, 0),
            "softplus": lambda: np.logaddexp(0, x),
            "relu6": lambda: np.clip(x, 0, 6),
            "hardtanh": lambda: np.clip(x, -1, 1),
            "sign": lambda: np.where(x >= 0, 1.0, -1.0),
            "heaviside": lambda: np.where(x >= 0, 1.0, 0.0),
            "rbf": lambda: np.exp(-(x**2)),
            "exp": lambda: np.exp(x),
            "inside_unit": lambda: (np.abs(x) <= 1).astype(float),
            "sin": lambda: np.sin(x),
            "square": lambda: x**2,
            "magnitude": lambda: np.abs(x),
            "log_magnitude": lambda: np.log(np.maximum(np.abs(x), 1e-6)),
            "rank": lambda: np.argsort(np.argsort(x, -1, kind="stable"), -1).astype(float),
            "sigmoid": lambda: np.exp(log_sigmoid(x)),
            "round": lambda: np.round(x),
            "fraction": lambda: x - np.floor(x),
            "softmax": lambda: softmax(x),
            "is_max": lambda: (x == x.max(-1, keepdims=True)).astype(float),
            "argsort": lambda: np.argsort(x, -1, kind="stable").astype(float),
            "log_sigmoid": lambda: log_sigmoid(x),
            "relu_power": lambda: np.maximum(x, 0) ** exponent,
            "signed_power": lambda: np.where(x >= 0, 1.0, -1.0) * np.abs(x) ** exponent,
            "negative_power": lambda: (np.abs(x) + 1e-3) ** -exponent,
            "integer_power": lambda: x ** int(exponent),
        }[kind]()


def weights(seed, site, row, n):
    """Positive weights of length sqrt(n): a power law with noise, shuffled."""
    number = lambda name, low, high, mass, at: parts.numbers(  # noqa: E731
        NUMBERS.index(name), low, high, True, mass, True, seed, site, at + 1).numpy()[at]
    decay = number("weights_decay", 0.1 / np.log(1 + n), 6.0, True, 4 * row)
    spread = number("weights_spread", 1e-4, 10.0, False, 4 * row + 1)
    noise = parts.row_normals(seed, site ^ 0x80000000, row + 1, n).numpy()[row].astype(float)
    logs = spread * noise - decay * np.log(np.arange(1, n + 1))
    for i in range(n - 1, 0, -1):
        word = parts.bits(seed, site ^ 0xC0000000, row + 1, i).numpy()[row, 0]
        j = bounded(word, i + 1)
        logs[i], logs[j] = logs[j], logs[i]
    values = np.exp(logs - logs.max())
    return values * np.sqrt(n) / np.linalg.norm(values)


def unit_rows(matrix):
    return matrix / (1e-6 + np.linalg.norm(matrix, axis=-1, keepdims=True))


def finish(notes, matrix):
    n_batch, n, m = matrix.shape
    return unit_rows(matrix + 1e-6 * notes.normals("finish_site", n_batch * n, m).reshape(matrix.shape))


def mixture(notes, n_points):
    """Points of a Gaussian mixture of three dimensions."""
    site = int(notes.take("point_site"))
    components = notes.matrix("components", (-1, 12))
    cumulative = notes.take("component_weights").astype(float)
    step = parts.row_normals(notes.seed, site, n_points, 3).numpy().astype(float)
    place = open_uniform(bits(notes.seed, site, n_points, 1)[:, 0]) * cumulative[-1]
    which = np.minimum(np.searchsorted(cumulative, place, side="right"), len(cumulative) - 1)
    shapes = components[:, 3:].reshape(-1, 3, 3)
    return components[which, :3] + np.einsum("pij,pj->pi", shapes[which], step)


def simple_matrix(notes, n_batch, n, m):
    kind = MATRICES[int(notes.take("simple_matrix"))]
    shape = (n_batch, n, m)
    if kind == "gaussian":
        return notes.normals("gaussian_site", n_batch * n, m).reshape(shape)
    if kind == "weights":
        site = int(notes.take("weights_site"))
        drawn = parts.weights(notes.seed, site, n_batch * n, m).numpy().astype(float)
        return unit_rows(drawn * notes.normals("signs_site", n_batch * n, m)).reshape(shape)
    if kind == "singular_values":
        k = min(n, m)
        u = notes.normals("u_site", n_batch * n, k).reshape(n_batch, n, k)
        v = notes.matrix("v", (n_batch, k, m))
        return (u * notes.matrix("values", (n_batch, 1, k))) @ v
    points = mixture(notes, n_batch * (n + m))
    scale, site = notes.take("kernel_scale"), int(notes.take("kernel_site"))
    told = notes.matrix("kernel_points", (n_batch * (n + m), 3))
    np.testing.assert_allclose(told, points, rtol=1e-4, atol=1e-4 * np.abs(points).max())
    told = told.reshape(n_batch, n + m, 3)
    distance = np.linalg.norm(told[:, :n, None] - told[:, None, n:], axis=-1)
    words = np.concatenate(
        [bits(notes.seed, site, n_batch * n, b) for b in range((m + 127) // 128)], 1)
    columns = np.arange(m)
    signs = (words[:, columns // 32] >> (columns % 32) & 1).reshape(shape)
    return np.exp(-scale * distance) * np.where(signs == 1, 1.0, -1.0)


def random_matrix(notes, n_batch, n, m):
    kind = MATRICES[int(notes.take("matrix"))]
    made = simple_matrix(notes, n_batch, n, m)
    if kind == "activation":
        made = finish(notes, made)
        act, exponent = ACTIVATIONS[int(notes.take("activation"))], notes.take("exponent")
        made = activate(act, made.reshape(n_batch, n * m), exponent).reshape(made.shape)
        made = made + 1e-3 * notes.normals("roughness_site", n_batch * n, m).reshape(made.shape)
    return finish(notes, made)


def random_activation(notes, x):
    kind, exponent = ACTIVATIONS[int(notes.take("activation"))], notes.take("exponent")
    scale, site = notes.take("scale"), notes.take("row_site")
    rows = bounded(bits(notes.seed, site, x.shape[1])[:, 0], len(x))
    x = standardise(x)
    return standardise(activate(kind, scale * (x - x[rows, np.arange(x.shape[1])]), exponent))


def nearest(x, centres, p):
    """The nearest centre of each row, and by how much the second is farther."""
    distance = (np.abs(x[:, None] - centres[None]) ** p).sum(-1)
    if distance.shape[1] == 1:
        return np.zeros(len(x), int), np.ones(len(x))
    best, second = np.partition(distance, 1, axis=1)[:, :2].T
    return distance.argmin(1), (second - best) / (second + 1e-30)


class Functions:
    """Evaluates functions as their notes say; `margin` is how clear the closest decision was."""

    def __init__(self, notes):
        self.notes = notes
        self.margin = 1.0
        self.error = 0.0  # how far rounding may carry a result

    def __call__(self, x, n_out):
        kind = FUNCTIONS[int(self.notes.take("function"))]
        return getattr(self, kind)(x, n_out)

    def linear(self, x, n_out):
        return x @ self.notes.matrix("linear", (n_out, x.shape[1])).T

    def mlp(self, x, n_out):
        notes = self.notes
        width, n_layers = int(notes.take("width")), int(notes.take("layers"))
        first, last = notes.take("activation_first"), notes.take("activation_last")
        if first:
            x = random_activation(notes, x)
        for layer in range(n_layers):
            is_last = layer + 1 == n_layers
            x = self.linear(x, n_out if is_last else width)
            if not is_last or last:
                x = random_activation(notes, x)
        return x

    def trees(self, x, n_out):
        n_trees, depth = int(self.notes.take("trees")), int(self.notes.take("depth"))
        thresholds = self.notes.take("thresholds").reshape(n_trees, depth)
        columns = self.notes.integers("split_columns").reshape(n_trees, depth)
        total = np.zeros((len(x), n_out))
        for tree in range(n_trees):
            sides = x.astype(np.float32)[:, columns[tree]] > thresholds[tree]
            leaves = self.notes.matrix("leaves", (n_out, 1 << depth))
            total += leaves[:, sides @ (1 << np.arange(depth))].T
        return total / n_trees

    def nearest(self, x, n_out):
        p = self.notes.take("p")
        matrix = self.notes.matrix("nearest_matrix", (n_out, x.shape[1]))
        centres = self.notes.matrix("centres", (-1, x.shape[1]))
        found, margin = nearest(x, centres, p)
        self.margin = np.minimum(self.margin, margin)
        return (centres @ matrix.T)[found]

    def quadratic(self, x, n_out):
        used = [int(self.notes.take("used")) for _ in range(min(x.shape[1], 20))]
        assert len(set(used)) == len(used)
        z = np.concatenate([x[:, used], np.ones((len(x), 1))], 1)
        return np.einsum("oij,bi,bj->bo", self.notes.matrix("tensor", (n_out, z.shape[1], z.shape[1])),
                         z, z)

    def gaussian_process(self, x, n_out):
        notes, n_in = self.notes, x.shape[1]
        product, decay = notes.take("product_kernel"), notes.take("decay")
        site = int(notes.take("radius_site"))
        radius = lambda words: np.clip(  # noqa: E731
            open_uniform(words), 1e-6, 1 - 1e-6) ** (1 / (1 - decay)) - 1
        if product:
            frequencies = radius(bits(notes.seed, site, 256 * n_in)[:, 0]).reshape(256, n_in)
        else:
            scale = notes.take("gp_scale")
            directions = notes.normals("direction_site", 256, n_in)
            transform = notes.matrix("transform", (n_in, n_in))
            axis = notes.take("axis_weights").astype(float)
            directions *= (scale * radius(bits(notes.seed, site, 256, 1)[:, 0])
                           / np.linalg.norm(directions, axis=1))[:, None]
            frequencies = directions @ transform.T * axis
        phases = notes.take("phases").astype(float)
        told = notes.matrix("frequencies", (256, n_in))
        np.testing.assert_allclose(told, frequencies, rtol=2e-5, atol=2e-5 * np.abs(frequencies).max())
        w = notes.matrix("weights", (n_out, 256))
        slack = 4e-7 * (np.abs(x) @ np.abs(told).T + 7)
        self.error = np.maximum(self.error, np.minimum(slack, 2.0) @ np.abs(w).T)
        return np.cos(x @ told.T + phases) @ w.T

    def clusters(self, x, n_out):
        p, q = self.notes.take("p"), self.notes.take("q")
        centres = self.notes.matrix("centres", (-1, x.shape[1]))
        log_widths = self.notes.take("log_widths").astype(float)
        distance = (np.abs(x[:, None] - centres[None]) ** p).sum(-1) ** (1 / p)
        logits = -0.5 * np.log(2 * np.pi) - log_widths - (distance / np.exp(log_widths)) ** q
        # An exponent of hundreds is known to 1e-5 or so.
        self.error = np.maximum(self.error, 1e-6 * np.abs(logits).max())
        return self.linear(softmax(logits), n_out)

    def product(self, x, n_out):
        """Of two, each with its own error; they multiply."""
        parts_of = []
        for _ in range(2):
            one = Functions(self.notes)
            parts_of.append((one(x, n_out), one))
        (a, of_a), (b, of_b) = parts_of
        self.margin = np.minimum(of_a.margin, of_b.margin)
        self.error = np.abs(a) * of_b.error + np.abs(b) * of_a.error
        return a * b


def close(ours, theirs, rtol, atol=0.0, share=1.0):
    """Equal within a relative tolerance of the greatest number, in `share` of the rows or more."""
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    assert ours.shape == theirs.shape
    bound = rtol * np.maximum(np.abs(theirs), np.abs(theirs).max(0, keepdims=True)) + atol + 1e-30
    inside = (np.abs(ours - theirs) <= bound).reshape(len(ours), -1).all(1)
    worst = np.nanmax(np.abs(ours - theirs) / bound)
    assert inside.mean() >= share, f"{1 - inside.mean():.3%} of rows differ, up to {worst:.3g} bounds"


def correlated_unit(rng, count):
    """One draw each of many datasets: of a Beta law drawn for each."""
    place, weight = rng.random(count), np.exp(rng.uniform(np.log(0.1), np.log(1e4), count))
    return rng.beta(place * weight + 1e-12, (1 - place) * weight + 1e-12)


def correlated_integers(rng, low, high, log, count):
    unit = correlated_unit(rng, count)
    ends = (np.log(low), np.log(high)) if log else (low, high)
    values = ends[0] + (ends[1] - ends[0]) * unit
    return np.clip(np.floor(np.exp(values) if log else values), low, high - 1)
