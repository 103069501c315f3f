"""The statement of a file that a line belongs to, whole: a call is often written over several lines."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache

from traces.collect.script.parsed import nodes_of

# As a reader wants to see, and a trace to carry.
_MOST_LINES, _MOST_TEXT = 16, 800
_Lines = tuple[int, int]


def statement_at(file: str, line: int) -> str | None:
    """The lines of the statement at a line, as far left as they go; of one that holds others, as a loop, the line alone.

    None where that is longer than anybody wants to read.

    Args:
        file: The file; of one that is no Python that this version reads there is the line alone.
        line: A line of it.
    """
    around = [(first, last) for first, last in _statements(file) if first <= line <= last]
    first, last = min((one[0] for one in around), default=line), max((one[1] for one in around), default=line)
    lines = [linecache.getline(file, number).rstrip() for number in range(first, last + 1)]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    text = "\n".join(one.removeprefix(margin) for one in lines)
    return text if len(lines) <= _MOST_LINES and len(text) <= _MOST_TEXT else None


@lru_cache(maxsize=16)
def _statements(file: str) -> tuple[_Lines, ...]:
    """First and last lines of the statements that hold no others."""
    simple = (
        node
        for node in nodes_of(file)
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and not hasattr(node, "cases")
    )
    return tuple((node.lineno, node.end_lineno or node.lineno) for node in simple)
