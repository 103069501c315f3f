"""Where the profiler can record Python stacks."""

from __future__ import annotations

import sys
from typing import Any

# What is said to who asked for them.
LEFT_OUT = (
    "no stacks are recorded: torch before 2.7 ends Python 3.13 by a segmentation fault there; use torch 2.7 or newer"
)


def stacks_are_safe() -> bool:
    """Whether the profiler of this torch survives Python's frames.

    Before 2.7 it ends Python 3.13 by a segmentation fault as soon as it looks at the first one (pytorch#144094, pytorch#148273).
    """
    torch: Any = sys.modules["torch"]
    major, minor = (int(part) for part in str(torch.__version__).split(".")[:2])
    return sys.version_info < (3, 13) or (major, minor) >= (2, 7)
