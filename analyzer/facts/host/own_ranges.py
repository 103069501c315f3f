"""The program's own range around some time of a thread: its word for what it does there."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analyzer.facts.steps.tiling_ranges import VARYING
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import distinct_texts, is_any

# Of the time: a range around less of it is one of several.
_MOST = 0.5
# What is around nearly all of the steps says nothing of a part of them.
_WHOLE = 0.9


def range_around(annotations: pd.DataFrame, thread: int, time: IntervalSet, window: IntervalSet) -> str | None:
    """The shortest ranges of one name that hold most of the time, numbers left out; None where none do.

    Args:
        annotations: `trace.annotations`.
        thread: Row in `trace.threads`.
        time: What is looked for.
        window: The used steps.
    """
    ranges = annotations[is_any(annotations["kind"], "user") & (annotations["thread"] == thread).to_numpy()]
    names = np.array([VARYING.sub("#", name) for name in distinct_texts(ranges["name"])] + [""], dtype=object)
    best: tuple[int, str] | None = None
    for name, rows in ranges.groupby(names[ranges["name"].cat.codes.to_numpy()]):
        spans = IntervalSet.of_rows(rows) & window
        if not name or spans.total_ns > _WHOLE * window.total_ns or (spans & time).total_ns <= _MOST * time.total_ns:
            continue
        if best is None or (spans.total_ns, str(name)) < best:
            best = (spans.total_ns, str(name))
    return best[1] if best else None
