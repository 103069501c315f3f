"""Fixes where the host cannot feed the device, worded for the run."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.buffers import buffer_broadcasts
from analyzer.finding import Advice
from analyzer.units import duration, share
from rules.changes import capture_by_hand, larger_batch, replay_as_graph

# Less of the step than this is not worth a change to the program.
_WORTH_NAMING = 0.02


def feed_faster(facts: Facts) -> tuple[Advice, ...]:
    """Fewer or cheaper launches, cheapest change first."""
    fixes = [*_own_buffers(facts), larger_batch(facts)]
    if not facts.repetition.graphs:
        fixes.append(replay_as_graph(facts))
    if facts.optimizing.style == "for-loop":
        fixes.append(Advice("diff", "+    fused=True,   # in the optimizer's arguments", "See OP001."))
    by_hand = capture_by_hand()
    return tuple(fixes) if by_hand in fixes else (*fixes, by_hand)


def _own_buffers(facts: Facts) -> tuple[Advice, ...]:
    """Where the device idles while DistributedDataParallel copies the model's buffers from rank 0: do without."""
    idle = buffer_broadcasts(facts) & facts.idle
    if facts.ratio(idle.total_ns) < _WORTH_NAMING:
        return ()
    return (
        Advice(
            "diff",
            " model = DistributedDataParallel(\n     model,\n+    broadcast_buffers=False,\n )",
            f"The GPU idles {duration(facts.per_step(idle.total_ns))} of each step ({share(facts.ratio(idle.total_ns))}) while DDP "
            "copies the model's buffers (running statistics) from rank 0 before the forward pass. Without that each rank keeps its "
            "own: evaluate and save those of rank 0, as now.",
        ),
    )
