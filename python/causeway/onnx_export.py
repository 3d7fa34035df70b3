"""A fitted estimator as an ONNX graph, with its context rows fixed.

    classifier.export_onnx("model.onnx")   # needs the package onnx

The input "x" (rows, features) of doubles has the columns as the estimator encodes them, NaN where a value is
missing. The output is "probabilities" (rows, classes), in the order of classes_, or "mean" (rows,) for
regression. The graph computes the forward pass of the query rows only; keys and values of the context rows
are constants.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np

from .models import model_of
from .onnx_graph import Graph
from .onnx_inputs import Columns, Components, Powers, Ranked

__all__ = ["export_onnx"]

_OPSET = 18
_BUMPS = 16


class _Member:
    """The forward pass of one ensemble member."""

    def __init__(self, graph: Graph, model: Any, context: Any, n_classes: int) -> None:
        self.graph, self.config, self.n_classes = graph, model.config, n_classes
        self.weights = {name: np.asarray(values.to("cpu").numpy(), np.float32)
                        for name, values in model.state_dict().items()}
        self.moments = context._moments.to("cpu").numpy()[0]
        self.layers = [layer.to("cpu").numpy()[0] for layer in context._layers]
        self.sorted = None if context._sorted is None else context._sorted.to("cpu").numpy()[0]
        self.keys = None if context._keys is None else context._keys.to("cpu").numpy()[0]
        self.labels = context._labels.to("cpu").numpy()[0]
        self.n_columns = len(self.moments) - 1
        self.n_tokens = self.layers[0].shape[1] // self.config["heads"] - 1  # of features
        self.size = self.config["width"] // self.config["heads"]

    def _cell_parts(self, x: str, missing: str) -> list[str]:
        """The parts of each cell, (rows, columns): its value, a mark, and for radial inputs rank and bumps."""
        g = self.graph
        scaled = g.op("Mul", g.op("Sub", x, g.constant(self.moments[:-1, 0])), g.constant(self.moments[:-1, 1]))
        z = g.clip(scaled)
        parts = [g.where_missing(missing, z), g.op("Cast", missing, to=g.onnx.TensorProto.FLOAT)]
        if self.sorted is None:
            return parts
        parts.append(g.where_missing(missing, self._rank(x)))
        for i in range(_BUMPS):
            t = g.op("Sub", g.op("Div", g.op("Sub", z, g.constant(-3.0)), g.constant(0.4)), g.constant(float(i)))
            bump = g.op("Exp", g.op("Mul", g.op("Mul", t, t), g.constant(-0.5)))
            parts.append(g.where_missing(missing, bump))
        return parts

    def _rank(self, x: str) -> str:
        g = self.graph
        n = np.isfinite(self.sorted).sum(axis=1)
        cell, known = g.op("Unsqueeze", x, g.ints(2)), g.constant(self.sorted[None])
        counts = [g.op("ReduceSum", g.op("Cast", g.op(kind, known, cell), to=g.onnx.TensorProto.FLOAT), g.ints(2),
                       keepdims=0) for kind in ("Less", "LessOrEqual")]
        share = g.op("Div", g.op("Add", *counts), g.constant(np.maximum(2 * n, 1)))
        is_constant = (n == 0) | (self.moments[:-1, 1] == 0)
        return g.op("Where", g.constant(is_constant, bool), g.constant(0.5), share)

    def _tokens(self, x: str, missing: str) -> str:
        """Tokens (rows, 1 + feature tokens, width) of query rows."""
        g, config, encoder = self.graph, self.config, self.weights["encoder"]
        n, group, n_tokens = self.n_columns, config["group"], self.n_tokens
        parts = self._cell_parts(x, missing)
        after = [member if member < config["columns_per_token"] else 2**member - 1 for member in range(group)]
        pieces = [g.op("Unsqueeze", g.gather(part, [(t * n // n_tokens + k) % n for t in range(n_tokens)], 1), g.ints(2))
                  for part in parts for k in after]
        cells = g.op("Concat", *pieces, axis=2) if len(pieces) > 1 else pieces[0]
        feature = len(parts) * group
        features = g.linear(cells, encoder[:, :feature], encoder[:, feature])
        n_classes = 32 if config["decoder"] == "retrieval" else 0 if config["class_as_number"] else config["classes"]
        target, known = feature + 1, feature + 1 + max(n_classes, 1)
        token = encoder[:, known + 1]
        if config["class_as_number"]:  # query rows look like context rows with the mean target
            mean = self.moments[-1, 0] if config["classes"] else 0.0
            token = encoder[:, known] + mean * encoder[:, target]
        rows = g.op("Gather", g.op("Shape", x), g.ints(0), axis=0)
        shape = g.op("Concat", rows, g.ints(1, len(token)), axis=0)
        targets = g.op("Expand", g.constant(token[None, None]), shape)
        return g.op("Concat", targets, features, axis=1)

    def _norm(self, name: str, x: str) -> str:
        g, weight = self.graph, self.weights[f"{name}.weight"]
        bias = self.weights.get(f"{name}.bias")
        if bias is not None:
            return g.op("LayerNormalization", x, g.constant(weight), g.constant(bias), axis=-1, epsilon=1e-5)
        square = g.op("ReduceMean", g.op("Mul", x, x), g.ints(-1), keepdims=1)
        root = g.op("Sqrt", g.op("Add", square, g.constant(1e-5)))
        return g.op("Mul", g.op("Div", x, root), g.constant(weight))

    def _parts(self, name: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Weights and biases of q, k and v, which are interleaved by head."""
        heads, size = self.config["heads"], self.size
        weight = self.weights[f"{name}.qkv.weight"].reshape(heads, 3, size, -1)
        bias = self._bias(f"{name}.qkv").reshape(heads, 3, size)
        return ([weight[:, i].reshape(heads * size, -1) for i in range(3)],
                [bias[:, i].reshape(-1) for i in range(3)])

    def _bias(self, name: str) -> np.ndarray:
        """The bias of a linear layer, zeros if it has none."""
        bias = self.weights.get(f"{name}.bias")
        return np.zeros(len(self.weights[f"{name}.weight"]), np.float32) if bias is None else bias

    def _attention(self, q: str, k: str, v: str) -> str:
        """Of q (…, queries, size), k (…, size, keys), v (…, keys, size)."""
        g = self.graph
        scores = g.op("Mul", g.op("MatMul", q, k), g.constant(self.size**-0.5))
        return g.op("MatMul", g.op("Softmax", scores, axis=-1), v)

    def _project(self, name: str, x: str) -> str:
        weight = self.weights.get(f"{name}.projection.weight")
        return x if weight is None else self.graph.linear(x, weight, self._bias(f"{name}.projection"))

    def _columns(self, i: int, read: str, only_target: bool) -> str:
        g, heads, size, name = self.graph, self.config["heads"], self.size, f"layers.{i}.columns"
        weights, biases = self._parts(name)
        asking = g.gather(read, [0], 1) if only_target else read

        def by_head(x: str, part: int, order: list[int]) -> str:
            split = g.reshape(g.linear(x, weights[part], biases[part]), 0, -1, heads, size)
            return g.op("Transpose", split, perm=order)

        mixed = self._attention(by_head(asking, 0, [0, 2, 1, 3]), by_head(read, 1, [0, 2, 3, 1]),
                                by_head(read, 2, [0, 2, 1, 3]))
        joined = g.reshape(g.op("Transpose", mixed, perm=[0, 2, 1, 3]), 0, -1, heads * size)
        return self._project(name, joined)

    def _rows(self, i: int, read: str) -> str:
        """Attention to the context rows, for each column."""
        g, heads, size, name = self.graph, self.config["heads"], self.size, f"layers.{i}.rows"
        weights, biases = self._parts(name)
        kept = self.layers[i]  # (context rows, columns * heads, 2, size)
        n_columns = kept.shape[1] // heads
        q = g.reshape(g.linear(read, weights[0], biases[0]), 0, n_columns * heads, size)
        if f"{name}.scale.slope" in self.weights:
            scale = self.weights[f"{name}.scale.slope"] * np.log(len(kept)) + self.weights[f"{name}.scale.offset"]
            q = g.op("Mul", q, g.constant(np.tile(scale, n_columns)[None, :, None]))
        mixed = self._attention(g.op("Transpose", q, perm=[1, 0, 2]), g.constant(kept[:, :, 0].transpose(1, 2, 0)),
                                g.constant(kept[:, :, 1].transpose(1, 0, 2)))
        joined = g.reshape(g.op("Transpose", mixed, perm=[1, 0, 2]), 0, n_columns, heads * size)
        return self._project(name, joined)

    def _mlp(self, name: str, x: str) -> str:
        g = self.graph
        hidden = g.linear(x, self.weights[f"{name}.in.weight"], self._bias(f"{name}.in"))
        cube = g.op("Mul", g.op("Mul", hidden, hidden), hidden)
        inner = g.op("Add", hidden, g.op("Mul", cube, g.constant(0.044715)))
        bent = g.op("Tanh", g.op("Mul", inner, g.constant(np.sqrt(2 / np.pi))))
        gelu = g.op("Mul", g.op("Mul", hidden, g.constant(0.5)), g.op("Add", bent, g.constant(1.0)))
        return g.linear(gelu, self.weights[f"{name}.out.weight"], self._bias(f"{name}.out"))

    def _layer(self, i: int, x: str, read: str) -> tuple[str, str]:
        g, config = self.graph, self.config
        is_last = i + 1 == config["layers"]
        ends_with_target = is_last and not config["mean_readout"]
        for position, branch in enumerate(config["layer_order"].split(",")):
            if branch == "columns":
                made = self._columns(i, read, ends_with_target)
                x = g.gather(x, [0], 1) if ends_with_target else x
            else:
                made = self._rows(i, read) if branch == "rows" else self._mlp(f"layers.{i}.mlp", read)
            if position == 0 and i > 0 and config["residual_decay"] != 1:
                x = g.op("Mul", x, g.constant(config["residual_decay"] ** i))
            x = g.op("Add", made, x)
            if not config["pre_norm"]:
                x = read = self._norm(f"layers.{i}.norm{position + 1}", x)
            elif position < 2:
                read = self._norm(f"layers.{i}.norm{position + 2}", x)
            else:
                read = self._norm("norm" if is_last else f"layers.{i + 1}.norm1", x)
        return x, read

    def _decode(self, read: str) -> str:
        g, heads, size = self.graph, self.config["heads"], self.size
        if self.config["decoder"] != "retrieval":
            return self._mlp("decoder", read)
        q = g.reshape(g.linear(read, self.weights["decoder.query.weight"], self.weights["decoder.query.bias"]),
                      0, heads, size)
        k = self.keys.reshape(len(self.keys), heads, size).transpose(1, 2, 0)
        one_hot = (self.labels[:, None] == np.arange(self.n_classes)).astype(np.float32)
        mixed = self._attention(g.op("Transpose", q, perm=[1, 0, 2]), g.constant(k), g.constant(one_hot[None]))
        share = g.op("ReduceMean", mixed, g.ints(0), keepdims=0)
        return g.op("Log", g.op("Add", share, g.constant(1e-5)))

    def logits(self, x: str, missing: str) -> str:
        g = self.graph
        tokens = self._tokens(x, missing)
        read = self._norm("layers.0.norm1", tokens) if self.config["pre_norm"] else tokens
        x = tokens
        for i in range(self.config["layers"]):
            x, read = self._layer(i, x, read)
        if self.config["mean_readout"]:
            readout = g.op("ReduceMean", g.gather(read, range(1, self.n_tokens + 1), 1), g.ints(1), keepdims=0)
        else:
            readout = g.op("Squeeze", read, g.ints(1))
        return self._decode(readout)


