"""What the rules on number formats share: generations and doubts."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Confidence, Outcome, cannot_tell, not_applicable
from analyzer.spans.arrays import BoolArray

VOLTA = 7
AMPERE = 8
# What of the time of single-precision matrix kernels a format can save at most, by the peak rates of NVIDIA's data sheets
# without sparsity, the fastest card of a generation: V100 125 against 16 TFLOPS; A100 312 and 156 against 19.5; H100 989 and 494
# against 67; B200 2250 and 1100 against 75. Smaller cards of a generation, and products that memory limits, gain less.
_SHORT_RATIO = {7: 7 / 8, 8: 15 / 16, 9: 15 / 16}
_TF32_RATIO = {8: 7 / 8, 9: 7 / 8}
# MI355X 2500 against 157, MI300X 1307 against 163, MI250X 383 against 96.
_ROCM_SHORT_RATIO = 15 / 16
_NEWER_SHORT_RATIO, _NEWER_TF32_RATIO = 31 / 32, 15 / 16
# What usually goes of these kernels' time: a factor of two, the middle of the factors of one and a half to three that 16 bits bring
# and the lower end of the two to four of TF32 (rules.md PR001, PR002).
USUAL_RATIO = 0.5
# Formats are alternatives: a kernel has one.
FORMAT = "number format"
# Share of a kind's matrix time in TF32 from which TF32 is evidently switched on for that kind.
_TF32_ON_RATIO = 0.01


def unanswerable(facts: Facts, elsewhere: str, *, kinds: tuple[str, ...] = ("cuda",)) -> Outcome | None:
    """Why the trace cannot say how its matrix work uses tensor cores; None where it can.

    Args:
        facts: The measurements.
        elsewhere: What to say of devices of other kinds.
        kinds: Kinds of device of which it is asked.
    """
    work = facts.kernels.matrix_work
    if facts.device.kind not in kinds:
        return not_applicable(elsewhere)
    if not work.matrix_ns:
        return not_applicable("no GEMM and no convolution in the used steps")
    if work.compute_major is None:
        return cannot_tell(
            "which card this ran on: the trace has no deviceProperties; record it with torch 1.9 or newer"
        )
    return None


def tf32_unused(facts: Facts) -> BoolArray:
    """Single-precision matrix kernels that TF32 would serve, shape (kernels,).

    The switches for matrix products and for convolutions are separate; where kernels of a kind already use TF32 its switch is
    on, and the library chose single precision for the others itself.
    """
    work, found = facts.kernels.matrix_work, facts.kernels.named
    if facts.device.kind != "cuda" or (work.compute_major or 0) < AMPERE:
        return found.none
    rows = work.single & ~found.is_format("complex")
    tf32 = found.is_format("tf32")
    for kind in (work.convolution, ~work.convolution):
        single_ns, tf32_ns = found.time_ns(rows & kind), found.time_ns(tf32 & kind)
        if tf32_ns > _TF32_ON_RATIO * (single_ns + tf32_ns):
            rows = rows & ~kind
    return rows


def short_ratio(facts: Facts) -> float:
    """At most this share of the time of single-precision matrix kernels a 16-bit format saves."""
    if facts.device.kind == "rocm":
        return _ROCM_SHORT_RATIO
    return _SHORT_RATIO.get(facts.kernels.matrix_work.compute_major or VOLTA, _NEWER_SHORT_RATIO)


def tf32_ratio(facts: Facts) -> float:
    """The same of TF32."""
    return _TF32_RATIO.get(facts.kernels.matrix_work.compute_major or AMPERE, _NEWER_TF32_RATIO)


def doubts(facts: Facts) -> tuple[Confidence, tuple[str, ...]]:
    """How sure the number formats and the card are."""
    work = facts.kernels.matrix_work
    if not work.card_known:
        return Confidence.LOW, (
            "The trace does not name the card; that it has tensor cores follows only from the kernels built for it.",
        )
    if not work.by_types:
        return Confidence.MEDIUM, ("Number formats were read from kernel names; record_shapes=True would prove them.",)
    return Confidence.HIGH, ()
