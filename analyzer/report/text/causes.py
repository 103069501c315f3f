"""What the causes of the waterfall are called, and what their time is: where a figure comes from."""

from __future__ import annotations

from analyzer.cause_names import Cause
from analyzer.report.style import Role

# On a GPU: what the device does, or what the issuing thread does while the device is idle (architecture.md, Causes).
ON_DEVICE: dict[Cause, str] = {
    "compute": "a kernel runs",
    "communication": "only collectives run",
    "copy": "only copies run",
    "device_wait": "idle: work is launched and has not started",
    "input": "idle: in the loader's __next__",
    "allocator": "idle: in cudaMalloc, cudaFree and their kin",
    "sync": "idle: the host waited, the queue ran dry",
    "transfer_call": "idle: in a host-to-device copy call",
    "optimizer": "idle: in Optimizer.step or zero_grad",
    "compile": "idle: torch.compile is compiling",
    "launch": "idle: in launch calls",
    "framework": "idle: in PyTorch's operators on the host",
    "python": "idle: in Python between operators",
    "unexplained": "idle: no issuing thread can be named",
}
ON_HOST: dict[Cause, str] = {
    "compute": "in an operator",
    "communication": "in a collective",
    "input": "in the loader's __next__",
    "optimizer": "in Optimizer.step or zero_grad",
    "python": "in Python between operators",
}
_LABELS: dict[Cause, str] = {
    "input": "input wait",
    "device_wait": "device wait",
    "transfer_call": "copy calls",
    "copy": "copies",
    "launch": "launches",
}
# Fills tell the parts of the stacked bar apart where there is no colour.
FILLS: dict[Cause, str] = {
    "compute": "█", "communication": "▓", "copy": "▓", "input": "▒", "sync": "░", "launch": "▄", "optimizer": "▄",
}  # fmt: skip
OTHER_FILL = "·"


def label(cause: Cause) -> str:
    """The cause as a person says it, at most 13 characters."""
    return _LABELS.get(cause, cause)


def meaning(cause: Cause, on_device: bool) -> str:
    """What its time is, in a few words."""
    return ON_DEVICE[cause] if on_device else ON_HOST.get(cause, ON_DEVICE[cause])


def role(cause: Cause) -> Role:
    """Cool for work of the device, warm for what could go."""
    return "useful" if cause in ("compute", "communication", "copy") else "waste"
