"""The step as text: a stacked bar of where it goes, the lanes of one step, and brackets under what the findings explain.

A code block shows everywhere an issue is read: on the page, in mails, in terminals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Analysis, Lane
from analyzer.cause_names import Cause
from analyzer.page.step import lanes
from analyzer.page.step.waterfall import by_size, parts
from analyzer.page.words import safe
from analyzer.report.markdown.escape import block
from analyzer.units import count, duration

_WIDTH = 64
_LABEL = 5
_MOST_LANES = 6
_MOST_BRACKETS = 4
_IDLE = "·"
_FILLS: dict[Cause, str] = {
    "compute": "█", "communication": "▚", "copy": "▓", "device_wait": "─", "input": "▒", "allocator": "◊", "sync": "╳",  # noqa: RUF001
    "transfer_call": "▞", "optimizer": "▪", "compile": "%", "launch": "░", "framework": "▄", "python": "~",
    "unexplained": "?",
}  # fmt: skip
# Parts below this share are told together.
_SMALL = 0.02


def chart(analysis: Analysis) -> str:
    """The whole chart in a code block; nothing where there is no time to divide."""
    bar = list(_stacked(analysis))
    if not bar:
        return ""
    rows = list(_lanes(analysis))
    return block("\n".join([*bar, *([""] if rows else []), *rows]), "text", most_lines=60)


def _stacked(analysis: Analysis) -> Iterator[str]:
    shown = parts(analysis)
    if not shown:
        return
    steps = analysis.trace.steps
    head = (
        "the whole trace"
        if steps.source == "whole-trace"
        else f"mean of {count(analysis.summary.used_steps, steps.noun)}"
    )
    total = duration(analysis.summary.step_ns.mean)
    yield " " * _LABEL + head + total.rjust(_WIDTH - len(head))
    passed, start = 0.0, 0
    row = ""
    for part in shown:
        passed += part.ratio
        end = min(round(passed * _WIDTH), _WIDTH)
        row += _FILLS[part.cause] * (end - start)
        start = end
    yield " " * _LABEL + row
    entries = [f"{_FILLS[part.cause]} {part.label} {part.time}" for part in by_size(analysis) if part.ratio >= _SMALL]
    rest = sum(part.ns for part in shown if part.ratio < _SMALL)
    entries += [f"other {duration(rest)}"] if rest else []
    yield from (" " * _LABEL + line for line in _filled(entries, _WIDTH + 8))


def _filled(entries: Sequence[str], width: int) -> list[str]:
    lines: list[str] = []
    for entry in entries:
        if lines and len(lines[-1]) + 3 + len(entry) <= width:
            lines[-1] += "   " + entry
        else:
            lines.append(entry)
    return lines


def _lanes(analysis: Analysis) -> Iterator[str]:
    timeline = analysis.timeline
    if not timeline.lanes or timeline.dur_ns <= 0:
        return
    step = (
        "the trace"
        if timeline.step is None
        else f"{analysis.trace.steps.noun} {timeline.step}, the nearest to the median"
    )
    yield " " * _LABEL + step + duration(timeline.dur_ns).rjust(max(_WIDTH - len(step), 9))
    hosts = devices = 0
    for lane in timeline.lanes[:_MOST_LANES]:
        hosts += lane.kind == "host"
        devices += lane.kind == "device"
        number = (hosts if lane.kind == "host" else devices) - 1
        label = ("CPU" if lane.kind == "host" else "GPU") + (str(number) if number else "")
        yield safe.pad(label, _LABEL) + _drawn(lane, timeline.dur_ns)
    for start, end, name in _brackets(analysis):
        yield " " * (_LABEL + start) + _bracket(name, end - start)


def _drawn(lane: Lane, whole_ns: int) -> str:
    """Each column shows the cause that owns most of it; of a device that works in part, so many columns are filled."""
    due = 0.0
    row = ""
    for cell in lanes.cells(lane, whole_ns, _WIDTH):
        fill = _IDLE if cell.span is None else _FILLS[cell.span.cause]
        due += 1 - cell.busy if cell.span is not None else 0.0
        row += _IDLE if due >= 1 else fill
        due -= due >= 1
    return row


def _brackets(analysis: Analysis) -> Iterator[tuple[int, int, str]]:
    """Where the longest piece of the time of each of the first findings lies, in columns."""
    timeline = analysis.timeline
    for finding in analysis.cards[:_MOST_BRACKETS]:
        pieces = list(lanes.claimed(finding, timeline))
        if not pieces:
            continue
        low, high = max(pieces, key=lambda piece: piece[1] - piece[0])
        start = min(max(round(low / timeline.dur_ns * _WIDTH), 0), _WIDTH - 1)
        end = min(max(round(high / timeline.dur_ns * _WIDTH), start + 1), _WIDTH)
        if end - start >= 2:
            yield start, end, safe.name(finding.rule, 10)


def _bracket(name: str, width: int) -> str:
    inside = width - 2
    if inside >= len(name) + 4:
        return f"└─ {name} {'─' * (inside - len(name) - 3)}┘"
    return f"└{'─' * inside}┘ {name}"
