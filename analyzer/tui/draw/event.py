"""All that is known of the event that is pointed at, below lanes that fill the screen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from textual.content import Content

from analyzer import units
from analyzer.analysis import FindingDocument
from analyzer.cause_names import CAUSES
from analyzer.page.words.of_steps import Noun
from analyzer.page.words.vocabulary import label
from analyzer.tui.draw.cursor import Cursor, claims, enclosing, lane_name
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.views.step_lanes import StepLanes

# Its lines: a rule, a title, and what follows it; more findings than fit are counted.
EVENT_LINES = 7
_GUTTER = 10


def event_lines(
    step: StepLanes,
    cursor: Cursor,
    findings: Sequence[FindingDocument],
    width: int,
    glyphs: Glyphs,
    noun: Noun = "step",
) -> list[Content]:
    """At most so many lines as `EVENT_LINES`.

    Args:
        step: The step.
        cursor: The event.
        findings: Those that may explain its time, best first.
        width: Cells.
        glyphs: How to draw.
        noun: What to call the step.
    """
    track, event = cursor.track, cursor.event
    length = cursor.end_ns - cursor.start_ns
    lines = [
        Content.styled(("─" if glyphs.unicode else "-") * width, "$frame"),
        Content.assemble(
            (line(track.labels[int(track.label[event])], 300), "bold"),
            f"  {units.duration(length)}",
            (f"  {units.share(length / max(step.dur_ns, 1))} of the {noun}", "$quiet"),
        ),
    ]
    told = [
        ("at", units.stretch(cursor.start_ns, cursor.end_ns).partition(" (")[0]),
        ("lane", f"{line(lane_name(step, track), 80)} {glyphs.dot} {label(CAUSES[int(track.cause[event])])}"),
        ("inside", f" {glyphs.current} ".join(line(name, 60) for name in enclosing(step, cursor))),
        ("details", line(track.details[int(track.detail[event])], 300)),
        ("alike", _alike(cursor)),
    ]
    named = [Content.assemble((f"{name:<{_GUTTER}}", "$quiet"), text) for name, text in told if text]
    room = EVENT_LINES - len(lines)
    explained = list(_explained(step, cursor, findings))
    fit = max(1, room - len(named))
    if len(explained) > fit:
        explained = [
            *explained[: fit - 1],
            explained[fit - 1] + Content.styled(f", and {len(explained) - fit} more", "$quiet"),
        ]
    return [*lines, *named[: room - len(explained)], *explained]


def _alike(cursor: Cursor) -> str:
    """`93 events of this name in the lane, 2.3 ms together`; nothing where it is the only one."""
    track = cursor.track
    mine = np.flatnonzero(track.label == track.label[cursor.event])
    if len(mine) < 2:
        return ""
    together = int((track.end_ns[mine] - track.start_ns[mine]).sum())
    return f"{units.count(len(mine), 'event')} of this name in the lane, {units.duration(together)} together"


def _explained(step: StepLanes, cursor: Cursor, findings: Iterable[FindingDocument]) -> Iterable[Content]:
    """The findings in whose time the event lies."""
    for one in findings:
        if claims(one, step.number, cursor):
            yield Content.assemble(
                (f"{'finding':<{_GUTTER}}", "$quiet"),
                (line(one.rule, 10), f"bold $sev-{one.severity}"),
                f" {line(one.title, 80)}",
            )
