"""What a trial is asked for and what comes of it: plain values, no torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

# What a change sets: a number, a switch, or the name of a way.
Value = int | bool | str
Changes = dict[str, Value]
Ending = Literal["measured", "short", "failed", "no memory", "timed out", "stopped"]


@dataclass(frozen=True, kw_only=True)
class Script:
    """The script that is tried, as `advisor collect` takes it.

    Args:
        target: A script's path, or a module's name.
        module: Whether `target` is a module.
        arguments: The script's own.
        python: The interpreter to run it with; None for this one.
    """

    target: str
    module: bool = False
    arguments: tuple[str, ...] = ()
    python: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One run.

    Args:
        changes: What is changed from outside, values by name; empty for the baseline.
        warmup: Steps to let pass.
        steps: Steps to time at most.
        least: Steps to time at least; fewer are not taken for a measurement.
        least_ns: How long to time at least; 0 where `steps` alone counts.
        seed: For the generators; None to leave them alone.
        timeout_s: After so long the run is over, whatever it does.
        environment: Variables that the changes need.
    """

    changes: Changes = field(default_factory=dict)
    warmup: int = 10
    steps: int = 100
    least: int = 8
    least_ns: int = 0
    seed: int | None = None
    timeout_s: float = 300.0
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What came of one run.

    Args:
        ending: How it ended; only `measured` has a step to go by.
        reason: Why, where it is another ending; a sentence without a full stop.
        status: The exit status of the script where it ended by itself.
        times_ns: Each timed step, the host's time, nanoseconds.
        step_ns: The mean step over all that were timed, what the device had left to do included; 0 without steps.
        lacked_ns: For how long of that the thread had no core, as other programs had it; None where its own processes or threads
            may have, or the system does not tell.
        setup_ns: From the start of the process to the first timed step.
        steps_before: Steps among them that are not timed.
        epoch_steps: Steps of an epoch, by what the loader says; None where it says nothing.
        losses: Of each backward pass from the start; None for one that is no finite number.
        applied: Changes that took hold, by name.
        refused: Why a change did not, by name.
        calls: Places of the user's calls by kind: loader, optimizer, model.
        source: Where steps were found from.
        wall_s: How long the run took in all.
    """

    ending: Ending
    reason: str = ""
    status: int = 0
    times_ns: tuple[int, ...] = ()
    step_ns: float = 0.0
    lacked_ns: float | None = None
    setup_ns: int = 0
    steps_before: int = 0
    epoch_steps: int | None = None
    losses: tuple[float | None, ...] = ()
    applied: Changes = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    calls: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    source: str = ""
    wall_s: float = 0.0

    @property
    def start_ns(self) -> float:
        """What it takes to start: to the first timed step, less the steps before it at the pace of those that were timed."""
        return self.setup_ns - self.steps_before * self.step_ns
