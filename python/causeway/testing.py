"""Fault injection, for tests of code that uses this library."""

from ._core import _fail_nth_allocation as fail_nth_allocation
from ._core import _set_guarded_memory as set_guarded_memory

__all__ = ["fail_nth_allocation", "set_guarded_memory"]
