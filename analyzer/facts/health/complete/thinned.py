"""PG005 ops are missing between those that are there: what was left out looks like time outside of ops, and like an idle device.

torch numbers ops and ranges as they begin, each thread in blocks. Recorded whole their numbers follow one another (of 19 published
traces since torch 1.8, and of samples of 2.13, none lacks more than 0.5 %); a file that was thinned out to be small, or freed of
short ops, has holes all over (two published ranks of one job: 85 %).
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import numpy as np

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts.health.complete.coverage import LOST_CAUTION
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.columns import present
from analyzer.spans.grouping import distinct
from analyzer.units import share
from traces.trace import Trace

# A longer hole is a block of another thread, or a time without recording.
_LONGEST_HOLE = 64
# Fewer ops say nothing about what is missing between them.
_MIN_OPS = 100
# From this part on what lies between ops is mostly what was left out.
_MOST = 0.5


class Thinned(msgspec.Struct, frozen=True):
    """Ops and ranges that a file was freed of.

    Args:
        missing: How many numbers are missing at least.
        ratio: Their share of all.
    """

    missing: int
    ratio: float

    @property
    def mostly(self) -> bool:
        """Whether more is missing than is there."""
        return self.ratio >= _MOST

    @property
    def words(self) -> str:
        """How much is missing, inside a sentence."""
        return f"at least {self.missing:,} ops and ranges ({share(self.ratio)}) are missing from the file, by their numbers"


def thinned(trace: Trace) -> Thinned | None:
    """What is missing between the ops; None where hardly anything is, or ops have no numbers."""
    ids = trace.ops["external_id"]
    numbers = distinct(ids.to_numpy(dtype=np.int64, na_value=0)[present(ids)])
    if len(numbers) < _MIN_OPS:
        return None
    holes = np.diff(numbers) - 1
    # Ranges are numbered with the ops; which numbers they have is not read.
    ranges = sum(len(frame) for frame in (trace.annotations, trace.collectives, trace.steps))
    missing = int(holes[holes < _LONGEST_HOLE].sum()) - ranges
    ratio = missing / (missing + len(numbers) + ranges)
    return Thinned(missing, ratio) if ratio >= LOST_CAUTION else None


def check(found: Thinned | None) -> Iterator[Symptom]:
    """The symptom of a file that was thinned out."""
    if found is not None:
        yield Symptom(
            "PG005",
            Gravity.CAUTION,
            f"{found.words[0].upper()}{found.words[1:]}: it was filtered, so time outside ops and idle time are overstated.",
            "name the file as the profiler wrote it; where it is too large record fewer steps",
            found.missing,
            touches=IDLE_CAUSES,
        )
