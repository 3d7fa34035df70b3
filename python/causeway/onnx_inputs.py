"""What the members of an ensemble read, as arrays for the context rows and as nodes of an ONNX graph for query rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from .onnx_graph import CLIP, Graph

__all__ = ["Columns", "Components", "Powers", "Ranked"]


class Ranked:
    """The columns that are read as normal scores of ranks: C++ has them in models/rank_scores.h."""

    def __init__(self, columns: list[tuple[int, list[float], list[float]]]) -> None:
        self.columns = columns

    def of(self, x: np.ndarray) -> np.ndarray:
        made = x.copy()
        for at, values, scores in self.columns:
            made[:, at] = np.interp(x[:, at], values, scores)
        return made

    def nodes(self, graph: Graph, n_features: int) -> str:
        """The graph's input with the scores of those columns."""
        if not self.columns:
            return "x"
        order = np.arange(n_features)
        parts = ["x"]
        for at, values, scores in self.columns:
            order[at] = n_features + len(parts) - 1
            parts.append(self._column(graph, at, np.array(values), np.array(scores)))
        return graph.gather(graph.op("Concat", *parts, axis=1), order, 1)

    def _column(self, graph: Graph, at: int, values: np.ndarray, scores: np.ndarray) -> str:
        """The first score and what each interval between two values adds, (rows, 1)."""
        given = graph.gather("x", [at], 1)
        above = graph.op("Sub", given, graph.constant(values[:-1], np.float64))
        shares = graph.clip(graph.op("Div", above, graph.constant(np.diff(values), np.float64)), np.float64, 0.0, 1.0)
        rises = graph.op("MatMul", shares, graph.constant(np.diff(scores)[:, None], np.float64))
        made = graph.op("Add", rises, graph.constant(scores[0], np.float64))
        return graph.op("Where", graph.op("IsNaN", given), given, made)


class Columns:
    """The columns that a member reads, standardised."""

    def __init__(self, at: np.ndarray, mean: np.ndarray, inverse: np.ndarray) -> None:
        self.at, self.mean, self.inverse = at, mean, inverse

    def of(self, x: np.ndarray) -> np.ndarray:
        return np.clip(self._values((x[:, self.at] - self.mean) * self.inverse), -CLIP, CLIP)

    def nodes(self, graph: Graph, x: str) -> tuple[str, str]:
        """Cells of a table and which of them are missing, (rows, columns)."""
        given = graph.gather(x, self.at, 1)
        missing = graph.op("IsNaN", given)
        known = graph.op("Where", missing, graph.constant(0.0, np.float64), given)
        z = graph.standardise(known, self.mean, self.inverse)
        return graph.clip(graph.to_float(self._value_nodes(graph, z))), missing

    def _values(self, z: np.ndarray) -> np.ndarray:
        return z

    def _value_nodes(self, graph: Graph, z: str) -> str:
        return z


class Powers(Columns):
    """The columns that a member reads, by Yeo and Johnson's power, standardised before and after."""

    def __init__(self, at: np.ndarray, mean: np.ndarray, inverse: np.ndarray, powers: np.ndarray) -> None:
        super().__init__(at, mean, inverse)
        self.exponent, self.power_mean, self.power_inverse = powers.T

    def _values(self, z: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):  # NaN where a cell is missing
            made = np.where(z >= 0, self._branch(np.log1p(np.maximum(z, 0)), self.exponent),
                            -self._branch(np.log1p(np.maximum(-z, 0)), 2 - self.exponent))
        return np.where(np.isnan(z), z, (made - self.power_mean) * self.power_inverse)

    def _branch(self, log: np.ndarray, exponent: np.ndarray) -> np.ndarray:
        """((1 + |z|)^exponent - 1) / exponent of the logarithm of 1 + |z|; the logarithm for an exponent of 0."""
        is_zero = np.abs(exponent) < 1e-9
        return np.where(is_zero, log, np.expm1(exponent * log) / np.where(is_zero, 1, exponent))

    def _value_nodes(self, graph: Graph, z: str) -> str:
        def double(values: Any) -> str:
            return graph.constant(values, np.float64)

        def branch(part: str, exponent: np.ndarray) -> str:
            is_zero = np.abs(exponent) < 1e-9
            log = graph.op("Log", graph.op("Add", graph.op("Max", part, double(0.0)), double(1.0)))
            power = graph.op("Exp", graph.op("Mul", log, double(exponent)))
            grown = graph.op("Div", graph.op("Sub", power, double(1.0)), double(np.where(is_zero, 1, exponent)))
            return graph.op("Where", graph.constant(is_zero, bool), log, grown)

        below = graph.op("Neg", branch(graph.op("Neg", z), 2 - self.exponent))
        is_positive = graph.op("GreaterOrEqual", z, double(0.0))
        made = graph.op("Where", is_positive, branch(z, self.exponent), below)
        return graph.standardise(made, self.power_mean, self.power_inverse)


class Components:
    """The principal components that a member reads: C++ has them in models/principal_components.h."""

    def __init__(self, positions: list[int], levels: list[float], mean: list[float], inverse: list[float],
                 factors: Any) -> None:
        self.at, self.levels = np.array(positions), np.array(levels)
        self.mean, self.inverse, self.factors = np.array(mean), np.array(inverse), factors.numpy()

    def of(self, x: np.ndarray) -> np.ndarray:
        given = x[:, self.at]
        values = np.where(np.isnan(self.levels), given, given == self.levels)
        z = np.clip((values - self.mean) * self.inverse, -CLIP, CLIP)
        return np.clip(np.where(np.isnan(given), 0, z) @ self.factors, -CLIP, CLIP)

    def nodes(self, graph: Graph, x: str) -> tuple[str, str]:
        """As of Columns; no component is missing."""
        cells = graph.to_float(self.product(graph, x))
        return cells, graph.op("IsNaN", cells)

    def product(self, graph: Graph, x: str) -> str:
        """Components of a table, doubles."""
        given = graph.gather(x, self.at, 1)
        is_level = graph.to_double(graph.op("Equal", given, graph.constant(self.levels, np.float64)))
        values = graph.op("Where", graph.constant(np.isnan(self.levels), bool), given, is_level)
        z = graph.clip(graph.standardise(values, self.mean, self.inverse), np.float64)
        known = graph.op("Where", graph.op("IsNaN", given), graph.constant(0.0, np.float64), z)
        return graph.clip(graph.op("MatMul", known, graph.constant(self.factors, np.float64)), np.float64)
