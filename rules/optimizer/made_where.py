"""Where an optimizer is made, so that a user finds the line to change, or the library to ask."""

from __future__ import annotations

import ast

from analyzer.facts import Facts
from analyzer.facts.recording.optimizer_code import OptimizerMaker
from analyzer.finding import Location
from analyzer.units import listed

# Ways to update that leave no room for another, and a dictionary (None) that may hold one.
_EXCLUDE = ("fused", "foreach", "differentiable", "capturable", None)
# As much of a line as is recorded.
_LONGEST = 160
# More lines than a reader wants to be sent to.
_FEW = 3


def own_lines(facts: Facts, name: str) -> str:
    """A sentence that names the program's lines that make it, to put behind others; empty where nobody knows, or there are many.

    Args:
        facts: The measurements.
        name: Class of the optimizer.
    """
    makers = _own(facts, name)
    if not 1 <= len(makers) <= _FEW:
        return ""
    lines = [f"{maker.file}:{maker.line}" for maker in makers]
    return f" It is made at {listed(lines)}."


def own_line(facts: Facts, name: str) -> Location | None:
    """The program's only line that makes it; None where nobody knows, or there are more."""
    makers = _own(facts, name)
    return Location(makers[0].file, makers[0].line, None) if len(makers) == 1 and makers[0].file else None


def own_change(facts: Facts, name: str, argument: str) -> str | None:
    """A diff of the program's only line that makes it; None where nobody knows it, or it does not stand alone.

    Args:
        facts: The measurements.
        name: Class of the optimizer.
        argument: What to give it besides: `fused=True`.
    """
    makers = _own(facts, name)
    text = makers[0].text if len(makers) == 1 else None
    changed = None if text is None else with_argument(text, name, argument)
    return None if changed is None else f"-{text}\n+{changed}"


def with_argument(text: str, name: str, argument: str) -> str | None:
    """A line with one more argument for the only call of a class in it.

    None where the line is none by itself, calls it otherwise, or gives it what may be or exclude the argument.
    """
    # A file may say anything: of an escape that is none Python warns.
    if len(text) > _LONGEST or "\\" in text:
        return None
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and _called(node) == name]
    except (SyntaxError, ValueError):
        return None
    if len(calls) != 1 or any(given.arg in _EXCLUDE for given in calls[0].keywords):
        return None
    # Of an expression Python tells the place in bytes.
    whole, end = text.encode(), (calls[0].end_col_offset or 1) - 1
    before, behind = whole[:end].decode().rstrip(), whole[end:].decode()
    separator = "" if before.endswith("(") else " " if before.endswith(",") else ", "
    return f"{before}{separator}{argument}{behind}"


def _called(call: ast.Call) -> str | None:
    function = call.func
    return (
        function.attr
        if isinstance(function, ast.Attribute)
        else function.id
        if isinstance(function, ast.Name)
        else None
    )


def by_library(facts: Facts, name: str) -> OptimizerMaker | None:
    """The library's function that makes it; None where the program does, nobody knows, or several libraries do."""
    makers = _makers(facts, name)
    return makers[0] if len(makers) == 1 and makers[0].package is not None else None


def _own(facts: Facts, name: str) -> list[OptimizerMaker]:
    """Places that make it; none where a library makes one of them."""
    makers = _makers(facts, name)
    return [] if any(maker.package is not None for maker in makers) else makers


def _makers(facts: Facts, name: str) -> list[OptimizerMaker]:
    return [maker for maker in facts.recording.optimizer_makers if maker.class_name == name]
