"""Parameter initialisation, in place; also available as causeway.nn.init."""

from ._core import Tensor
from ._core._nn._init import *  # noqa: F403
from ._core._nn._init import constant_


def zeros_(x: Tensor) -> None:
    """Sets all elements to 0."""
    constant_(x, 0.0)


def ones_(x: Tensor) -> None:
    """Sets all elements to 1."""
    constant_(x, 1.0)
