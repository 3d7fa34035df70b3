"""save() and load() of tensors in Python containers, as torch.save and torch.load.

Files are pickles; load() makes tensors, numbers, strings and containers of them only, and refuses
anything else that a pickle could run.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import secrets
from typing import Any

from ._core import Tensor

_ALLOWED = {
    ("causeway", "Tensor"), ("causeway._core", "Tensor"), ("causeway", "DType"),
    ("causeway._core", "DType"), ("causeway.dtypes", "device"), ("collections", "OrderedDict"),
    ("copyreg", "__newobj__"), ("builtins", "set"), ("builtins", "frozenset"),
}  # fmt: skip


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"{module}.{name} is not a tensor or a container; "
                                         "load(weights_only=False) trusts the file")
        return super().find_class(module, name)


def save(obj: Any, f: Any) -> None:
    """Writes tensors and containers of them to a path, which is replaced atomically, or to an open file."""
    if hasattr(f, "write"):
        pickle.dump(obj, f, protocol=4)
        return
    path = os.fspath(f)
    folder = os.path.dirname(os.path.abspath(path))
    # Not mkstemp(), whose files only the owner can read.
    temporary = os.path.join(folder, f".save-{os.getpid()}-{secrets.token_hex(8)}")
    try:
        with open(temporary, "xb") as file:
            pickle.dump(obj, file, protocol=4)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def load(f: Any, map_location: Any = None, *, weights_only: bool = True) -> Any:
    """Reads what save() wrote; map_location is the device of the tensors. With weights_only=False, any
    pickle: use it for files you trust."""
    if not hasattr(f, "read"):
        with open(f, "rb") as file:
            return load(file, map_location, weights_only=weights_only)
    obj = (_Reader if weights_only else pickle.Unpickler)(f).load()
    return obj if map_location is None else _moved(obj, map_location)


def _moved(obj: Any, device: Any) -> Any:
    if isinstance(obj, Tensor):
        return obj.detach().to(device).requires_grad_(obj.requires_grad)
    if isinstance(obj, dict):
        return type(obj)((key, _moved(value, device)) for key, value in obj.items())
    if isinstance(obj, (list, tuple)):
        return type(obj)(_moved(value, device) for value in obj)
    return obj
