"""A change as a diff of the user's own call, found by its line in the syntax tree; where that cannot be, as words."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzer.tune.catalogue import Change
from traces.collect.tune.trial import Value

_SAMPLES = """\
def _in_memory(dataset):  # all samples are made before the first step: a gain from the second epoch on
    return [dataset[index] for index in range(len(dataset))]
"""
_BATCHES = """\
class _InMemory(torch.utils.data.Dataset):  # all samples are made before the first step: a gain from the second epoch on
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
# What a loader takes only where it has workers, and what it takes where it has none.
_OF_WORKERS = {"prefetch_factor": "None", "persistent_workers": "False"}
# Beyond these `num_workers` may stand without its name.
_MOST_POSITIONAL = 5
# A change of the script as a whole that the script may have a call of its own for: its name, its argument, what to write.
_OWN_CALLS = {
    "threads": ("set_num_threads", ""), "anomaly": ("set_detect_anomaly", ""), "set-to-none": ("zero_grad", "set_to_none"),
}  # fmt: skip


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
    before = _text(place.file)
    after = _after(before, change, value, place)
    return "" if after is None else _unified(before, after, Path(place.file).name).rstrip("\r\n")


def patch(changes: Sequence[tuple[Change, Value, Place | None]], folder: Path) -> str:
    """All changes as one patch, to be applied in `folder` with `patch -p1`; what is not in a file below it is left out."""
    texts: dict[str, tuple[str, str]] = {}
    # Arguments keep the lines where they are; what is inserted at the top moves all others, and comes last.
    for change, value, place in sorted(changes, key=_moves):
        if place is None or not Path(place.file).is_relative_to(folder):
            continue
        before, now = texts.get(place.file) or (_text(place.file),) * 2
        after = _after(now, change, value, place)
        texts[place.file] = (before, now if after is None else after)
    return "".join(
        _unified(before, after, Path(file).relative_to(folder).as_posix())
        for file, (before, after) in texts.items()
        if after != before
    )


def _moves(one: tuple[Change, Value, Place | None]) -> int:
    change = one[0]
    return 2 if change.call == "script" else 1 if change.name == "in-memory" else 0


def _text(file: str) -> str:
    """What a file holds, its ends of lines as they are; empty where it is no text."""
    try:
        return Path(file).read_bytes().decode("utf-8")
    except (OSError, ValueError):
        return ""


def _after(text: str, change: Change, value: Value, place: Place) -> str | None:
    """The text with the change; None where it cannot be made, or would change nothing."""
    try:
        after = _changed(text, ast.parse(text), change, value, place) if text else None
        if after is not None:
            ast.parse(after)
    except (ValueError, SyntaxError):
        return None
    return after if after != text else None


def _unified(before: str, after: str, name: str) -> str:
    lines = difflib.unified_diff(_lines(before), _lines(after), f"a/{name}", f"b/{name}", n=1)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def advice(change: Change, value: Value) -> str:
    """What to write, where no diff can be made: the arguments of the call, or a line."""
    if change.name == "in-memory":
        return "index the data set once before training, and cut batches out of that"
    given = ", ".join(f"{name}={text}" for name, text in change.arguments(value).items())
    return f"{change.call}: {given}" if given else change.line(value)


def _changed(text: str, tree: ast.Module, change: Change, value: Value, place: Place) -> str | None:
    if change.call == "script":
        own = _own_call(text, tree, change, value)
        line = change.line(value)
        return own or (None if line.startswith("#") or not line else _inserted(text, tree, line + "\n", blank=1))
    call = _call(tree, place)
    if call is None or any(keyword.arg is None for keyword in call.keywords):
        return None  # what `**` brings may hold the argument already
    if change.call == "loader" and len(call.args) > _MOST_POSITIONAL:
        return None
    if change.name == "in-memory":
        return _held(text, tree, call, str(value))
    given = change.arguments(value) | _against(call, change.arguments(value))
    return _with_arguments(text, call, given) if given else None


