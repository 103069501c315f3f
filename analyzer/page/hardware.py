"""How far operators are from what the device can do, in words and figures: the table that every display draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from analyzer.analysis import Analysis, Hardware, OperatorWork
from analyzer.page.findings.groups import each
from analyzer.page.other_ops import other_ops
from analyzer.page.words import safe
from analyzer.page.words.shapes import shapes
from analyzer.units import count, duration, figure, rate, share

_CEILINGS = {
    "overlap": "copies and collectives ran beside compute",
    "recomputation": "nothing were computed twice",
    "roofline": "every known operator were as fast as its roofline",
}
NOTHING = "-"
# Libraries reach no more of a datasheet's figure than some four fifths: nearer there is nothing to explain.
_GOOD_RATIO = 0.7


@dataclass(frozen=True)
class WorkRow:
    """An operator with one set of inputs; figures as text, `-` for what is unknown.

    Args:
        op: Name.
        shapes: Its inputs' shapes, `64x128, 128x256`.
        format: Number format its products run in.
        calls: Per step.
        time: Of its kernels, per step; of the calls themselves without a device.
        flops: Achieved.
        bytes: Achieved.
        peak: The least time its side of the roofline allows, as a share of the time it takes.
        side: What limits it at its peak: compute or memory.
        above: Time per step above its roofline: no more can be saved.
        why: Why it stays below its roofline; empty where nobody knows, or it hardly does.
        reason: Why a figure is unknown.
    """

    op: str
    shapes: str
    format: str
    calls: str
    time: str
    flops: str
    bytes: str
    peak: str
    side: str
    above: str
    why: str
    reason: str


HEADS = ("time", "calls", "FLOP/s", "memory", "of peak", "limit", "above")
"""Titles of the figures of a row, in the order of `cells`; the operator stands before or after them."""


def cells(row: WorkRow) -> tuple[str, ...]:
    """The figures of a row."""
    return (row.time, row.calls, row.flops, row.bytes, row.peak, row.side, row.above)


@dataclass(frozen=True)
class Roofs:
    """The lines of the roofline picture, operations and bytes per second.

    Args:
        bytes_per_s: Slope of the memory's roof; None where no peak is known.
        flops_per_s: Flat roofs by number format, of those formats only that an operator runs in.
    """

    bytes_per_s: float | None
    flops_per_s: dict[str, float]


@dataclass(frozen=True)
class Dot:
    """An operator in the roofline picture.

    Args:
        intensity: Operations for each byte moved.
        flops_per_s: Achieved.
        ratio: Share of the time of all dots.
        side: What limits it; None where no peak is known.
        label: Name.
        told: All its figures in a line.
    """

    intensity: float
    flops_per_s: float
    ratio: float
    side: Literal["compute", "memory"] | None
    label: str
    told: str


def shown(analysis: Analysis) -> Hardware | None:
    """What is known of the operators; None where there is nothing to show, or the trace cannot be believed."""
    found = analysis.hardware
    believed = analysis.trust.verdict != "unusable"
    return found if found is not None and found.operators and believed else None


def rows(analysis: Analysis, most: int | None = None) -> tuple[WorkRow, ...]:
    """The operators, the longest first."""
    found = shown(analysis)
    if found is None:
        return ()
    steps = max(analysis.summary.used_steps, 1)
    return tuple(row(one, steps) for one in found.operators[:most])


def by_inputs(analysis: Analysis) -> dict[tuple[str, str], OperatorWork]:
    """What is known of an op with its recorded shapes; of one that ran with several types nothing, they are not one operator."""
    found = shown(analysis)
    if found is None:
        return {}
    known: dict[tuple[str, str], list[OperatorWork]] = {}
    for one in found.operators:
        known.setdefault((one.op, one.input_dims), []).append(one)
    return {key: ones[0] for key, ones in known.items() if len(ones) == 1}


def row(one: OperatorWork, steps: int) -> WorkRow:
    """One operator as text.

    Args:
        one: Totals.
        steps: How many steps they are of.
    """
    calls = one.calls / steps
    return WorkRow(
        op=safe.name(one.op, 60),
        shapes=shapes(one.input_dims),
        format=one.format or "",
        calls=f"{calls:,.0f}" if calls >= 10 or calls == int(calls) else f"{calls:.1f}",
        time=duration(one.kernel_ns / steps),
        # An op without products has none to achieve.
        flops=rate(one.flops_per_s, "FLOP") if one.flops_per_s else NOTHING,
        bytes=rate(one.bytes_per_s, "B") if one.bytes_per_s is not None else NOTHING,
        peak=share(one.peak_ratio) if one.peak_ratio is not None else NOTHING,
        side=one.side or NOTHING,
        above=duration(one.above_roofline_ns / steps) if one.above_roofline_ns is not None else NOTHING,
        why=_why(one),
        reason=safe.clean(one.reason),
    )


def _why(one: OperatorWork) -> str:
    """What limits it, where that is not the compute units at work."""
    found = list(one.shortfall) if one.peak_ratio is not None and one.peak_ratio < _GOOD_RATIO else []
    if one.side == "memory" and one.flops:
        found.insert(0, "too few operations for each byte to keep the compute units busy")
    return safe.clean("; ".join(found))


def against(analysis: Analysis) -> str:
    """What the figures are compared with, and how much of the time they stand for; empty where there are none."""
    found = shown(analysis)
    if found is None:
        return ""
    # Sentences: of what, against what, what is left out.
    texts = [_compared(found)]
    if found.known_ratio is not None:
        texts.append(
            f"Operators of known work take {share(found.known_ratio)} of all operator time.{other_ops(analysis, found)}"
        )
    if any(one.masked_flops for one in found.operators):
        texts.append("What a causal mask leaves out is no work.")
    missing = sorted({one.reason for one in found.operators if one.reason and one.reason not in texts[0]})
    if missing:
        listed = "; ".join(safe.clean(one) for one in missing[:4])
        texts.append(f"Where a figure is missing: {listed}.")
    return " ".join(texts)


def _compared(found: Hardware) -> str:
    peaks = found.peaks
    name = safe.name(peaks.name, 60) or "this device"
    if peaks.source == "unknown":
        return f"The peaks of {name} are not known: achieved rates only. `advisor collect --calibrate` measures what it achieves."
    used = {one.format for one in found.operators if one.format}
    sorted_peaks = sorted(peaks.flops_per_s.items(), key=lambda one: one[1])
    best = [f"{rate(value, 'FLOP')} {kind}" for kind, value in sorted_peaks if kind in used]
    memory = [f"{rate(peaks.bytes_per_s, 'B')} of memory"] if peaks.bytes_per_s else []
    source = "measured here" if peaks.source == "calibrated" else "as its maker states, dense"
    unnamed = "The trace does not name its device; its kernels say what they were built for. "
    return (
        f"{unnamed if peaks.source == 'kernel-names' else ''}"
        f"Against the peaks of {name}, {source}: {', '.join(best + memory)}."
    )


def left_out(analysis: Analysis, drawn: int) -> str:
    """`24 more operators are in the data of this report`; empty where none is."""
    found = shown(analysis)
    more = len(found.operators) + found.operators_left_out - drawn if found is not None else 0
    return f"{count(more, 'shorter operator')} left out here." if more > 0 else ""


def utilisation(analysis: Analysis) -> str:
    """Model and hardware FLOPs utilisation in a sentence; empty where neither can be told."""
    found = shown(analysis)
    if found is None or found.hfu_ratio is None:
        return ""
    name = safe.name(found.peaks.name, 60)
    if found.mfu_ratio is None:
        return f"Hardware FLOPs utilisation {share(found.hfu_ratio)} of {name}, recomputed products among them."
    if found.mfu_ratio < found.hfu_ratio:
        return f"Model FLOPs utilisation {share(found.mfu_ratio)} of {name}; {share(found.hfu_ratio)} with what is recomputed."
    return f"Model FLOPs utilisation {share(found.mfu_ratio)} of {name}."


def ceilings(analysis: Analysis) -> tuple[str, ...]:
    """How long a step would be if one thing were perfect: `16 ms a step if every known operator ...`; those known and shorter."""
    found = shown(analysis)
    mean = analysis.summary.step_ns.mean
    if found is None:
        return ()
    return tuple(
        f"{duration(one.step_ns)} {each(analysis)} if {_CEILINGS[one.name]}"
        for one in found.ceilings
        if one.step_ns is not None and duration(one.step_ns) != duration(mean)
    )


def ceilings_line(analysis: Analysis) -> str:
    """The same as a sentence; empty where none is known."""
    found = ceilings(analysis)
    return f"At most, each by itself: {'; '.join(found)}." if found else ""


def counters(analysis: Analysis) -> tuple[tuple[str, str, str, str], ...]:
    """Counters of the devices while busy: name with its unit, least, median, most; empty where none was recorded."""
    found = analysis.hardware
    if found is None or analysis.trust.verdict == "unusable":
        return ()
    several = len({one.device for one in found.counters}) > 1
    return tuple(
        (
            f"{safe.name(one.name, 40)}{f' ({safe.name(one.unit, 12)})' if one.unit else ''}"
            + (f", device {one.device}" if several else ""),
            figure(one.min),
            figure(one.median),
            figure(one.max),
        )
        for one in found.counters
    )


def counters_line(analysis: Analysis) -> str:
    """The same in a sentence: `While busy: SM Clock (MHz) 1,200 to 1,980, median 1,755; ...`."""
    found = [f"{name} {low} to {high}, median {middle}" for name, low, middle, high in counters(analysis)]
    return f"While the device was busy: {'; '.join(found)}." if found else ""


def roofs(analysis: Analysis) -> Roofs:
    """The roofs above the dots."""
    found = shown(analysis)
    if found is None:
        return Roofs(None, {})
    used = {one.format for one in found.operators if one.flops and one.format}
    return Roofs(
        found.peaks.bytes_per_s, {kind: value for kind, value in found.peaks.flops_per_s.items() if kind in used}
    )


def dots(analysis: Analysis) -> tuple[Dot, ...]:
    """Operators with products whose bytes are known, the longest first; a doubtful one has no place."""
    found = shown(analysis)
    if found is None:
        return ()
    steps = max(analysis.summary.used_steps, 1)
    placed = [one for one in found.operators if one.flops and one.bytes and one.flops_per_s and not _doubted(one)]
    whole = max(sum(one.kernel_ns for one in placed), 1)
    return tuple(_dot(one, steps, whole, each(analysis)) for one in placed)


def _doubted(one: OperatorWork) -> bool:
    """Whether it is said to be faster than its peak: that is no result."""
    return one.side is not None and one.peak_ratio is None


def _dot(one: OperatorWork, steps: int, whole: int, each: str) -> Dot:
    said = row(one, steps)
    peak = f", {said.peak} of its peak" if said.peak != NOTHING else ""
    return Dot(
        intensity=((one.flops or 0) - one.masked_flops) / (one.bytes or 1),
        flops_per_s=one.flops_per_s or 0.0,
        ratio=one.kernel_ns / whole,
        side=one.side,
        label=said.op.removeprefix("aten::"),
        told=f"{said.op} {said.shapes}: {said.flops}, {said.bytes}{peak}, {said.time} {each}",
    )
