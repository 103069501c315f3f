"""What the run is bound by, from the shares of its causes alone: the largest loss, where it is large enough to name."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.analysis import BoundBy, Verdict
from analyzer.facts.time.device_waits import WORDS
from analyzer.units import share
from analyzer.verdict.looped import Looped

# What a person would call each cause of the waterfall.
_GROUPS: dict[str, BoundBy] = {
    "compute": "compute",
    "communication": "communication",
    "copy": "copy",
    "transfer_call": "copy",
    "input": "input",
    "allocator": "allocator",
    "sync": "sync",
    "compile": "compile",
    "python": "python",
    "launch": "launch",
    "framework": "launch",
    "optimizer": "launch",
    # Less what `waits` says of it.
    "device_wait": "unknown",
    "unexplained": "unknown",
}

# The causes of each loss whose time the waterfall alone tells.
CAUSES_OF: dict[BoundBy, tuple[str, ...]] = {
    loss: tuple(cause for cause, group in _GROUPS.items() if group == loss)
    for loss in ("communication", "copy", "input", "allocator", "sync", "compile", "python", "launch")
}

# A loss this large a share of the step is what the run is bound by, if it is at least half of all that is lost.
BOUND_RATIO = 0.2
BOUND_PART_OF_LOSS = 0.5
# From this share of useful work on, the run is bound by compute whatever the rest is.
COMPUTE_RATIO = 0.7
# With at least half the step useful and no single large loss, compute is still what limits it.
COMPUTE_HALF = 0.5
# From this median lead on the queue is filled: gaps are single stalls, and the run is not bound by launching (rules.md 0.4: 2-18 us
# where it is, 70 us and more where it is not; ID001 asks for 100 us after the fix).
_QUEUED_LEAD_NS = 100_000
# A second loss is named beside the largest from this share of the step on.
WORTH_NAMING = 0.05
# So much of the step outside the passes and the update is not told as the model's own.
WORTH_TELLING_APART = 0.1
# One op or kernel of hundreds that takes a third of the time is worth its name.
STANDS_OUT = 1 / 3
# Longer names are cut.
NAME_LENGTH = 60

_SENTENCES: dict[BoundBy, str] = {
    "input": "Input-bound: {who} waits for the data loader for {share} of the step.",
    "sync": "Sync-bound: the host waits for the device, then has to refill it, for {share} of the step.",
    "launch": "Launch-bound: for {share} of the step the device idles while the host dispatches its next work.",
    "queue": "Queue-bound: for {share} of the step launched work waits on an idle device.",
    "python": "Python-bound: for {share} of the step {who} {idles} outside any op.",
    "communication": "Communication-bound: {share} of the step is collectives with no compute beside them.",
    "copy": "Copy-bound: for {share} of the step data are copied, or are being sent, with no compute beside it.",
    "allocator": "Allocator-bound: {who} idles for {share} of the step while memory is allocated or freed.",
    "compile": "Compile-bound: {share} of the step goes to compiling, or to capturing graphs.",
    "compute": "Compute-bound: the model itself is {share} of the step.",
    "unknown": "Unclear: for {share} of the step the device idles, and the trace does not show why.",
}

_IN_LOOPS = "Python-bound: for {share} of the step the program is in Python code, most of it in loops of small ops."
_IN_PASSES = (
    "Python-bound: for {share} of the step the program is in Python code, most of it in one backward pass after another for one "
    "update."
)
_IN_STALLS = (
    "Unclear: for {share} of the step the device idles while the host is inside ops or calls, in single stalls: "
    "between them its queue is filled, so launches are not what it waits for."
)

_IN_TURN = "Queue-bound: for {share} of the step the device waits its turn: for another device of the process, at work."
_WAIT_FOR_LONGER = (
    "Queue-bound: for {share} of the step launched work waits for another device of the process, which has more to do."
)
_WAIT_FOR_UNKNOWN = "launched work that waits for something the trace does not show"

_OUTSIDE_PASSES = (
    "ops behind the update and before any that has a gradient, as of metrics, logs, averages or copies of weights, inputs, or a "
    "model that is only run"
)

LOSSES: dict[BoundBy, str] = {
    "input": "waiting for data",
    "sync": "waiting for the device and refilling it",
    "launch": "dispatching work",
    "queue": "launched work that waits",
    "python": "Python outside any op",
    "communication": "exposed communication",
    "copy": "exposed copies",
    "allocator": "allocating memory",
    "compile": "compiling or capturing",
    "unknown": "idle time without a known cause",
}


def verdict(
    waterfall: Mapping[str, int],
    *,
    has_device: bool,
    lead_ns: int | None = None,
    warmup_ratio: float = 0.0,
    loops: Looped | None = None,
    beside_ns: int = 0,
    waits: Mapping[str, int] | None = None,
    take_turns: bool = False,
) -> Verdict:
    """What the run is bound by.

    Args:
        waterfall: Nanoseconds by cause over the used steps.
        has_device: Whether there is device work; else compute means time inside ops.
        lead_ns: Median launch lead; None where it is not known.
        warmup_ratio: Share of the window that start-up work takes (PG002).
        loops: Without a device, what of `compute` is dispatching the small ops of Python loops: Python's time, not the model's.
        beside_ns: Without a device, what of `compute` is in no pass of what is trained and in no update.
        waits: Nanoseconds of `device_wait` by the part of `DeviceWaits` they are in; what is in none is not known.
        take_turns: Whether the devices of the process work one after the other.
    """
    total = sum(waterfall.values())
    if not total:
        return Verdict(bound_by="unknown", ratio=0.0, text="Nothing to judge: the window is empty.")
    queued = lead_ns is not None and lead_ns >= _QUEUED_LEAD_NS
    waits = waits or {}
    ratios = grouped(waterfall, waits, total, has_device=has_device)
    loops = loops or Looped()
    looped = loops.ns / total
    if looped:
        ratios["compute"] = ratios.get("compute", 0.0) - looped
        ratios["python"] = ratios.get("python", 0.0) + looped
    compute = ratios.pop("compute", 0.0)
    loss = 1.0 - compute
    largest, ratio = max(ratios.items(), key=lambda item: item[1], default=("unknown", 0.0))
    if warmup_ratio >= BOUND_RATIO and warmup_ratio >= BOUND_PART_OF_LOSS * loss:
        return _warming_up(warmup_ratio)
    # Without a device the optimizer's time is among the compute.
    own_cores = not has_device and waterfall.get("optimizer", 0) > 0
    if compute >= COMPUTE_RATIO or (compute >= COMPUTE_HALF and ratio < BOUND_RATIO):
        optimizer = waterfall["optimizer"] / total if own_cores else None
        return Verdict(bound_by="compute", ratio=compute, text=_compute_text(compute, optimizer, beside_ns / total))
    # Host work between launches, with a filled queue, is a loss, but not launches that cannot keep up.
    names_it = largest != "launch" or not queued
    losses, sentences = _words(waterfall, waits, ratios, take_turns=take_turns)
    if names_it and ratio >= BOUND_RATIO and ratio >= BOUND_PART_OF_LOSS * loss:
        in_loops = largest == "python" and looped >= BOUND_PART_OF_LOSS * ratio
        of_loops = _IN_PASSES if 2 * loops.passes_ns > loops.ns else _IN_LOOPS
        text = (of_loops if in_loops else _text(sentences[largest], has_device=has_device)).format(share=share(ratio))
        if compute > ratio:
            # Said of a run that computes most of the time, the name alone would read as a contradiction.
            parts = compute, beside_ns / total
            text = f"{text.removesuffix('.')}{_beside(waterfall, largest, ratio, parts, own_cores=own_cores)}"
        return Verdict(bound_by=largest, ratio=ratio, text=text)
    if not names_it and ratio >= COMPUTE_HALF:
        return Verdict(bound_by="unknown", ratio=ratio, text=_IN_STALLS.format(share=share(ratio)))
    return _mixed(ratios, losses)


def _warming_up(ratio: float) -> Verdict:
    text = (
        f"Warm-up: {share(ratio)} of the window is start-up work, which steady steps do not repeat; "
        "record later to see what binds it."
    )
    return Verdict(bound_by="unknown", ratio=ratio, text=text)


def _mixed(ratios: Mapping[BoundBy, float], losses: Mapping[BoundBy, str]) -> Verdict:
    """Where no loss is large enough to name: the largest, and a second that is worth a word."""
    (largest, ratio), *others = sorted(ratios.items(), key=lambda item: -item[1]) or [("unknown", 0.0)]
    text = f"Mixed: no single cause stands out; the largest loss is {losses[largest]} with {share(ratio)} of the step"
    second = [f", then {losses[group]} with {share(part)}" for group, part in others[:1] if part >= WORTH_NAMING]
    return Verdict(bound_by="mixed", ratio=ratio, text=f"{text}{''.join(second)}.")


def _words(
    waterfall: Mapping[str, int], waits: Mapping[str, int], ratios: Mapping[BoundBy, float], *, take_turns: bool
) -> tuple[dict[BoundBy, str], dict[BoundBy, str]]:
    """What each loss is called, and its sentence: of dispatch and of waiting work after what most of it is."""
    losses, sentences = dict(LOSSES), dict(_SENTENCES)
    total = sum(waterfall.values())
    if waterfall.get("optimizer", 0) > BOUND_PART_OF_LOSS * ratios.get("launch", 0.0) * total:
        losses["launch"] = "running the optimizer on the host"
        sentences["launch"] = sentences["launch"].replace("dispatches its next work", "runs the optimizer")
    known = max((part for part in WORDS if part != "unknown"), key=lambda part: waits.get(part, 0))
    losses["queue"] = f"{losses['queue']} {WORDS[known]}"
    sentences["queue"] = f"{sentences['queue'].removesuffix('.')}, most of it {WORDS[known]}."
    if known == "for_device":
        sentences["queue"] = _IN_TURN if take_turns else _WAIT_FOR_LONGER
    if waits.get("unknown", 0) >= BOUND_PART_OF_LOSS * ratios.get("unknown", 0.0) * total > 0:
        losses["unknown"] = _WAIT_FOR_UNKNOWN
        sentences["unknown"] = (
            f"Unclear: for {{share}} of the step launched work waits on an idle device {WORDS['unknown']}."
        )
    return losses, sentences


def _beside(
    waterfall: Mapping[str, int], largest: BoundBy, ratio: float, parts: tuple[float, float], *, own_cores: bool
) -> str:
    """What stands beside a loss that is smaller than the compute, by its share and that of it outside the passes."""
    compute, outside = parts
    # How much of the optimizer is loss is for OP001 to say, not to be denied here; and of an unclear loss the sentence ends with
    # what the trace does not show.
    larger_optimizer = own_cores and waterfall["optimizer"] > ratio * sum(waterfall.values())
    named = "" if larger_optimizer or largest == "unknown" else ", its largest loss"
    if own_cores and outside >= WORTH_TELLING_APART:
        return f"{named}; the model and its optimizer take {share(compute - outside)}, and {share(outside)} is {_OUTSIDE_PASSES}."
    return f"{named}; the model {'and its optimizer take' if own_cores else 'itself takes'} {share(compute)}."


def grouped(
    waterfall: Mapping[str, int], waits: Mapping[str, int], total: int, *, has_device: bool
) -> dict[BoundBy, float]:
    """Shares by what a person would call the cause."""
    groups = dict(_GROUPS)
    if not has_device:
        # Without a device the optimizer is arithmetic on the same cores as the model, not time in which something idles.
        groups["optimizer"] = "compute"
    ratios: dict[BoundBy, float] = {}
    for cause, ns in waterfall.items():
        ratios[groups[cause]] = ratios.get(groups[cause], 0.0) + ns / total
    left = waterfall.get("device_wait", 0)
    for part, waited in waits.items():
        if part != "unknown":
            ns = min(waited, left)
            left -= ns
            known: BoundBy = "launch" if part == "starting" else "queue"
            ratios[known] = ratios.get(known, 0.0) + ns / total
            ratios["unknown"] = max(ratios.get("unknown", 0.0) - ns / total, 0.0)
    return ratios


def _compute_text(ratio: float, optimizer: float | None, outside: float) -> str:
    """The sentence; without a device it names the optimizer (None with one), and what is neither.

    Args:
        ratio: Share of the step.
        optimizer: Share of the update, told where it is the larger part.
        outside: Share of what is in no pass and no update.
    """
    if optimizer is None:
        return _SENTENCES["compute"].format(share=share(ratio))
    beside = f", and {share(outside)} is {_OUTSIDE_PASSES}" if outside >= WORTH_TELLING_APART else ""
    text = _SENTENCES["compute"].format(share=share(_own(ratio, outside)))
    alone = f", the optimizer alone {share(optimizer)}" if is_update_most(ratio, optimizer, outside) else ""
    return f"{text.replace('the model itself is', 'the model and its optimizer are').removesuffix('.')}{alone}{beside}."


def is_update_most(ratio: float, optimizer: float, outside: float) -> bool:
    """Whether the update is most of what is computed, so that the sentence names it; shares as for `_compute_text`."""
    return optimizer > max(COMPUTE_HALF * _own(ratio, outside), 0.0)


def _own(ratio: float, outside: float) -> float:
    """What of the computing is the model's and its optimizer's."""
    return ratio - outside if outside >= WORTH_TELLING_APART else ratio


def _text(sentence: str, *, has_device: bool) -> str:
    """A sentence that still lacks its share."""
    who, idles = ("the GPU", "idles while the host runs code") if has_device else ("the program", "is in Python code")
    return sentence.replace("{who}", who).replace("{idles}", idles)
