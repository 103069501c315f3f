"""How many samples a model that nobody trains gets in a call: the first size of all its tensors."""

from __future__ import annotations

from typing import Any

from ..common import FAILURES
from ..marks.signature import tensors


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
            sizes = {tensor.shape[0] for tensor in tensors((arguments, named)) if len(tensor.shape) > 1}
        except FAILURES:
            return
        self.calls += 1
        self.single += sizes == {1}

    def told(self) -> dict[str, int]:
        """Both counts."""
        return {"calls": self.calls, "single": self.single}
