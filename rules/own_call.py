"""A call in a line of the program's own, with other arguments."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

# As much of a line as is recorded.
_LONGEST = 160


def with_arguments(
    text: str, name: str, arguments: Mapping[str, str], exclude: Collection[str] = (), most_in_order: int | None = None
) -> str | None:
    """A line in which the only call of a class has these arguments, by name: in the place of those it has, or behind them.

    None where the line is none by itself, calls the class otherwise, or gives it a dictionary, which may hold any of them.

    Args:
        text: The line.
        name: The class.
        arguments: Values as Python writes them.
        exclude: Arguments beside which none of these can be given.
        most_in_order: With more arguments without a name one of these may be among them; None where all need their names.
    """
    # A file may say anything: of an escape that is none Python warns.
    if len(text) > _LONGEST or "\\" in text:
        return None
    # Of a loop there is its head alone.
    whole = f"{text} pass" if text.endswith(":") else text
    try:
        calls = [node for node in ast.walk(ast.parse(whole)) if isinstance(node, ast.Call) and _called(node) == name]
    except (SyntaxError, ValueError):
        return None
    if len(calls) != 1:
        return None
    given, in_order = {keyword.arg: keyword.value for keyword in calls[0].keywords}, calls[0].args
    if None in given or given.keys() & set(exclude) or any(isinstance(one, ast.Starred) for one in in_order):
        return None
    if most_in_order is not None and len(in_order) > most_in_order:
        return None
    return _changed(text.encode(), calls[0], given, arguments)


def _changed(line: bytes, call: ast.Call, given: Mapping[str | None, ast.expr], arguments: Mapping[str, str]) -> str:
    """Of an expression Python tells the place in bytes."""
    end = (call.end_col_offset or 1) - 1
    before, behind = line[:end].rstrip(), line[end:]
    more = ", ".join(f"{name}={value}" for name, value in arguments.items() if name not in given)
    separator = b"" if not more or before.endswith(b"(") else b" " if before.endswith(b",") else b", "
    line = before + separator + more.encode() + behind
    # From the last to the first: what stands before one keeps its place.
    places = [(given[name].col_offset, given[name].end_col_offset or 0, name) for name in arguments if name in given]
    for begin, until, name in sorted(places, reverse=True):
        line = line[:begin] + arguments[name].encode() + line[until:]
    return line.decode()


def _called(call: ast.Call) -> str | None:
    """`Adam` of `torch.optim.Adam(...)` and of `Adam(...)`; None where no name is called."""
    name: str | None = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
    return name
