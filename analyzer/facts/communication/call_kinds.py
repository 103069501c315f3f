"""What each range of a collective does, by its name without its library, and by what it is a part of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts, matching
from traces.patterns import Pattern
from traces.trace import Trace

# The library in front of a collective's name: `nccl:all_reduce`, `c10d::allreduce_`.
_LIBRARY = Pattern(r"^\w+(?::+|$)_*")
# Of gloo: rank 0 takes a message from each rank and sends one to each. They carry nothing, and are of no pipeline.
_MONITORED = Pattern(r"(?:c10d::)?monitored_barrier")


def kinds_of_calls(trace: Trace, rows: pd.DataFrame) -> npt.NDArray[np.object_]:
    """What each range does (`all_reduce`); asked once per distinct name. Shape (ranges,).

    Args:
        trace: The trace.
        rows: The ranges.
    """
    names = rows["name"]
    distinct = np.array([*(_LIBRARY.sub("", text) for text in distinct_texts(names)), ""], dtype=object)
    found: npt.NDArray[np.object_] = distinct[codes_of(names)]
    barriers = matching(trace.collectives["name"], _MONITORED.match)
    if barriers.any():
        found[IntervalSet.of_rows(trace.collectives, barriers).contains(rows["start_ns"].to_numpy())] = "barrier"
    return found