def _against(call: ast.Call, given: dict[str, str]) -> dict[str, str]:
    """Arguments of the call that torch refuses beside those that are given, as it takes them."""
    known = {keyword.arg for keyword in call.keywords}
    if given.get("num_workers") == "0":
        return {name: value for name, value in _OF_WORKERS.items() if name in known}
    return {
        name: "False"
        for name in ("foreach", "fused")
        if name in known and {"foreach", "fused"} & (given.keys() - {name})
    }


def _own_call(text: str, tree: ast.Module, change: Change, value: Value) -> str | None:
    """The script's own call of what a change sets, with its argument changed: a line before it would be overruled."""
    name, keyword = _OWN_CALLS.get(change.name, ("", ""))
    edits: list[tuple[int, int, str]] = []
    for node in ast.walk(tree):
        if name and isinstance(node, ast.Call) and _name(node) == name:
            named = [one.value for one in node.keywords if one.arg == keyword]
            argument = named[0] if named else node.args[0] if node.args and not keyword else None
            if argument is not None:
                edits.append((*_span(text, argument), str(value)))
    return _edited(text, edits) if edits else None


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
    # It is loaded in the training process, as it was when it was measured.
    alone = [
        (*_span(text, one.value), ("0" if one.arg == "num_workers" else _OF_WORKERS[one.arg]))
        for one in call.keywords
        if one.arg == "num_workers" or one.arg in _OF_WORKERS
    ]
    if how == "samples":
        return _inserted(_edited(text, [(start, end, f"_in_memory({source})"), *alone]), tree, _SAMPLES, blank=2)
    appended = _appended(text, call, "collate_fn=lambda batch: batch")
    # Where the data set is the last argument, both are one edit.
    joined = next((place for place, one in enumerate(alone) if one[1] == appended[0]), None)
    if joined is not None:
        alone[joined] = (*alone[joined][:2], alone[joined][2] + appended[2])
    if appended[0] == end:
        edits = [(start, end, f"_InMemory({source}){appended[2]}"), *alone]
    else:
        edits = [(start, end, f"_InMemory({source})"), *alone, *([] if joined is not None else [appended])]
    return _inserted(_edited(text, edits), tree, _BATCHES, blank=2)


def _inserted(text: str, tree: ast.Module, new: str, blank: int) -> str:
    """The text with a piece after the last import at its top, which knows torch by its name.

    Args:
        text: What is changed: only calls, so that lines are where the tree has them.
        tree: What was parsed.
        new: Lines.
        blank: Empty lines before them, and after them where more follows.
    """
    lines = _lines(text)
    after = next((number for number, line in enumerate(lines) if not line.startswith("#")), 0)
    for node in tree.body:
        if not (isinstance(node, ast.Import | ast.ImportFrom) or _is_text(node)):
            break
        after = node.end_lineno or node.lineno
    known = any(
        isinstance(node, ast.Import) and any((one.asname or one.name) == "torch" for one in node.names)
        for node in tree.body
    )
    imported = "" if known or "torch." not in new else "import torch\n"
    rest = lines[after:]
    there = next((number for number, line in enumerate(rest) if line.strip()), blank)
    piece = imported + "\n" * (blank if after or imported else 0) + new + "\n" * max(blank - there, 0)
    return "".join([*lines[:after], piece.replace("\n", "\r\n") if "\r\n" in text else piece, *rest])


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a constant alone, as a docstring is."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _span(text: str, node: ast.expr) -> tuple[int, int]:
    """Where a node stands in the text; the tree counts bytes of a line."""
    starts = list(_starts(text))
    first, last = starts[node.lineno - 1], starts[(node.end_lineno or node.lineno) - 1]
    lines = _lines(text)
    begin = len(lines[node.lineno - 1].encode()[: node.col_offset].decode())
    end = len(lines[(node.end_lineno or node.lineno) - 1].encode()[: node.end_col_offset].decode())
    return first + begin, last + end


def _starts(text: str) -> Iterator[int]:
    at = 0
    for line in _lines(text):
        yield at
        at += len(line)


def _lines(text: str) -> list[str]:
    """Lines as Python and `patch` count them, with their ends: a form feed ends none."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _edited(text: str, edits: list[tuple[int, int, str]]) -> str:
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text
