"""A call in a statement of the program's own, with other arguments."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Collection, Mapping

# As much of a statement as is recorded.
_LONGEST = 800


def with_arguments(
    text: str, name: str, arguments: Mapping[str, str], exclude: Collection[str] = (), most_in_order: int | None = None
) -> str | None:
    """A statement in which the only call of a class has these arguments, by name: in the place of those it has, or behind them.

    None where the text is no statement, calls the class otherwise, or gives it a dictionary, which may hold any of them.

    Args:
        text: The statement, over one line or several; of a loop its head.
        name: The class.
        arguments: Values as Python writes them.
        exclude: Arguments beside which none of these can be given.
        most_in_order: With more arguments without a name one of these may be among them; None where all need their names.
    """
    # A file may say anything: of an escape that is none Python warns.
    if len(text) > _LONGEST or "\\" in text:
        return None
    call = _only_call(text, name)
    if call is None:
        return None
    given, in_order = {keyword.arg: keyword.value for keyword in call.keywords}, call.args
    if None in given or given.keys() & set(exclude) or any(isinstance(one, ast.Starred) for one in in_order):
        return None
    if most_in_order is not None and len(in_order) > most_in_order:
        return None
    changed = _changed(text.encode(), call, given, arguments)
    # Behind a comment nothing can be added.
    return changed if _has(_only_call(changed, name), arguments) else None


def _only_call(text: str, name: str) -> ast.Call | None:
    """The only call of a class in a statement; None where there are others, or none, or it is no statement."""
    # Of a loop there is its head alone.
    whole = f"{text} pass" if text.endswith(":") else text
    try:
        calls = [node for node in ast.walk(ast.parse(whole)) if isinstance(node, ast.Call) and _called(node) == name]
    except (SyntaxError, ValueError):
        return None
    return calls[0] if len(calls) == 1 else None


def _has(call: ast.Call | None, arguments: Mapping[str, str]) -> bool:
    if call is None:
        return False
    given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
    return all(given.get(name) == ast.unparse(ast.parse(value)) for name, value in arguments.items())


def as_diff(before: str, after: str) -> str:
    """Both as a diff, with the lines that stay.

    Args:
        before: The statement as it is.
        after: The same, changed.
    """
    old, new = before.split("\n"), after.split("\n")
    lines: list[str] = []
    for tag, begin, end, new_begin, new_end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f" {line}" for line in old[begin:end]]
        else:
            lines += [f"-{line}" for line in old[begin:end]] + [f"+{line}" for line in new[new_begin:new_end]]
    return "\n".join(lines)


def _changed(text: bytes, call: ast.Call, given: Mapping[str | None, ast.expr], arguments: Mapping[str, str]) -> str:
    """Of an expression Python tells the place by line, and in bytes of it."""
    begins = [0]
    for line in text.split(b"\n"):
        begins.append(begins[-1] + len(line) + 1)
    end = begins[(call.end_lineno or 1) - 1] + (call.end_col_offset or 1) - 1
    more = [f"{name}={value}" for name, value in arguments.items() if name not in given]
    text = _with_more(text[:end], [one.encode() for one in more], text[end:])
    places = [
        (
            begins[value.lineno - 1] + value.col_offset,
            begins[(value.end_lineno or 1) - 1] + (value.end_col_offset or 0),
            name,
        )
        for name, value in given.items()
        if name in arguments
    ]
    # From the last to the first: what stands before one keeps its place.
    for begin, until, name in sorted(places, key=lambda place: place[0], reverse=True):
        text = text[:begin] + arguments[name or ""].encode() + text[until:]
    return text.decode()


def _with_more(before: bytes, more: list[bytes], behind: bytes) -> bytes:
    """More arguments at the end of a call: each on a line of its own where the closing bracket has one."""
    head = before.rstrip()
    if not more:
        return before + behind
    last = head.rpartition(b"\n")[2]
    if b"\n" not in before[len(head) :]:
        separator = b"" if head.endswith(b"(") else b" " if head.endswith(b",") else b", "
        return head + separator + b", ".join(more) + behind
    margin = last[: len(last) - len(last.lstrip())]
    # A comment that ends the last line has the comma before it, or there is none.
    comma = b"" if head.endswith((b",", b"(")) or b"#" in last else b","
    return head + comma + b"".join(b"\n" + margin + one + b"," for one in more) + before[len(head) :] + behind


def _called(call: ast.Call) -> str | None:
    """`Adam` of `torch.optim.Adam(...)` and of `Adam(...)`; None where no name is called."""
    name: str | None = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
    return name
