"""The names of the causes, in the order in which they are shown."""

from __future__ import annotations

from typing import Literal, get_args

Cause = Literal[
    "compute",
    "communication",
    "copy",
    "device_wait",
    "input",
    "allocator",
    "sync",
    "transfer_call",
    "optimizer",
    "compile",
    "launch",
    "framework",
    "python",
    "unexplained",
]
CAUSES: tuple[str, ...] = get_args(Cause)

# Causes that own time in which the device works; all others own device-idle time (on a CPU-only trace: time outside ops).
DEVICE_CAUSES = ("compute", "communication", "copy")
IDLE_CAUSES = tuple(cause for cause in CAUSES if cause not in DEVICE_CAUSES)