def _on_host(model: Any) -> Any:
    if model.device == "cpu":
        return model
    return model_of(model._config, {name: values.to("cpu") for name, values in model.state_dict().items()}, "cpu")


class _Part(NamedTuple):
    """The ensemble members with one target transform."""

    logits: list[str]
    weights: list[float]
    centres: np.ndarray  # means of the model's bins, for regression


def _combined(graph: Graph, part: _Part, average: str) -> str:
    """The probabilities of the part's members together."""
    total = sum(part.weights)
    weights = np.array(part.weights) / total if total > 0 else [1 / len(part.weights)] * len(part.weights)
    each = part.logits if average == "logits" else [graph.op("Softmax", x, axis=-1) for x in part.logits]
    combined = graph.op("Sum", *[graph.op("Mul", x, graph.constant(weight)) for x, weight in zip(each, weights)])
    return graph.op("Softmax", combined, axis=-1) if average == "logits" else combined


def _linear_fit(graph: Graph, ridge: Any, x: str) -> str:
    """The prediction (rows, 1), doubles, of the linear fit whose residuals members read."""
    components, coefficients, intercept, _, _ = ridge
    factors = graph.constant(np.array(coefficients)[:, None], np.float64)
    product = graph.op("MatMul", Components(*components).product(graph, x), factors)
    return graph.op("Add", product, graph.constant(intercept, np.float64))


