"""Events of categories that the vocabulary does not know: how many there are, and whether they may be a device's work."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

import pandas as pd

from traces.reader.columns.columns import Columns
from traces.reader.frames.arrays import text
from traces.trace import UnknownCategory

# A profiler has some ten; a file that has a category for each event is none of one.
_MOST_NOTES = 20


def unknown_categories(columns: Columns, frames: dict[str, pd.DataFrame]) -> tuple[UnknownCategory, ...]:
    """What the reader met and does not know, by category.

    Args:
        columns: All events of the file.
        frames: What was made of them.
    """
    # Of nearly every trace: their threads need not be looked through.
    if not columns.unknown:
        return ()
    known = {int(code) for frame in frames.values() if "thread" in frame for code in frame["thread"].unique()}
    found: dict[tuple[str, bool], list[int]] = {}
    for (category, thread, device), count in columns.unknown.items():
        sums = found.setdefault((text(category), device), [0, 0])
        sums[0] += count
        # Looked up without making a number: a thread that only unknown events are on has none.
        sums[1] += count if not device and columns.threads.get(thread, -1) not in known else 0
    return tuple(
        UnknownCategory(category, sums[0], device, sums[1]) for (category, device), sums in sorted(found.items())
    )


def notes_of(met: Sequence[UnknownCategory]) -> tuple[str, ...]:
    """One line for people per category; of very many, those with the most events, and how many there are besides."""
    shown = nlargest(_MOST_NOTES, met, key=lambda one: one.events) if len(met) > _MOST_NOTES else met
    lines = [
        f"category {one.category or '(none)'} read as {'device work' if one.as_device_work else 'nothing'} ({one.events} events)"
        for one in shown
    ]
    if len(met) > _MOST_NOTES:
        events = sum(one.events for one in met) - sum(one.events for one in shown)
        lines.append(f"{len(met) - _MOST_NOTES:,} further unknown categories ({events:,} events)")
    return tuple(lines)
