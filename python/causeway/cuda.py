"""CUDA devices and versions."""

from ._core import _cuda_absence as absence
from ._core import _cuda_device_count as device_count
from ._core import _cuda_driver_version as driver_version
from ._core import _cuda_runtime_version as runtime_version

__all__ = ["absence", "device_count", "driver_version", "is_available", "runtime_version"]


def is_available() -> bool:
    """Whether there is a CUDA device; absence() gives the reason if not."""
    return device_count() > 0
