"""What the document says of operators and peaks."""

from __future__ import annotations

import numpy as np

from analyzer.analysis import hardware as doc
from analyzer.facts import Facts
from analyzer.hardware.call import Work
from analyzer.hardware.ceilings import ceilings
from analyzer.hardware.datasheet import Limits
from analyzer.hardware.limits import device_peaks
from analyzer.hardware.modules import modules
from analyzer.hardware.operators import Operator, Operators, operators
from analyzer.hardware.roofline import Place, place
from analyzer.hardware.shortfall import shortfalls
from analyzer.hardware.work import PRODUCTS
from analyzer.units import duration
from traces.trace import Capability

MOST_OPERATORS = 200
MOST_OTHERS = 20
MOST_COUNTERS = 100
# Work that may be products and is not counted takes no longer at the peaks than it took: less than this part of what is known
# changes no figure that anybody would act on.
_UNSURE_RATIO = 0.1
_UNCLEAR = "forward ops run inside a backward pass of the user's own: perhaps recomputed, perhaps gradients"


def hardware(facts: Facts) -> doc.Hardware:
    """How far the operators are from what the device can do; without shapes only what the device is."""
    peaks, peak = device_peaks(facts)
    if Capability.SHAPES not in facts.trace.capabilities:
        return _nothing(facts, peaks, "shapes were not recorded (record_shapes=True)")
    if facts.device.unrecorded:
        # How long a call takes on the host says nothing of the work that it asks a device for.
        return _nothing(facts, peaks, "the device's work was not recorded")
    found = operators(facts)
    places = [place(one, peak) for one in found.rows]
    why = {one.number: one.reasons for one in shortfalls(facts)}
    known = sum(one.device_ns for one in found.rows if isinstance(one.work, Work))
    used, reason = _utilisation(facts, found, places, peak)
    unclear = facts.kernels.recomputation.unclear
    return doc.Hardware(
        peaks=peaks,
        operators=tuple(
            _row(one, at, why.get(number, ()))
            for number, (one, at) in enumerate(zip(found.rows[:MOST_OPERATORS], places, strict=False))
        ),
        operators_left_out=max(0, len(found.rows) - MOST_OPERATORS),
        others=tuple(doc.OtherOp(op=name, kernel_ns=spent) for name, spent in found.others[:MOST_OTHERS]),
        known_ratio=known / found.all_ns if found.all_ns else None,
        hfu_ratio=used[0] if used else None,
        mfu_ratio=used[1] if used and not unclear else None,
        utilisation_reason=reason or (_UNCLEAR if unclear else ""),
        ceilings=ceilings(facts, found, places),
        recomputed_ratio=_recomputed(facts),
        **modules(facts),
        counters=_counters(facts),
        reason="" if found.rows else "no op with a formula ran in the used steps",
    )


def _nothing(facts: Facts, peaks: doc.Peaks, reason: str) -> doc.Hardware:
    return doc.Hardware(
        peaks=peaks, operators=(), operators_left_out=0, others=(), known_ratio=None, hfu_ratio=None, mfu_ratio=None,
        utilisation_reason=reason, ceilings=ceilings(facts), reason=reason,
        recomputed_ratio=_recomputed(facts), counters=_counters(facts), **modules(facts),
    )  # fmt: skip


def _recomputed(facts: Facts) -> float | None:
    """Share of the used steps in which something is computed again; None where that cannot be told."""
    found = facts.kernels.recomputation
    if Capability.HOST_OPS not in facts.trace.capabilities or not facts.steps.total_ns:
        return None
    return None if found.unclear and not found.spans else facts.steps.ratio(found.spans.total_ns)


def _counters(facts: Facts) -> tuple[doc.CounterRow, ...]:
    return tuple(
        doc.CounterRow(
            name=one.name, unit=one.unit, device=one.device, samples=len(one.value), min=float(one.value.min()),
            median=float(np.median(one.value)), max=float(one.value.max()),
        )
        for one in facts.kernels.counters.rows[:MOST_COUNTERS]
    )  # fmt: skip


def _row(one: Operator, at: Place, shortfall: tuple[str, ...]) -> doc.OperatorWork:
    work = one.work if isinstance(one.work, Work) else None
    flops = one.calls * work.flops if work else None
    needed = one.calls * work.needed if work else None
    moved = one.calls * work.bytes if work and work.bytes is not None else None
    seconds = one.device_ns / 1e9
    least = at.least_ns
    return doc.OperatorWork(
        op=one.op, input_dims=one.input_dims, input_types=one.input_types, calls=one.calls, kernel_ns=one.device_ns,
        recomputed_calls=one.again, flops=flops, masked_flops=one.calls * work.masked if work else 0, bytes=moved,
        flops_per_s=needed / seconds if needed is not None and seconds else None,
        bytes_per_s=moved / seconds if moved is not None and seconds else None,
        format=at.format, peak_ratio=least / one.device_ns if least is not None else None, side=at.side,
        above_roofline_ns=round(one.device_ns - least) if least is not None else None,
        shortfall=shortfall, reason=at.reason,
    )  # fmt: skip


def _utilisation(
    facts: Facts, found: Operators, places: list[Place], peak: Limits | None
) -> tuple[tuple[float, float] | None, str]:
    """Hardware and model FLOPs utilisation, or why they cannot be told: a product left out would make them too small."""
    if peak is None:
        return None, "the peaks of this device are not known"
    if found.other_products_ns:
        return None, "matrix products ran outside ops whose work is known"
    if found.perhaps_computed:
        return (
            None,
            "nothing tells whether the last products of recomputations were computed: checkpoint may stop before",
        )
    needed, again = 0.0, 0.0
    for one, at in zip(found.rows, places, strict=True):
        if one.op not in PRODUCTS or (isinstance(one.work, Work) and not one.work.flops):
            continue
        if not isinstance(one.work, Work) or at.format is None or at.format not in peak.flops_per_s:
            return None, f"{one.op}: {at.reason}"
        if at.side == "compute" and at.least_ns is None:
            return None, f"{one.op}: {at.reason}"
        call_ns = peak.products_ns(one.work.needed, at.format)
        needed += one.calls * call_ns
        again += one.again * call_ns
    if found.untold_ns > _UNSURE_RATIO * needed:
        return None, f"of {duration(found.untold_ns)} of work nothing tells whether it multiplies matrices"
    total = facts.steps.total_ns
    return ((needed / total, (needed - again) / total), "") if total else (None, "there are no used steps")
