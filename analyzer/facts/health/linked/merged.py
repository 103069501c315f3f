"""Several ranks merged into one file: their ids and devices collide, so that no figure would be of one rank."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.host.section import HostFacts
from analyzer.spans.grouping import distinct
from analyzer.spans.labels import is_any, matching
from analyzer.units import share
from traces.reader.names.vocabulary import is_backward_node
from traces.trace import Trace

# A process with fewer launches, or ops where there is no device, is no rank; but one of a few that does half as much as another.
_MIN_EVENTS = 20
_FEW_EVENTS = 5
# In a sound trace the id of a launch is its own, and that of an op; in all recorded ones none is used twice.
_COLLIDING_RATIO = 0.3
# Spans of one thread nest; in all recorded traces none crosses another by more than a rounding error.
_ROUNDING_NS = 1_000
# Late ends of a few ops are known faults of profilers; of one op in twenty they are not.
_CROSSING_RATIO = 0.05
_FIX = (
    "give every rank its own file, for example trace.rank{rank}.json.gz, and name them together: advisor explain FOLDER"
)


def check(trace: Trace, host: HostFacts) -> Iterator[Symptom]:
    """Several processes that train, launches or ops that share their ids, or ops that no one thread can have run."""
    launching = is_any(trace.runtime["kind"], "launch", "graph_launch", "memcpy")
    by_launches = bool(launching.any())
    process = trace.runtime["process"].to_numpy()[launching] if by_launches else trace.ops["process"].to_numpy()
    events = np.bincount(process)
    processes = int((events >= np.clip(events.max(initial=0) / 2, _FEW_EVENTS, _MIN_EVENTS)).sum())
    if processes > 1:
        what = "launch device work" if by_launches else "run ops"
        yield Symptom(
            "PG007",
            Gravity.UNUSABLE,
            f"{processes} processes {what} in this one file: ranks were merged, and their ids and devices collide.",
            _FIX,
            processes,
        )
        return
    ids = trace.runtime["correlation"][launching] if by_launches else trace.ops["external_id"]
    known = ids.to_numpy(dtype=np.int64, na_value=0)
    known = known[known != 0]
    repeated = len(known) - len(distinct(known))
    if len(known) >= _MIN_EVENTS and repeated / len(known) >= _COLLIDING_RATIO:
        what, who = ("launches", "ranks") if by_launches else ("ops", "ranks or runs")
        yield Symptom(
            "PG007",
            Gravity.UNUSABLE,
            f"{repeated:,} {what} ({share(repeated / len(known))}) repeat the id of another one: {who} with the same "
            "process number were merged into this file.",
            _FIX,
            repeated,
        )
        return
    crossing = _crossing(host)
    if crossing >= _MIN_EVENTS:
        yield Symptom(
            "PG007",
            Gravity.UNUSABLE if crossing / len(trace.ops) >= _CROSSING_RATIO else Gravity.CAUTION,
            f"{crossing:,} ops ({share(crossing / len(trace.ops))}) begin inside another op of their thread and end after it: "
            "several threads are written as one, as in ranks with the same process number that were merged.",
            _FIX,
            crossing,
        )


def _crossing(host: HostFacts) -> int:
    """Operators that begin inside an operator or a call of their thread and end after it: no one thread runs two at a time.

    Ranges of the program may cross each other, and end inside an op: tasks of asyncio take turns on one thread and leave theirs
    open meanwhile, and a range that ends with a future is closed by another thread.
    """
    tree = host.tree
    start, end = (tree.frame[name].to_numpy() for name in ("start_ns", "end_ns"))
    around = end[tree.parent]
    # A neighbour that a rounding error begins before its predecessor's end crosses nothing.
    crosses = (end > around + _ROUNDING_NS) & (start < around - _ROUNDING_NS)
    if not crosses.any():
        return 0
    operator = tree.of_source("ops") & matching(tree.frame["name"], _is_operator)
    return int((operator & crosses & (operator | tree.of_source("runtime"))[tree.parent]).sum())


def _is_operator(name: str) -> bool:
    """Whether a name is an operator's, or a node's of the backward pass: ranges of the program are written among them as well."""
    return "::" in name or is_backward_node(name)
