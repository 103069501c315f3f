"""What the host issues late behind its waits for copies to the device."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import BlockedAfter
from analyzer.spans.intervals import EMPTY, IntervalSet

# What is sent to the device decides nothing on the host, so what it launches next needs no wait. Its code outside of ops may be a
# wait of another kind: that counts in the bound alone.
_LAUNCHING = ("launch", "framework", "optimizer")


def issued_late(facts: Facts, blocked: BlockedAfter, made: IntervalSet = EMPTY) -> IntervalSet:
    """Device-idle time behind the waits in which the host launches what it would have launched while it stood in them.

    The queue is empty behind a wait, and has to be filled anew. Of that as much counts as the host waited, up to its next wait.
    What it makes beside a busy device, and then waits for, counts like the wait: that is the shorter, the later it begins.

    Args:
        facts: The measurements.
        blocked: The waits.
        made: When the host makes what is copied, where that goes with the waits.
    """
    waited_for = blocked.host.overlap_with(made.start_ns, made.end_ns) > 0
    stalled = blocked.host | IntervalSet(made.start_ns[waited_for], made.end_ns[waited_for])
    late = blocked.removable | facts.sync.behind(stalled) if waited_for.any() else blocked.removable
    return late & facts.time.waterfall.owned(*_LAUNCHING) - facts.host.profiler_calls
