"""Ranges of our own in a recording, by a mark that reaches neither the dispatcher nor a graph that is being traced."""

from __future__ import annotations

import sys
from typing import Any


def can_mark() -> bool:
    """Whether this torch has such a mark (torch 2.1)."""
    return hasattr(sys.modules["torch"]._C._profiler, "_RecordFunctionFast")


def begun(name: str) -> Any:
    """A range of this name, which begins now; it ends by its `__exit__`."""
    mark = sys.modules["torch"]._C._profiler._RecordFunctionFast(name)
    mark.__enter__()
    return mark
