"""The nodes of an ONNX graph that onnx_export writes."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["CLIP", "Graph"]

CLIP = 100.0  # standardised values are clipped to this


class Graph:
    """Nodes and constants of a graph in the order in which they are computed."""

    def __init__(self) -> None:
        import onnx

        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: Any, dtype: Any = np.float32) -> str:
        name = f"c{len(self.constants)}"
        array = np.ascontiguousarray(np.asarray(values, dtype=dtype))
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def ints(self, *values: int) -> str:
        return self.constant(values, np.int64)

    def gather(self, x: str, indices: Any, axis: int) -> str:
        return self.op("Gather", x, self.constant(indices, np.int64), axis=axis)

    def reshape(self, x: str, *shape: int) -> str:
        return self.op("Reshape", x, self.ints(*shape))

    def linear(self, x: str, weight: np.ndarray, bias: np.ndarray | None = None) -> str:
        product = self.op("MatMul", x, self.constant(weight.T))
        return product if bias is None else self.op("Add", product, self.constant(bias))

    def clip(self, x: str, dtype: Any = np.float32, low: float = -CLIP, high: float = CLIP) -> str:
        return self.op("Clip", x, self.constant(low, dtype), self.constant(high, dtype))

    def standardise(self, x: str, mean: np.ndarray, inverse: np.ndarray) -> str:
        """Of doubles."""
        centred = self.op("Sub", x, self.constant(mean, np.float64))
        return self.op("Mul", centred, self.constant(inverse, np.float64))

    def to_float(self, x: str) -> str:
        return self.op("Cast", x, to=self.onnx.TensorProto.FLOAT)

    def to_double(self, x: str) -> str:
        return self.op("Cast", x, to=self.onnx.TensorProto.DOUBLE)

    def where_missing(self, missing: str, x: str) -> str:
        return self.op("Where", missing, self.constant(0.0), x)
