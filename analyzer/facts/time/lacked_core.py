"""For how much of its time a thread had no core, as its short ops show it where nobody asked the system.

An op that usually takes a tenth of a millisecond has no work for two: where it once takes that long, its thread was not running.
Ops stand still as often as all else that the thread does, so the share of their time in which they do is the thread's. Of 361
recordings without a device the system had said it too: of 118 whose thread had no core for half of the time and more 93 show it,
mostly within a tenth of that, and of 71 with a core at all times none does.
"""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.more_work import more_work
from analyzer.facts.time.stalled_ops import at_their_place, own_work
from analyzer.spans.labels import codes_of

# Linux leaves a core to another program for about 3 ms at a time; an op that usually takes a tenth of that at most does not grow to
# it by larger inputs.
_SLICE_NS = 2_000_000
_SHORT_NS = _SLICE_NS // 10
# Of two steps nobody knows in which of them an op took longer than it should.
_FEWEST_STEPS = 3
# From this share on the recorder says it too.
_LEAST_RATIO = 0.1


class LackedCore(msgspec.Struct, frozen=True):
    """That short ops stood still again and again.

    Args:
        ratio: The share of their time in which they did, 0..1.
        ops: How many of them did.
        steps: In how many of the steps.
    """

    ratio: float
    ops: int
    steps: int


def lacked_core(steps: Steps, host: HostFacts) -> LackedCore | None:
    """Measures it; None where it is too little, or may be the program's own doing.

    What only one op does, or what happens in one step only, is: a read of a file, memory that the first step takes.

    Args:
        steps: The steps.
        host: What the host's threads do.
    """
    if steps.count < _FEWEST_STEPS:
        return None
    frame = host.tree.frame
    rows, took = own_work(steps, host)
    usual = at_their_place(steps, frame, rows, took)
    step, name = steps.of_host(frame["start_ns"].to_numpy()[rows]), codes_of(frame["name"])[rows]
    expected = usual.median_ns * more_work(step, took, np.where(usual.often, usual.median_ns, 0), steps.count)
    short = usual.often & (usual.median_ns < _SHORT_NS)
    more = np.where(short & (took - expected >= _SLICE_NS), took - expected, 0.0)
    total, watched = float(more.sum()), int(took[short].sum())
    if not total:
        return None
    # Without the step and without the op that have most of it.
    left = total - max(float(np.bincount(step, more).max()), float(np.bincount(name, more).max()))
    ratio, hit = total / watched, len(np.unique(step[more > 0]))
    # Of what comes twice nobody knows that it comes again.
    if hit < _FEWEST_STEPS or ratio < _LEAST_RATIO or left < _LEAST_RATIO * watched / 2:
        return None
    return LackedCore(ratio, int((more > 0).sum()), hit)
