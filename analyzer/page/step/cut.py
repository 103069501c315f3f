"""The drawn step without the time that findings claim: what lies behind it moves forward, what lies in it goes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate

import msgspec

from analyzer.analysis import FindingDocument, Lane, Span, Timeline
from analyzer.page.step.lanes import claimed


def cut(shown: Timeline, findings: Iterable[FindingDocument]) -> Timeline:
    """The step without what the findings claim of it. Kernels that would get shorter keep their length: where is unknown."""
    gone = _united(piece for finding in findings for piece in claimed(finding, shown))
    if not gone:
        return shown
    starts = [start for start, _ in gone]
    before = [0, *accumulate(end - start for start, end in gone)]

    def moved(at_ns: int) -> int:
        place = bisect_right(starts, at_ns)
        if not place:
            return at_ns
        start, end = gone[place - 1]
        return at_ns - before[place - 1] - (min(at_ns, end) - start)

    lanes = tuple(Lane(name=lane.name, kind=lane.kind, spans=tuple(_spans(lane.spans, moved))) for lane in shown.lanes)
    return msgspec.structs.replace(shown, dur_ns=moved(shown.dur_ns), lanes=lanes)


def _spans(spans: Sequence[Span], moved: Callable[[int], int]) -> Iterator[Span]:
    for span in spans:
        start, end = moved(span.start_ns), moved(span.start_ns + span.dur_ns)
        if end > start:
            busy = None if span.busy_ns is None else min(span.busy_ns, end - start)
            yield msgspec.structs.replace(span, start_ns=start, dur_ns=end - start, busy_ns=busy)


def _united(pieces: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pieces in order, those that touch or overlap as one."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(pieces):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > start:
            found.append((start, end))
    return found
