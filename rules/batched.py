"""What goes where one call replaces many: the host's time, and on a device the kernels that it launches one by one.

How much of the kernels stays, in the larger ones that take their place, no trace tells: all of them are in the bound, with the gaps
from one to the next, and none in what is likely.
"""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.finding import Saving, Shortened
from analyzer.spans.intervals import IntervalSet


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
