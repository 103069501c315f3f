"""Links that are slower than equal ones, as what the job loses by each, and by all together."""

from __future__ import annotations

import numpy as np

from analyzer.ranks.alignment.table import Table
from analyzer.ranks.document import LateRank, Link
from analyzer.ranks.waiting.bandwidth import Links
from analyzer.ranks.waiting.late import LATE_RATIO, Lateness, what_if_saved, worst_first
from analyzer.ranks.waiting.replay import Replay
from analyzer.spans.arrays import FloatArray


def slow_links(table: Table, found: Links, replay: Replay) -> Lateness:
    """Slow links that are worth it, as late ranks of cause link, and what all of them together cost.

    Args:
        table: The rows.
        found: How fast data moves.
        replay: The job, to be played again.
    """
    if not found.slow:
        return Lateness((), (), {})
    step_ns = replay.as_recorded_ns
    steps = max((len(one.steps) for one in table.summaries), default=0)
    by_place: dict[tuple[str | None, tuple[int, ...]], list[tuple[Link, FloatArray]]] = {}
    for link, transfer_ns in found.slow:
        by_place.setdefault((link.group, link.ranks), []).append((link, transfer_ns))
    late = []
    for (group, ranks), several in by_place.items():
        together = np.minimum.reduce([transfer_ns for _, transfer_ns in several])
        saved = step_ns - replay.step_ns(replay.own_ns, together)
        if saved >= LATE_RATIO * step_ns and ranks:
            late.append(_late_link(group, ranks, several[0][0], int(saved), steps))
    everything = step_ns - replay.step_ns(replay.own_ns, found.ideal_ns)
    names = ", ".join(dict.fromkeys(link_name(link) for link, _ in found.slow))
    return Lateness(
        tuple(sorted(late, key=worst_first)),
        (what_if_saved(f"{names} as fast as equal ones", "links", step_ns, everything),),
        {},
    )


def _late_link(group: str | None, ranks: tuple[int, ...], link: Link, saved_ns: int, steps: int) -> LateRank:
    slower = (link.peers_bytes_per_s or 0.0) / link.bytes_per_s
    return LateRank(
        rank=ranks[0],
        group=group,
        steps_late=steps,
        of=steps,
        since_step=None,
        waited_ns_per_step=saved_ns,
        cause="link",
        cause_detail=f"{link_name(link)} takes {slower:.1f} times as long for the same {link.kind} as equal ones do",
        explained_ratio=1.0,
        confidence="high" if link.count >= 10 else "medium",
    )


def link_name(link: Link) -> str:
    """The link in words."""
    if link.kind == "send":
        return f"the link between ranks {link.ranks[0]} and {link.ranks[1]}"
    members = ", ".join(map(str, link.ranks[:4])) + (", ..." if len(link.ranks) > 4 else "")
    return f"group {link.group} (ranks {members})"
