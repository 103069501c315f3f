"""The words for causes, states and severities: the one place that has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from analyzer.analysis import CheckDocument, SeverityName, StateName
from analyzer.cause_names import DEVICE_CAUSES, Cause
from analyzer.units import count

CAUSES: dict[Cause, str] = {
    "compute": "compute",
    "communication": "communication",
    "copy": "copies",
    "device_wait": "device wait",
    "input": "input wait",
    "allocator": "allocator",
    "sync": "sync",
    "transfer_call": "copy calls",
    "optimizer": "optimizer",
    "compile": "compile",
    "launch": "launches",
    "framework": "framework",
    "python": "Python",
    "unexplained": "unexplained",
}
"""Each as a person says it, at most 13 characters."""

# What the device does, or what the issuing thread does while the device is idle (architecture.md, Causes).
_ON_DEVICE: dict[Cause, str] = {
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
    "unexplained": "idle: the trace does not show why",
}
_ON_HOST: dict[Cause, str] = {
    "compute": "in an operator",
    "communication": "in a collective",
    "input": "in the loader's __next__",
    "optimizer": "in Optimizer.step or zero_grad",
    "python": "in Python between operators",
}

STATES: dict[StateName, str] = {
    "fired": "found",
    "crashed": "crashed",
    "cannot_tell": "cannot tell",
    "clear": "passed",
    "suppressed": "suppressed",
    "not_applicable": "not applicable",
    "disabled": "disabled",
}
"""What became of a check, in the order in which they are shown."""

SEVERITIES: dict[SeverityName, str] = {"high": "High", "medium": "Medium", "low": "Low", "info": "Info"}
MARKS: dict[SeverityName, str] = {"high": "▲", "medium": "■", "low": "●", "info": "○"}


def label(cause: str) -> str:
    """What a measured cause is called."""
    return CAUSES[cast("Cause", cause)]


def meaning(cause: Cause, on_device: bool) -> str:
    """What a cause's time is, in a few words.

    Args:
        cause: The cause.
        on_device: Whether the step is divided by what a device does.
    """
    return _ON_DEVICE[cause] if on_device else _ON_HOST.get(cause, _ON_DEVICE[cause])


def is_work(cause: Cause) -> bool:
    """Whether a cause owns time in which the device works; what all others own could go."""
    return cause in DEVICE_CAUSES


def count_states(checks: Iterable[CheckDocument]) -> dict[StateName, int]:
    """Checks by state, in order, every state present."""
    counts = dict.fromkeys(STATES, 0)
    for check in checks:
        counts[check.state] += 1
    return counts


def states_line(checks: Iterable[CheckDocument]) -> str:
    """`4 found, 5 cannot tell, 26 passed`; empty where nothing was checked."""
    return ", ".join(f"{number} {STATES[state]}" for state, number in count_states(checks).items() if number)


def passed_line(checks: Iterable[CheckDocument]) -> str:
    """`26 checks passed, 5 cannot tell`: what makes an empty list of findings believable."""
    counts = count_states(checks)
    open_questions = [f"{counts[state]} {STATES[state]}" for state in ("crashed", "cannot_tell") if counts[state]]
    return ", ".join([f"{count(counts['clear'], 'check')} passed", *open_questions])
