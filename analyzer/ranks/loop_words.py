"""Ranks that run another loop, and the steps in which they do, in words."""

from __future__ import annotations

from analyzer.ranks.document import OtherLoop

# Of ranks and steps that are named one by one.
_NAMED = 8


def who_runs(loop: OtherLoop) -> str:
    """The ranks as the beginning of a sentence: `Rank 0 runs`."""
    return f"Rank {_names(loop.ranks)} runs" if len(loop.ranks) == 1 else f"Ranks {_names(loop.ranks)} run"


def for_them(loop: OtherLoop) -> str:
    """The ranks where they were named before: `for it`."""
    return "for it" if len(loop.ranks) == 1 else "for them"


def in_which(loop: OtherLoop) -> str:
    """The steps: `in step 12`."""
    return f"in step {_names(loop.steps)}" if len(loop.steps) == 1 else f"in steps {_names(loop.steps)}"


def _names(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:_NAMED])) + (", ..." if len(numbers) > _NAMED else "")
