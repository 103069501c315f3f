"""The modules as a flame graph from the top: a box as wide as a module's time, those it calls below it."""

from __future__ import annotations

from collections.abc import Iterator

from markupsafe import escape

from analyzer.analysis import Analysis
from analyzer.page import modules
from analyzer.page.findings.groups import each
from analyzer.page.modules import Module
from analyzer.page.words import safe
from analyzer.report.drawing.shapes import WIDTH, Drawing, rect, text, width_of
from analyzer.units import count, share

_ROW = 24
_BOX = 22
# The lower edge of a box, drawn as far as its backward pass goes.
_STRIP = 4
_LEAST_WIDTH = 1.0
_SHORTEST_NAME = 3
_DEEPEST = 24
_COLOURS = 4


def flame(analysis: Analysis) -> Drawing | None:
    """Boxes of all modules that are wide enough to be seen; None where there is none."""
    rows = modules.rows(analysis)
    placed = list(_placed(rows))
    if not placed:
        return None
    deepest = max(row.depth for row, _, _ in placed)
    body = "".join(part for row, x, width in placed for part in _box(row, x, width, each(analysis)))
    return Drawing((deepest + 1) * _ROW, body, _sentence(rows, each(analysis)))


def _placed(rows: tuple[Module, ...]) -> Iterator[tuple[Module, float, float]]:
    """Rows with their left edge and width: below its caller a module begins where the one before it ends."""
    whole = max(sum(row.whole_ns for row in rows if row.depth == 0), 1)
    # By depth, how far that row of boxes is drawn already.
    filled: list[float] = [0.0]
    for row in rows:
        del filled[row.depth + 1 :]
        if row.depth >= len(filled):
            continue
        x, width = filled[row.depth], row.whole_ns / whole * WIDTH
        filled[row.depth] = x + width
        filled.append(x)
        if width >= _LEAST_WIDTH and row.depth < _DEEPEST:
            yield row, x, width


def _box(row: Module, x: float, width: float, each: str) -> Iterator[str]:
    """A group whose parts a script may move: the box, its backward pass, its name."""
    top = row.depth * _ROW
    parts = (("forward", row.forward), ("backward", row.backward), ("its own", row.own))
    listed = ", ".join(f"{name} {time}" for name, time in parts if time != modules.NOTHING)
    told = f"{row.name}: {row.time} {each}, {share(row.ratio)}; {listed}"
    late = row.backward_ns / max(row.whole_ns, 1)
    name = safe.clean(row.name)
    yield f'<g class="box" data-x="{x:.2f}" data-w="{width:.2f}" data-late="{late:.3f}" data-name="{escape(name)}">'
    # A thin line of the page's colour between neighbours.
    yield rect(x, top, width - 0.6, _BOX, f"module m{_colour(row.name)}", told)
    yield rect(x, top + _BOX - _STRIP, late * (width - 0.6), _STRIP, "late", radius=0)
    # For the script a place of the name is there in every box.
    yield text(x + 5, top + 14, fitting(name, width), "box-name")
    yield "</g>"


def fitting(name: str, width: float) -> str:
    """As much of a name as a box has room for; empty where that tells nothing."""
    room = int((width - 10) / width_of("m"))
    return safe.middle(name, room) if room >= _SHORTEST_NAME else ""


def _colour(name: str) -> int:
    """Neighbours of one kind share a colour: `Linear_3` and `Linear_7`."""
    kind = name.rpartition("(")[2] if name.endswith(")") else name.rpartition("_")[0] or name
    return sum(map(ord, kind)) % _COLOURS


def _sentence(rows: tuple[Module, ...], each: str) -> str:
    # Of the modules themselves, not of what they call: those say where the time goes.
    outermost = [row for row in rows if row.depth <= 1]
    longest = sorted(outermost, key=lambda row: -row.whole_ns)[:3]
    told = ", ".join(f"{row.name} {row.time} {each} ({share(row.ratio)})" for row in longest)
    return f"Flame graph of {count(len(rows), 'module')}, the longest on top {told}"
