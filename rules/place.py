"""A place in the user's code as findings name it."""

from __future__ import annotations

from analyzer.facts.stacks import CodeLine
from analyzer.finding import Location


def location(line: CodeLine | None) -> Location | None:
    """The contract's form of a recorded line."""
    return None if line is None else Location(line.file, line.line, line.function)


def named(line: CodeLine | None) -> str:
    """Words to put behind a cause: ` in `step` (train.py:88)`; empty where the line is unknown."""
    return "" if line is None else f" in `{line.function}` ({line.file}:{line.line})"
