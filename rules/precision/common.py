"""What the rules on number formats share: generations and doubts."""

from __future__ import annotations

import numpy as np

from analyzer.facts import Facts
from analyzer.facts.op_tree import BoolArray
from analyzer.finding import Confidence

VOLTA = 7
AMPERE = 8
# A factor of two, conservative for tensor cores against single precision, and for TF32 against it (rules.md PR001, PR002).
GAIN_RATIO = 0.5
# Share of a kind's matrix time in TF32 from which TF32 is evidently switched on for that kind.
_TF32_ON_RATIO = 0.01


def tf32_unused(facts: Facts) -> BoolArray:
    """Single-precision matrix kernels that TF32 would serve, shape (kernels,).

    The switches for matrix products and for convolutions are separate; where kernels of a kind already use TF32 its switch is
    on, and the library chose single precision for the others itself.
    """
    work, found = facts.matrix_work, facts.kernels
    if facts.trace.meta.device_kind != "cuda" or (work.compute_major or 0) < AMPERE:
        return np.zeros(len(found.frame), dtype=bool)
    rows = work.single & ~found.is_format("complex")
    tf32 = found.is_format("tf32")
    for kind in (work.convolution, ~work.convolution):
        single_ns, tf32_ns = found.time_ns(rows & kind), found.time_ns(tf32 & kind)
        if tf32_ns > _TF32_ON_RATIO * (single_ns + tf32_ns):
            rows = rows & ~kind
    return rows


def doubts(facts: Facts) -> tuple[Confidence, tuple[str, ...]]:
    """How sure the number formats and the card are."""
    work = facts.matrix_work
    if not work.card_known:
        return Confidence.LOW, (
            "The trace does not name the card; that it has tensor cores follows only from the kernels built for it.",
        )
    if not work.by_types:
        return Confidence.MEDIUM, ("Number formats were read from kernel names; record_shapes=True would prove them.",)
    return Confidence.HIGH, ()
