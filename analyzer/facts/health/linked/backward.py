"""Numbers by which the backward pass belongs to the forward pass: one that several kinds of nodes share names none of them.

torch's own `_trace_validator` (2.15) checks the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.arrays import Int64Array
from analyzer.spans.columns import present
from analyzer.spans.grouping import distinct_columns
from analyzer.spans.labels import codes_of, matching
from analyzer.units import share
from traces.reader.names.autograd import OF_NODE
from traces.trace import Trace

# Forward passes on several threads count each for themselves.
_SHARED_RATIO = 0.05


def check(trace: Trace) -> Iterator[Symptom]:
    """Sequence numbers that nodes of several names carry."""
    ops = trace.ops
    rows = np.flatnonzero(matching(ops["name"], lambda name: name.startswith(OF_NODE)))
    numbers = ops["sequence"].iloc[rows]
    known = present(numbers)
    number: Int64Array = numbers.to_numpy(dtype=np.int64, na_value=0)[known]
    if not len(number):
        return
    pairs, _ = distinct_columns(np.stack([number, codes_of(ops["name"])[rows][known].astype(np.int64)]))
    _, names = np.unique(pairs[0], return_counts=True)
    shared = int((names > 1).sum())
    if shared >= _SHARED_RATIO * len(names):
        yield Symptom(
            "PG007",
            Gravity.NOTE,
            f"{shared:,} of {len(names):,} sequence numbers ({share(shared / len(names))}) belong to several kinds of nodes: "
            "the backward pass of modules and patterns may be attributed wrongly.",
            None,
            shared,
            touches=(),
        )
