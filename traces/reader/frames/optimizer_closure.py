"""`optimizer.step(closure)`: the range of the step holds the forward and the backward pass too.

Lightning always works this way, LBFGS has to. Such a range is not the time that updating takes; the part after the last backward
pass in it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from traces.reader.names.vocabulary import is_backward_node


def updates_only(annotations: pd.DataFrame, ops: pd.DataFrame) -> pd.DataFrame:
    """The annotations, in which an optimizer's step begins where the last backward pass inside it ends.

    Args:
        annotations: Ranges, with their kind.
        ops: Operators; a backward pass may run on any thread of the process.
    """
    steps = np.flatnonzero((annotations["kind"] == "optimizer_step").to_numpy())
    if not len(steps):
        return annotations
    backward = np.array([is_backward_node(str(name)) for name in ops["name"].cat.categories], dtype=bool)
    nodes = ops.loc[backward[ops["name"].cat.codes], ["process", "start_ns", "end_ns"]]
    if not len(nodes):
        return annotations
    start = annotations["start_ns"].to_numpy().copy()
    end = annotations["end_ns"].to_numpy()
    for one in np.unique(annotations["process"].to_numpy()[steps]).tolist():
        mine = steps[(annotations["process"].to_numpy() == one)[steps]]
        theirs = nodes[(nodes["process"] == one).to_numpy()]
        start[mine] = _latest_end(theirs, start[mine], end[mine], start[mine])
    for thread in np.unique(annotations["thread"].to_numpy()[steps]).tolist():
        here = (annotations["thread"] == thread).to_numpy()
        mine = steps[here[steps]]
        # The program's own range around the backward pass ends later: what it holds is not the update either.
        begun = annotations["start_ns"].to_numpy()[mine]
        start[mine] = _latest_end(annotations[here], begun + 1, start[mine], start[mine])
    start = np.minimum(start, end)
    if (start == annotations["start_ns"].to_numpy()).all():
        return annotations
    moved = annotations.assign(start_ns=start, dur_ns=end - start)
    # Sorted as every frame is, the longer first where two start together.
    order = np.lexsort((-moved["dur_ns"].to_numpy(), start))
    return moved.iloc[order].reset_index(drop=True)


def _latest_end(
    spans: pd.DataFrame, low: npt.NDArray[np.int64], high: npt.NDArray[np.int64], otherwise: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Per pair of times the latest end of the spans that start between them, if that is later than `otherwise`."""
    spans = spans.sort_values("start_ns", kind="stable")
    begins = spans["start_ns"].to_numpy()
    # One more, so that an index past the last span is allowed.
    ends = np.append(spans["end_ns"].to_numpy(), 0)
    first, last = np.searchsorted(begins, low, side="left"), np.searchsorted(begins, high, side="left")
    latest = np.maximum.reduceat(ends, np.column_stack([first, last]).ravel())[::2]
    return np.where(last > first, np.maximum(latest, otherwise), otherwise)
