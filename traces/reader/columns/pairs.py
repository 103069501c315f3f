"""`B` and `E` events, the two halves of a span, to whole events.

Pairing waits for the end of the file and goes by time: halves may stand in any order. Halves are rare in profiler
traces, so keeping them costs little.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from traces.reader.columns.numbers import exact_nanoseconds
from traces.reader.events import Event
from traces.reader.mend.repairs import Repairs

# When it was, whether it begins a span, its number in the file, and all of it.
_Half = tuple[int, bool, int, Event]


class Pairs:
    """Collects halves and joins them per thread.

    Args:
        repairs: Where ends without a beginning are counted.
    """

    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._halves: dict[tuple[Any, Any], list[_Half]] = {}

    def add(self, event: Event, number: int) -> None:
        """Keeps one half, with its number in the file."""
        start = exact_nanoseconds(event.ts)
        if start is None:
            self._repairs.add("missing-start", event=number)
            return
        halves = self._halves.setdefault((event.pid, event.tid), [])
        halves.append((start, event.ph == "B", number, event))

    def joined(self) -> tuple[list[Event], list[int]]:
        """Whole events, and the numbers of those that began them; a beginning without an end becomes one without a duration."""
        whole: list[Event] = []
        numbers: list[int] = []
        for halves in self._halves.values():
            # At one instant the end of the earlier span comes before the beginning of the next.
            halves.sort(key=lambda half: half[:3])
            for event, number in self._join(halves):
                whole.append(event)
                numbers.append(number)
        self._halves = {}
        return whole, numbers

    def _join(self, halves: list[_Half]) -> Iterator[tuple[Event, int]]:
        open_spans: list[_Half] = []
        for half in halves:
            time, begins, number, event = half
            if begins:
                open_spans.append(half)
                continue
            depth = _matching(open_spans, event.name)
            if depth is None:
                self._repairs.add("unmatched-end", event=number)
                continue
            start, _, begun, first = open_spans.pop(depth)
            yield _complete(first, event, Decimal(time - start) / 1000), begun
        for _, _, begun, first in open_spans:
            yield _complete(first, None, None), begun


def _matching(open_spans: list[_Half], name: str | None) -> int | None:
    """Place of the innermost open span of this name; an end need not repeat the name."""
    for depth in range(len(open_spans) - 1, max(len(open_spans) - 64, 0) - 1, -1):
        if name is None or name == "" or open_spans[depth][3].name == name:
            return depth
    return None


def _complete(first: Event, last: Event | None, dur: Decimal | None) -> Event:
    args = first.args or (last.args if last else None)
    number: Any = dur
    return Event(
        ph="X", cat=first.cat, name=first.name, pid=first.pid, tid=first.tid, ts=first.ts, dur=number, args=args
    )