def _mean(graph: Graph, x: str, parts: dict[str, _Part], average: str, ridge: Any, linear_weight: float) -> str:
    terms = []
    for transform, part in parts.items():
        combined, weight = _combined(graph, part, average), sum(part.weights)
        at = len(part.centres) // 2
        if transform == "residual":
            fit, combined = _linear_fit(graph, ridge, x), graph.to_double(combined)
            if linear_weight > 0:  # it moves the distribution of the residuals to the fit
                residual = graph.op("MatMul", combined, graph.constant(part.centres[:, None], np.float64))
                weight += linear_weight
                share = graph.constant(linear_weight / weight, np.float64)
                fit = graph.op("Sub", fit, graph.op("Mul", residual, share))
            around = graph.op("Add", fit, graph.constant(part.centres, np.float64))
            clipped = graph.clip(around, np.float64, *ridge[-2:])
            middle = graph.gather(clipped, [at], 1)
            products = graph.op("Mul", combined, graph.op("Sub", clipped, middle))
            offset = graph.op("ReduceSum", products, graph.ints(1), keepdims=1)
            mean = graph.to_float(graph.op("Squeeze", graph.op("Add", offset, middle), graph.ints(1)))
        else:
            offset = graph.op("MatMul", combined, graph.constant(part.centres - part.centres[at]))
            mean = graph.op("Add", offset, graph.constant(part.centres[at]))
        terms.append(graph.op("Mul", mean, graph.constant(weight)))
    return graph.op("Sum", *terms)


