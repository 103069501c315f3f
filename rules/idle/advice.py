"""Fixes where the host cannot feed the device, worded for the run."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice


def feed_faster(facts: Facts) -> tuple[Advice, ...]:
    """Fewer or cheaper launches, cheapest change first."""
    size = facts.collected.batch_size
    known = f" (now {size})" if size else ""
    fixes = [
        Advice(
            "text",
            f"Raise the batch size{known}: as many launches for more work.",
            "Where memory allows it; then adapt the learning rate.",
        ),
    ]
    if not facts.repetition.graphs:
        removed = "-model = torch.compile(model)\n" if facts.fusion.compiled else ""
        fixes.append(
            Advice(
                "diff",
                f'{removed}+model = torch.compile(model, mode="reduce-overhead")   # CUDA graphs: one launch for many kernels',
                "Needs static shapes and no host reads inside the step; the first steps compile.",
            )
        )
    if facts.optimizing.style == "for-loop":
        fixes.append(Advice("diff", "+    fused=True,   # in the optimizer's arguments", "See OP001."))
    fixes.append(
        Advice(
            "python",
            "model = torch.cuda.make_graphed_callables(model, (sample_batch,))",
            "Where compiling is not an option.",
        )
    )
    return tuple(fixes)
