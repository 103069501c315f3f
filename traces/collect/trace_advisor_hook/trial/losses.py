"""The loss of each step: what the script calls `backward` on, read at the end, so that no device is waited for."""

from __future__ import annotations

import contextlib
import functools
import importlib
import math
from typing import Any

from ..common import FAILURES

_MOST = 4096


class Losses:
    """Roots of the backward passes, detached."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def wrap(self) -> None:
        """Keep a copy of what each backward pass of the main program starts from."""
        autograd: Any = importlib.import_module("torch.autograd")
        run_backward = autograd.backward

        @functools.wraps(run_backward)
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            with contextlib.suppress(*FAILURES):
                self.keep(tensors)
            return run_backward(tensors, *args, **kwargs)

        autograd.backward = backward

    def keep(self, tensors: Any) -> None:
        """Note a scalar; anything else says nothing of the loss."""
        root = tensors[0] if isinstance(tensors, list | tuple) else tensors
        if root.numel() == 1 and len(self.kept) < _MOST:
            self.kept.append(root.detach().clone())

    def values(self) -> list[float | None]:
        """The losses in order; None for one that is no finite number."""
        found: list[float | None] = []
        for root in self.kept:
            with contextlib.suppress(*FAILURES):
                value = float(root)
                found.append(value if math.isfinite(value) else None)
        return found
