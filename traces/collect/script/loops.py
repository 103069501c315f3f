"""The loops of a file: which of them stand around a line, within its function."""

from __future__ import annotations

import ast
from functools import lru_cache

from traces.collect.script.parsed import nodes_of

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# First and last line.
_Lines = tuple[int, int]


def loops_around(file: str, line: int, others: frozenset[int] = frozenset()) -> list[int]:
    """First lines of the loops and comprehensions around a line within its function, outermost first.

    Args:
        file: The file; one that is no Python that this version reads has no loops.
        line: A line of it.
        others: Lines of the same file: a loop around one of them is left out.
    """
    loops, functions = _parts(file)
    begins = max((first for first, last in functions if first <= line <= last), default=0)
    inside = {(first, last) for first, last in loops if begins <= first <= line <= last}
    return sorted({first for first, last in inside if not any(first <= other <= last for other in others)})


@lru_cache(maxsize=64)
def _parts(file: str) -> tuple[tuple[_Lines, ...], tuple[_Lines, ...]]:
    """Loops and functions of a file."""
    nodes = nodes_of(file)
    return tuple(map(_lines, (node for node in nodes if isinstance(node, _LOOPS)))), tuple(
        map(_lines, (node for node in nodes if isinstance(node, _FUNCTIONS)))
    )


def _lines(node: ast.stmt | ast.expr) -> _Lines:
    return node.lineno, node.end_lineno or node.lineno
