"""How many samples a model that nobody trains gets in a call: the first size of all its tensors."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ..common import FAILURES


class ForwardInputs:
    """Counts calls of one module, and those with a single sample."""

    def __init__(self) -> None:
        self.calls = 0
        self.single = 0

    def note(self, arguments: Any, named: Any) -> None:
        """Count one call.

        Args:
            arguments: Of the call, in order.
            named: By name; None where nobody knows.
        """
        try:
            sizes = {tensor.shape[0] for tensor in _tensors((arguments, named)) if len(tensor.shape) > 1}
        except FAILURES:
            return
        self.calls += 1
        self.single += sizes == {1}

    def told(self) -> dict[str, int]:
        """Both counts."""
        return {"calls": self.calls, "single": self.single}


def _tensors(value: Any) -> Iterator[Any]:
    if isinstance(value, sys.modules["torch"].Tensor):
        yield value
    elif isinstance(value, Mapping):
        yield from _tensors(list(value.values()))
    elif isinstance(value, list | tuple) and len(value) < 64:
        for one in value:
            yield from _tensors(one)
