"""A change as a diff of the user's own call, found by its line in the syntax tree; where that cannot be, as words."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from analyzer.tune.catalogue import Change
from traces.collect.tune.trial import Value

_SAMPLES = """
def _in_memory(dataset):  # each sample is made once
    return [dataset[index] for index in range(len(dataset))]

"""
_BATCHES = """
class _InMemory(torch.utils.data.Dataset):  # each sample is made once; a batch is cut out whole
    def __init__(self, dataset):
        self.size = len(dataset)
        self.whole = torch.utils.data.default_collate([dataset[index] for index in range(self.size)])

    def __len__(self):
        return self.size

    def __getitems__(self, indices):
        if isinstance(self.whole, dict):
            return {name: part[indices] for name, part in self.whole.items()}
        return [part[indices] for part in self.whole] if isinstance(self.whole, (list, tuple)) else self.whole[indices]

"""


@dataclass(frozen=True)
class Place:
    """A call of the user's: its file, its line (0 for the script as a whole), and what is called."""

    file: str
    line: int
    name: str


def diff(change: Change, value: Value, place: Place | None) -> str:
    """A unified diff; empty where the call is not in a file that can be changed so."""
    if place is None:
        return ""
    try:
        before = Path(place.file).read_text("utf-8")
        tree = ast.parse(before)
    except (OSError, ValueError, SyntaxError):
        return ""
    after = _changed(before, tree, change, value, place)
    if after is None or after == before:
        return ""
    name = Path(place.file).name
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="", n=1)
    return "\n".join(lines)


def advice(change: Change, value: Value) -> str:
    """What to write, where no diff can be made: the arguments of the call, or a line."""
    if change.name == "in-memory":
        return "index the data set once before training, and cut batches out of that"
    given = ", ".join(f"{name}={text}" for name, text in change.arguments(value).items())
    return f"{change.call}: {given}" if given else change.line(value)


def _changed(text: str, tree: ast.Module, change: Change, value: Value, place: Place) -> str | None:
    if change.call == "script":
        line = change.line(value)
        return None if line.startswith("#") or not line else _inserted(text, tree, line + "\n")
    call = _call(tree, place)
    if call is None:
        return None
    if change.name == "in-memory":
        return _held(text, tree, call, str(value))
    given = change.arguments(value)
    return _with_arguments(text, call, given) if given else None


def _call(tree: ast.Module, place: Place) -> ast.Call | None:
    """The innermost call on the line whose name is the one that was called, or else the only one."""
    on_line = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _holds(node, place.line)]
    named = [node for node in on_line if _name(node) == place.name]
    return named[-1] if named else None


def _holds(node: ast.Call, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _name(node: ast.Call) -> str:
    function = node.func
    return (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )


def _with_arguments(text: str, call: ast.Call, given: dict[str, str]) -> str:
    """The text with the call's keywords set to these values, appended where they are not there."""
    edits: list[tuple[int, int, str]] = []
    known = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    for name, value in given.items():
        if name in known:
            edits.append((*_span(text, known[name]), value))
    new = ", ".join(f"{name}={value}" for name, value in given.items() if name not in known)
    if new:
        edits.append(_appended(text, call, new))
    return _edited(text, edits)


def _appended(text: str, call: ast.Call, new: str) -> tuple[int, int, str]:
    """An argument more behind the last one: a comma or a comment that follows stays where it is."""
    ends = [_span(text, one)[1] for one in (*call.args, *(keyword.value for keyword in call.keywords))]
    end = max(ends, default=_span(text, call)[1] - 1)
    return end, end, f", {new}" if ends else new


def _held(text: str, tree: ast.Module, call: ast.Call, how: str) -> str | None:
    """The data set of the call replaced by one in memory."""
    keyword = next((one.value for one in call.keywords if one.arg == "dataset"), None)
    data = call.args[0] if call.args else keyword
    if data is None or isinstance(data, ast.Starred):
        return None
    start, end = _span(text, data)
    source = text[start:end]
    if how == "samples":
        return _inserted(_edited(text, [(start, end, f"_in_memory({source})")]), tree, _SAMPLES)
    appended = _appended(text, call, "collate_fn=lambda batch: batch")
    # Where the data set is the last argument, both are one edit.
    if appended[0] == end:
        edits = [(start, end, f"_InMemory({source}){appended[2]}")]
    else:
        edits = [(start, end, f"_InMemory({source})"), appended]
    return _inserted(_edited(text, edits), tree, _BATCHES)


def _inserted(text: str, tree: ast.Module, new: str) -> str:
    """The text with a piece after the last import at its top."""
    lines = text.splitlines(keepends=True)
    after = 0
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            after = node.end_lineno or node.lineno
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            break
    return "".join([*lines[:after], new, *lines[after:]])


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    """Where a node stands in the text; the tree counts bytes of a line."""
    starts = list(_starts(text))
    first, last = starts[node.lineno - 1], starts[(node.end_lineno or node.lineno) - 1]
    lines = text.splitlines(keepends=True)
    begin = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    end = len(lines[(node.end_lineno or node.lineno) - 1].encode()[: node.end_col_offset].decode())
    return first + begin, last + end


def _starts(text: str) -> Iterator[int]:
    at = 0
    for line in text.splitlines(keepends=True):
        yield at
        at += len(line)


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text
