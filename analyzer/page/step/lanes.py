"""The geometry of a step's lanes: which span each cell of a row of characters shows, and which boxes a drawing has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analyzer.analysis import FindingDocument, Intervals, Lane, Span, Timeline
from analyzer.cause_names import Cause

# A device that works less of a cell or box than this is drawn as high as it is busy: a filled one would say that it never idles.
BUSY_RATIO = 0.9
# A finding of more pieces is drawn as one strip, the stronger the denser: brackets of each would only be dust.
MOST_PIECES = 12


@dataclass(frozen=True)
class Cell:
    """What one cell shows, nothing where `span` is None; `busy` is the share of its time, 0 to 1."""

    span: Span | None
    busy: float


@dataclass
class Box:
    """A drawn span.

    Args:
        start: Where it begins, in the units of the drawing.
        end: Where it ends.
        label: What runs.
        cause: What colours it.
        ns: How long the lane works in it.
        held_ns: Its length.
    """

    start: float
    end: float
    label: str
    cause: Cause
    ns: int
    held_ns: int


def cells(lane: Lane, dur_ns: int, width: int) -> list[Cell]:
    """For each of `width` cells the span that covers most of it, and for how much of it a device works.

    What a host does are phases, drawn whole where they cover at least half of a cell; of a device's idle time nothing is hidden.
    """
    owners: list[Span | None] = [None] * width
    most, covered, worked = [0.0] * width, [0.0] * width, [0.0] * width
    size = max(dur_ns, 1) / max(width, 1)
    for span in lane.spans:
        end = span.start_ns + span.dur_ns
        for index in range(max(0, int(span.start_ns / size)), min(width, int(end / size) + 1)):
            share = min(end, (index + 1) * size) - max(span.start_ns, index * size)
            if share <= 0:
                continue
            covered[index] += share
            worked[index] += share * span.busy_ratio
            if share > most[index]:
                most[index], owners[index] = share, span
    if lane.kind == "device":
        return [Cell(owner, done / size) for owner, done in zip(owners, worked, strict=True)]
    return [Cell(owner, 1.0) if on * 2 >= size else Cell(None, 0.0) for owner, on in zip(owners, covered, strict=True)]


def boxes(lane: Lane, dur_ns: int, width: float, least: float) -> list[Box]:
    """Boxes at least `least` wide on a lane `width` long; what is closer than that to one of its kind joins it."""
    found: list[Box] = []
    for span in lane.spans:
        start = along(span.start_ns, dur_ns, width)
        end = max(along(span.start_ns + span.dur_ns, dur_ns, width), start + least)
        last = found[-1] if found else None
        if last is not None and start - last.end < least:
            if span.cause == last.cause and span.label == last.label:
                last.end, last.ns = max(end, last.end), last.ns + span.worked_ns
                last.held_ns += span.dur_ns
                continue
            start = max(start, last.end)
            if end - start < least:
                continue
        found.append(Box(start, min(end, width), span.label, span.cause, span.worked_ns, span.dur_ns))
    return found


def is_partly(box: Box, lane: Lane) -> bool:
    """Whether a device idles so much in between that a filled box would deny it."""
    return lane.kind == "device" and box.ns < BUSY_RATIO * box.held_ns


def along(at_ns: int, dur_ns: int, width: float) -> float:
    """Where on a line of `width` a time of the step lies."""
    return min(max(at_ns / max(dur_ns, 1), 0.0), 1.0) * width


def claimed(finding: FindingDocument, shown: Timeline) -> Iterator[tuple[int, int]]:
    """The pieces of a drawn step that a finding claims, (start, end) in nanoseconds from its start."""
    for one in finding.evidence:
        if isinstance(one, Intervals) and one.step == shown.step:
            yield from one.spans
