"""What the program calls behind a wait: who uses what was copied to the host there."""

from __future__ import annotations

import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.facts.sync.waiting_calls import WaitingCalls

# Sorting lengths, sending their order back and taking rows by it lies between a copy of lengths and what packs by them.
_WITHIN_OPS = 8


def followed_by(host: HostFacts, calls: WaitingCalls, name: str) -> float:
    """The share of some calls, 0..1, behind which an op is among the next few that no other op calls, on the same thread.

    Args:
        host: What the host's threads do.
        calls: The calls; at least one.
        name: Of the op.
    """
    ops, tree = host.ops.ops, host.ops
    roots = np.flatnonzero(tree.depth == 0)
    thread, start = (ops[column].to_numpy()[roots] for column in ("thread", "start_ns"))
    wanted = tree.named(lambda other: other == name)[roots]
    found = 0
    for one in np.unique(calls.frame["thread"].to_numpy()).tolist():
        here = np.flatnonzero(thread == one)
        at = np.sort(start[here])
        before = np.concatenate([[0], np.cumsum(wanted[here][np.argsort(start[here], kind="stable")])])
        ends = calls.frame["end_ns"].to_numpy()[calls.frame["thread"].to_numpy() == one]
        first = np.searchsorted(at, ends)
        found += int((before[np.minimum(first + _WITHIN_OPS, len(at))] > before[first]).sum())
    return found / len(calls)
