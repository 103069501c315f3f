"""What goes along with what a fix takes away: the kernels that the host launches for it alone."""

from __future__ import annotations

from msgspec.structs import replace

from analyzer.facts.time.launched_in import LaunchedIn
from analyzer.finding import Saving, Shortened
from analyzer.spans.intervals import IntervalSet


def with_its_work(saving: Saving, work: LaunchedIn, behind: IntervalSet, what: str) -> Saving:
    """The saving with that in the bound; nothing of it is in what is likely.

    Args:
        saving: What the fix gives without.
        work: The kernels.
        behind: What the device idles for with them, and as long as the host is at it beside a busy one.
        what: What goes as well, as words behind "at most".
    """
    return replace(
        saving,
        kernel_ns=saving.kernel_ns + work.total_ns,
        usual_kernel_ns=saving.usual_shorter_ns,
        shortened=(*saving.shortened, Shortened(work.spans, 1.0)),
        behind=saving.behind | behind,
        basis=f"{saving.basis}; at most {what} goes as well",
    )
