"""`B` and `E` events, the two halves of a span, to whole events.

Pairing waits for the end of the file and goes by time: halves may stand in any order. Halves are rare in profiler
traces, so keeping them costs little.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from traces.reader.events import Event
from traces.reader.numbers import exact_nanoseconds
from traces.reader.repairs import Repairs


class Pairs:
    """Collects halves and joins them per thread.

    Args:
        repairs: Where ends without a beginning are counted.
    """

    def __init__(self, repairs: Repairs) -> None:
        self._repairs = repairs
        self._halves: dict[tuple[Any, Any], list[tuple[int, bool, int, Event]]] = {}

    def add(self, event: Event) -> None:
        """Keeps one half."""
        start = exact_nanoseconds(event.ts)
        if start is None:
            self._repairs.add("missing-start")
            return
        halves = self._halves.setdefault((event.pid, event.tid), [])
        halves.append((start, event.ph == "B", len(halves), event))

    def joined(self) -> list[Event]:
        """Whole events; a beginning without an end becomes one without a duration."""
        whole: list[Event] = []
        for halves in self._halves.values():
            # At one instant the end of the earlier span comes before the beginning of the next.
            halves.sort(key=lambda half: half[:3])
            self._join(halves, whole)
        self._halves = {}
        return whole

    def _join(self, halves: list[tuple[int, bool, int, Event]], whole: list[Event]) -> None:
        open_spans: list[tuple[int, Event]] = []
        for time, begins, _, event in halves:
            if begins:
                open_spans.append((time, event))
                continue
            depth = _matching(open_spans, event.name)
            if depth is None:
                self._repairs.add("unmatched-end")
                continue
            start, first = open_spans.pop(depth)
            whole.append(_complete(first, event, Decimal(time - start) / 1000))
        whole.extend(_complete(first, None, None) for _, first in open_spans)


def _matching(open_spans: list[tuple[int, Event]], name: str | None) -> int | None:
    """Place of the innermost open span of this name; an end need not repeat the name."""
    for depth in range(len(open_spans) - 1, max(len(open_spans) - 64, 0) - 1, -1):
        if name is None or name == "" or open_spans[depth][1].name == name:
            return depth
    return None


def _complete(first: Event, last: Event | None, dur: Decimal | None) -> Event:
    args = first.args or (last.args if last else None)
    number: Any = dur
    return Event(
        ph="X", cat=first.cat, name=first.name, pid=first.pid, tid=first.tid, ts=first.ts, dur=number, args=args
    )
