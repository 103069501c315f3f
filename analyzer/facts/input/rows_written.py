"""Batches that a program pads itself: rows of a tensor of one length into which as much is written as each sample has.

`batch[row, : len(text)] = text` takes a row, of that a part, and copies into it: shapes tell how long both are. Only what has the
shape of the indices that an embedding looks up is told of: that is what the model computes.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.kernels.precision import tensor_dims
from analyzer.facts.steps.find import Steps
from analyzer.spans.labels import codes_of, distinct_texts, is_any
from traces.trace import Trace

_WRITES = ("aten::select", "aten::slice", "aten::copy_")


class RowsWritten(msgspec.Struct, frozen=True):
    """Whole batches of that kind.

    Args:
        batches: How many.
        filled: Elements written.
        longest: Elements that rows as long as the longest of each batch would have.
        whole: Elements of the batches.
    """

    batches: int = 0
    filled: int = 0
    longest: int = 0
    whole: int = 0


def rows_written(trace: Trace, host: HostFacts, steps: Steps, shapes: AbstractSet[tuple[int, ...]]) -> RowsWritten:
    """Counts them.

    Args:
        trace: The trace.
        host: The host's threads.
        steps: The steps; a batch is made in one of them.
        shapes: Shapes of what embeddings look up there.
    """
    tables = {shape for shape in shapes if len(shape) == 2}
    if not tables:
        return RowsWritten()
    ops = trace.ops
    start = ops["start_ns"].to_numpy()
    inside = steps.host_window.contains(start) & (ops["thread"] == host.main_thread).to_numpy()
    rows = np.flatnonzero(is_any(ops["name"], *_WRITES) & inside)
    rows = rows[np.argsort(start[rows], kind="stable")]
    names, codes = ops["name"].take(rows).to_numpy(), codes_of(ops["input_dims"])[rows]
    if len(rows) < len(_WRITES):
        return RowsWritten()
    at = np.flatnonzero(np.all([np.roll(names, -place) == name for place, name in enumerate(_WRITES)], axis=0))
    at = at[at <= len(rows) - len(_WRITES)]
    texts = [tensor_dims(text) for text in distinct_texts(ops["input_dims"])]
    found, batch, lengths = RowsWritten(), None, list[int]()
    for place, step in zip(at.tolist(), steps.of_host(start[rows[at]]).tolist(), strict=True):
        taken, part, copied = (
            tuple(texts[code][0]) if code >= 0 and texts[code] else () for code in codes[place : place + 3].tolist()
        )
        if taken not in tables or part != taken[1:] or len(copied) != 1 or copied[0] > part[0]:
            continue
        lengths = [*lengths, copied[0]] if (step, taken) == batch else [copied[0]]
        batch = step, taken
        if len(lengths) == taken[0]:
            found = RowsWritten(
                found.batches + 1,
                found.filled + sum(lengths),
                found.longest + max(lengths) * len(lengths),
                found.whole + taken[0] * taken[1],
            )
            lengths = []
    return found
