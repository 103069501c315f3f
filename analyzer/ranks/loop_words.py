"""Ranks that run another loop or save a state, and the steps in which they do, in words."""

from __future__ import annotations

from analyzer.ranks.document import OtherLoop

# Of ranks and steps that are named one by one.
_NAMED = 8


def what_they_do(loop: OtherLoop) -> str:
    """The beginning of a sentence: `Rank 0 runs another loop in step 12, such as an evaluation`."""
    one = len(loop.ranks) == 1
    who = f"{'Rank' if one else 'Ranks'} {_names(loop.ranks)}"
    if loop.saves:
        copies = "copies its state" if one else "copy their state"
        return f"{who} {copies} to the host {in_which(loop)}, as before a checkpoint is written"
    return f"{who} {'runs' if one else 'run'} another loop {in_which(loop)}, such as an evaluation"


def for_them(loop: OtherLoop) -> str:
    """The ranks where they were named before: `for it`."""
    return "for it" if len(loop.ranks) == 1 else "for them"


def in_which(loop: OtherLoop) -> str:
    """The steps: `in step 12`."""
    return f"in step {_names(loop.steps)}" if len(loop.steps) == 1 else f"in steps {_names(loop.steps)}"


def _names(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:_NAMED])) + (", ..." if len(numbers) > _NAMED else "")
