"""Several ranks merged into one file: their ids and devices collide, so that no figure would be of one rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.units import share

if TYPE_CHECKING:
    from analyzer.facts import Facts

# A process with fewer launches, or ops where there is no device, is no rank.
_MIN_EVENTS = 20
# In a sound trace the id of a launch is its own; in all recorded ones none is used twice.
_COLLIDING_RATIO = 0.3
_FIX = (
    "give every rank its own file, for example trace.rank{rank}.json.gz, and name them together: advisor explain FOLDER"
)


def check(facts: Facts) -> Iterator[Symptom]:
    """Several processes that train, or launches that share their ids."""
    trace = facts.trace
    launches = trace.runtime[trace.runtime["kind"].isin(["launch", "graph_launch", "memcpy"])]
    working = launches if len(launches) else trace.ops
    processes = (
        int((np.bincount(working["process"].to_numpy(dtype=np.int64)) >= _MIN_EVENTS).sum()) if len(working) else 0
    )
    if processes > 1:
        what = "launch device work" if len(launches) else "run ops"
        yield Symptom(
            "PG007",
            Gravity.UNUSABLE,
            f"{processes} processes {what} in this one file: ranks were merged, and their ids and devices collide.",
            _FIX,
            processes,
        )
        return
    known = launches["correlation"].dropna()
    known = known[known != 0]
    repeated = int(known.duplicated().sum())
    if len(known) >= _MIN_EVENTS and repeated / len(known) >= _COLLIDING_RATIO:
        yield Symptom(
            "PG007",
            Gravity.UNUSABLE,
            f"{repeated:,} launches ({share(repeated / len(known))}) repeat the id of another one: ranks with the same "
            "process number were merged into this file.",
            _FIX,
            repeated,
        )
