"""CUDA devices and versions."""

from ._core import _cuda_absence as absence
from ._core import _cuda_device_count as device_count
from ._core import _cuda_driver_version as driver_version
from ._core import _cuda_runtime_version as runtime_version
from ._core import memory_stats
from ._core import release_cached_memory as empty_cache
from ._core import synchronize as _synchronize
from .random import manual_seed

__all__ = [
    "absence", "device_count", "driver_version", "empty_cache", "is_available", "is_bf16_supported",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "memory_allocated", "runtime_version",
    "synchronize",
]  # fmt: skip
manual_seed_all = manual_seed


def is_available() -> bool:
    """Whether there is a CUDA device; absence() gives the reason if not."""
    return device_count() > 0


def _name(device) -> str:
    return f"cuda:{device}" if isinstance(device, int) else device


def is_bf16_supported() -> bool:
    """Whether the GPU computes in bf16; all that the library supports do."""
    return is_available()


def synchronize(device="cuda") -> None:
    """Waits for all work on a GPU."""
    _synchronize(_name(device))


def memory_allocated(device="cuda") -> int:
    """Bytes in use on a GPU."""
    return memory_stats(_name(device))["current"]


def max_memory_allocated(device="cuda") -> int:
    """The most bytes in use on a GPU so far."""
    return memory_stats(_name(device))["peak"]
