"""What goes where one call replaces many: the host's time, and on a device the kernels that it launches one by one.

How much of the kernels stays, in the larger ones that take their place, no trace tells: all of them are in the bound, with the gaps
from one to the next, and none in what is likely.
"""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.finding import Saving, Shortened
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share

# Of a kernel this short about half is its start, its end and the way to the next; a longer one has data to go through.
_SHORT_KERNEL_NS = 5_000


def with_kernels(facts: Facts, saving: Saving, spans: IntervalSet, ratio: float = 1.0) -> Saving:
    """A saving of host time with what its kernels may give on a device; the same without one.

    Args:
        facts: The measurements.
        saving: What the host's time gives.
        spans: When the host does it.
        ratio: Share of the work that goes.
    """
    if facts.device.main is None:
        return saving
    work = facts.time.launched_in(spans)
    return msgspec.structs.replace(
        saving,
        kernel_ns=int(work.total_ns * ratio),
        usual_kernel_ns=0,
        shortened=(Shortened(work.spans, ratio),),
        behind=facts.sync.behind(spans) | (work.extent & facts.time.idle),
    )


def beside_busy(facts: Facts, spans: IntervalSet, min_ratio: float) -> str:
    """What kernels cost that are launched one by one in time for a busy device, as a sentence; empty where that is little.

    Args:
        facts: The measurements.
        spans: When the host launches them.
        min_ratio: The share of the used steps that they have to take. Each has to be short: larger ones take as long in one.
    """
    work = facts.time.launched_in(spans)
    ratio = facts.steps.ratio(work.total_ns)
    if not work.number or ratio < min_ratio or work.total_ns >= _SHORT_KERNEL_NS * work.number:
        return ""
    return (
        f" They are launched in time for a busy GPU; what they cost are their kernels: "
        f"{duration(facts.steps.per_step(work.total_ns))} of {facts.steps.each} ({share(ratio)}), "
        f"{duration(work.total_ns / work.number)} each."
    )
