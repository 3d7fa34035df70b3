"""Models.

    model = cw.models.TabularTransformer("nanotabpfn", layers=6, device="cuda")
    loss = model.loss(x, y, sizes)               # of the rows that are not known
    context = model.remember(x_known, y_known)   # once
    logits = model.tell(context, x_new)          # as often as there are rows
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ._core import Generator
from ._core._models import TableContext, _TabularTransformer

__all__ = ["TableContext", "TabularTransformer"]


class TabularTransformer(_TabularTransformer):
    """A transformer over tables: attention between the columns of a row, then between the rows of a
    column, where every row sees only those whose target is known.

    config is a preset ("default", "nanotabpfn" or "speedrun") or a mapping of all settings; keyword
    arguments change single ones. With classes=0 the target is a number, and the outputs are bins of
    its distribution.
    """

    def __init__(
        self,
        config: str | Mapping[str, Any] = "default",
        *,
        dtype: Any = "f32",
        device: str = "cpu",
        generator: Generator | None = None,
        **changes: Any,
    ) -> None:
        known = json.loads(self._preset("default"))
        settings = json.loads(self._preset(config)) if isinstance(config, str) else dict(config)
        settings.update(changes)
        unknown = sorted(settings.keys() - known.keys())
        if unknown:
            raise TypeError(f"there is no setting {unknown[0]!r}; there are {', '.join(known)}")
        super().__init__(json.dumps(known | settings), dtype, device, generator)

    @property
    def config(self) -> dict[str, Any]:
        """All settings."""
        return json.loads(self._config)

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value}" for name, value in self.config.items())
        return f"TabularTransformer({settings})"
