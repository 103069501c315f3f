"""Python objects that are sent between ranks: pickled, their length sent, then their bytes, and unpickled by each that gets them.

torch's functions for it leave no range. Told by their row of ops on the training thread (torch/distributed/distributed_c10d.py):
bytes in memory become a tensor (`aten::set_`), two collectives of one kind follow with nothing but sizes between, and bytes become
arrays (`aten::resolve_neg`, of `Tensor.numpy`). Pickling is what comes before the first, unpickling what follows the last.
"""

from __future__ import annotations

import msgspec
import numpy as np
import pandas as pd

from analyzer.facts.host.outermost import Outermost
from analyzer.facts.steps.find import Steps
from analyzer.ranks.names import kind_of
from analyzer.spans.arrays import Int64Array
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import distinct_texts, matching
from analyzer.spans.stretches import stretches
from traces.patterns import Pattern
from traces.trace import Trace

_FUNCTIONS = {
    "all_gather": "all_gather_object",
    "gather": "gather_object",
    "broadcast": "broadcast_object_list",
    "scatter": "scatter_object_list",
}
_CALL = "c10d::"
_MADE, _READ, _VALUE = "aten::set_", "aten::resolve_neg", "aten::item"
# What makes, cuts and reads tensors of sizes and bytes, and computes nothing else.
_BOOKKEEPING = Pattern(
    r"aten::(?:empty|empty_like|set_|to|lift_fresh|detach_?|cat|zeros|zero_|fill_|max|sum|item|_local_scalar_dense|resize_|chunk"
    r"|split|narrow|slice|select|view|unbind|add|resolve_conj|resolve_neg)$"
)
# Calls of a device's library stand between them, where a tensor is copied or waited for.
_OF_LIBRARY = ("cuda", "hip")


class ObjectCalls(msgspec.Struct, frozen=True):
    """Where objects are sent.

    Args:
        time: From pickling to unpickling, with what else stands between them and the ops around.
        functions: torch's names for the calls, the most frequent first.
    """

    time: IntervalSet = EMPTY
    functions: tuple[str, ...] = ()


def object_calls(trace: Trace, steps: Steps, spans: Outermost, thread: int | None) -> ObjectCalls:
    """Looks for them in the used steps.

    Args:
        trace: The trace.
        steps: The steps.
        spans: What the training thread does that nothing is around.
        thread: Row of that thread in `trace.threads`.
    """
    calls = trace.collectives
    kinds = {name: kind_of(name) for name in distinct_texts(calls["name"]) if name.startswith(_CALL)}
    kinds = {name: kind for name, kind in kinds.items() if kind in _FUNCTIONS}
    calls = calls[matching(calls["name"], kinds.__contains__) & (calls["thread"].to_numpy() == thread)]
    if len(calls) < 2:
        return ObjectCalls()
    calls = calls.sort_values("start_ns", kind="stable")
    kind = [kinds[name] for name in calls["name"].astype(str)]
    at = np.searchsorted(spans.start_ns, calls["start_ns"].to_numpy())
    passes = [_BOOKKEEPING.match(name) is not None or name.startswith(_OF_LIBRARY) for name in spans.names]
    first, end = stretches(np.array(passes, dtype=bool)[spans.code])
    many: dict[str, int] = {}
    found: list[tuple[int, int]] = []
    for begin, until in zip(first.tolist(), end.tolist(), strict=True):
        one, behind = np.searchsorted(at, begin), np.searchsorted(at, until, side="right")
        if behind - one < 2 or kind[one] != kind[one + 1]:
            continue
        span = _span(spans, begin, until, calls.iloc[one:behind], at[one:behind])
        if span is not None:
            found.append(span)
            many[_FUNCTIONS[kind[one]]] = many.get(_FUNCTIONS[kind[one]], 0) + 1
    return ObjectCalls(IntervalSet.of(found) & steps.window, tuple(sorted(many, key=lambda name: -many[name])))


def _span(spans: Outermost, begin: int, until: int, calls: pd.DataFrame, at: Int64Array) -> tuple[int, int] | None:
    """From the op before the bytes are made to the one after they are read; None where neither is seen.

    Args:
        spans: What the training thread does.
        begin: The first of a stretch of what may belong to the calls.
        until: The first behind it.
        calls: The calls between them.
        at: The first op that starts in or behind each call, shape (calls,).
    """
    names = [spans.names[code] for code in spans.code[begin:until].tolist()]
    sends = _MADE in names[: int(at[0]) - begin]
    gets = _READ in names[int(at[1]) - begin :]
    if not (sends or gets):
        return None
    since, then = int(calls["start_ns"].iloc[0]), int(calls["end_ns"].iloc[-1])
    if sends:
        # An empty tensor is made first, behind the pickling.
        made = begin + max(names.index(_MADE) - 1, 0)
        since = int(spans.end_ns[made - 1]) if made else int(spans.start_ns[made])
    if gets:
        last = len(names) - 1 - names[::-1].index(_READ)
        # How long the object is, is read before it is unpickled.
        last += last + 1 < len(names) and names[last + 1] == _VALUE
        behind = begin + last + 1
        then = int(spans.start_ns[behind]) if behind < len(spans) else int(spans.end_ns[behind - 1])
    return since, then