def export_onnx(estimator: Any, path: str | os.PathLike[str]) -> None:
    """Writes a fitted TabularClassifier or TabularRegressor as an ONNX file, with any transforms but "quantile"."""
    graph = Graph()
    core, model = estimator._estimator, _on_host(estimator._model())
    regression = estimator._regression
    _, x, _, _, n_classes, class_weight, temperature, weights, _ = core.state()
    x = x.numpy()
    members = core.members()
    n_outputs = model.config["bins"] if regression else n_classes
    if any(transform == "quantile" for _, _, _, transform, _ in members):
        raise ValueError('ONNX export needs the transforms "none", "power" and "components", not "quantile"')
    if not regression and (n_classes < 2 or max(max(codes) for _, _, codes, _, _ in members) < n_classes - 1):
        raise ValueError(f"ONNX export needs 2 to {model.config['classes']} classes, or a model with a retrieval decoder")
    ranked = Ranked(core.ranked())
    table, x = ranked.nodes(graph, x.shape[1]), ranked.of(x)
    positions, mean, inverse = np.array(core.columns()).T
    positions = positions.astype(int)
    if not inverse.any():
        raise ValueError("all columns of the context rows are constant; there is nothing to export")
    weights = weights or [1 / len(members)] * len(members)
    parts: dict[str, _Part] = {}  # by target transform
    powers = np.array(core.powers())
    for i, (rows, columns, codes, transform, components) in enumerate(members):
        plain = positions[columns], mean[columns], inverse[columns]
        read: Columns | Components
        if transform == "components":
            read = Components(*components)
        else:
            read = Powers(*plain, powers[columns]) if transform == "power" else Columns(*plain)
        context_x = read.of(x[rows]).astype(np.float32)
        context_y, target_transform, centres = core.targets(i)
        context = model.encode_context(context_x[None], np.array(context_y, np.float32)[None])
        logits = _Member(graph, model, context, n_outputs).logits(*read.nodes(graph, table))
        logits = graph.gather(logits, range(n_outputs) if regression else codes, 1)
        part = parts.setdefault(target_transform, _Part([], [], np.array(centres)))
        part.logits.append(graph.op("Div", logits, graph.constant(temperature)))
        part.weights.append(weights[i])
    if regression:
        name, shape = "mean", ["rows"]
        result = _mean(graph, table, parts, estimator.average, core.ridge(), sum(weights[len(members) :]))
    else:
        name, shape = "probabilities", ["rows", n_classes]
        (part,) = parts.values()
        combined = _combined(graph, part, estimator.average)
        if class_weight:
            weighted = graph.op("Mul", combined, graph.constant(class_weight))
            combined = graph.op("Div", weighted, graph.op("ReduceSum", weighted, graph.ints(1), keepdims=1))
        result = graph.gather(combined, estimator._ranks, 1)
    graph.nodes.append(graph.onnx.helper.make_node("Identity", [result], [name]))
    _write(graph, path, name, shape, x.shape[1])


def _write(graph: Graph, path: str | os.PathLike[str], name: str, shape: list[Any], n_features: int) -> None:
    helper, types = graph.onnx.helper, graph.onnx.TensorProto
    made = helper.make_graph(
        graph.nodes, "causeway", [helper.make_tensor_value_info("x", types.DOUBLE, ["rows", n_features])],
        [helper.make_tensor_value_info(name, types.FLOAT, shape)], graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="causeway")
    model.ir_version = 9
    graph.onnx.checker.check_model(model)
    graph.onnx.save(model, os.fspath(path))
