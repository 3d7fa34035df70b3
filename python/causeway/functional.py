"""Neural-network functions; also available as causeway.nn.functional."""

from ._core import gelu, relu, sigmoid, silu, tanh
from ._core._functional import *  # noqa: F403
