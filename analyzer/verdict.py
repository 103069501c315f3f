"""The verdict sentence: what the run is bound by, with its share; compute-bound included."""

from __future__ import annotations

from collections.abc import Mapping

from analyzer.analysis import BoundBy, Verdict
from analyzer.facts import Facts
from analyzer.facts.host_loss import DISPATCH_BOUND_OP_NS
from analyzer.facts.launches import BLOCKING_RATIO
from analyzer.facts.loops import told_loops
from analyzer.intervals import EMPTY
from analyzer.units import share

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
    "device_wait": "launch",
    "unexplained": "unknown",
}

# A loss this large a share of the step is what the run is bound by, if it is at least half of all that is lost.
_BOUND_RATIO = 0.2
_BOUND_PART_OF_LOSS = 0.5
# From this share of useful work on, the run is bound by compute whatever the rest is.
_COMPUTE_RATIO = 0.7
# With at least half the step useful and no single large loss, compute is still what limits it.
_COMPUTE_HALF = 0.5
# From this median lead on the queue is filled: gaps are single stalls, and the run is not bound by launching (rules.md 0.4: 2-18 us
# where it is, 70 us and more where it is not; ID001 asks for 100 us after the fix).
_QUEUED_LEAD_NS = 100_000
# Where more than this part of the compute may be waiting for a core, nobody saw how long the model takes by itself.
_DOUBTFUL_PART = 0.5
# A second loss is named beside the largest from this share of the step on.
_WORTH_NAMING = 0.05

# Fewer launches say nothing about a setting of the process (SY005).
_MIN_LAUNCHES = 20

# What the host's side alone cannot decide: either may be waiting for a device that was not recorded.
_HOST_SIDE: dict[BoundBy, str] = {"python": "is outside any op", "compute": "is inside ops"}

_SENTENCES: dict[BoundBy, str] = {
    "input": "Input-bound: {who} waits for the data loader for {share} of the step.",
    "sync": "Sync-bound: the host waits for the device, then has to refill it, for {share} of the step.",
    "launch": "Launch-bound: for {share} of the step the device idles while the host dispatches its next work.",
    "python": "Python-bound: for {share} of the step {who} {idles} outside any op.",
    "communication": "Communication-bound: {share} of the step is collectives with no compute beside them.",
    "copy": "Copy-bound: for {share} of the step data are copied, or are being sent, with no compute beside it.",
    "allocator": "Allocator-bound: {who} idles for {share} of the step while device memory is allocated or freed.",
    "compile": "Compile-bound: {share} of the step goes to compiling.",
    "compute": "Compute-bound: the model itself is {share} of the step.",
    "unknown": "Unclear: for {share} of the step the device idles, and the trace does not show why.",
}

_LOSSES: dict[BoundBy, str] = {
    "input": "waiting for data",
    "sync": "waiting for the device and refilling it",
    "launch": "dispatching work",
    "python": "Python outside any op",
    "communication": "exposed communication",
    "copy": "exposed copies",
    "allocator": "allocating device memory",
    "compile": "compiling",
    "unknown": "idle time without a known cause",
}


def verdict_of(facts: Facts, totals: Mapping[str, int], *, unusable: bool = False) -> Verdict:
    """What the run is bound by, as far as its trace can tell.

    Args:
        facts: The measurements.
        totals: Nanoseconds by cause over the used steps.
        unusable: Whether the trace cannot be the base of advice.
    """
    if unusable:
        return Verdict(bound_by="unknown", ratio=0.0, text="Unknown: this trace cannot be the base of advice.")
    loops_ns = _small_op_loops_ns(facts)
    found = verdict(
        totals,
        has_device=facts.device is not None,
        lead_ns=facts.lead_ns,
        warmup_ratio=_warmup_ratio(facts),
        loops_ns=loops_ns,
    )
    if found.bound_by in _HOST_SIDE and facts.unrecorded_device:
        text = (
            f"Unclear: for {share(found.ratio)} of the step the host {_HOST_SIDE[found.bound_by]}; whether it waits for the device "
            "there was not recorded."
        )
        return Verdict(bound_by="unknown", ratio=found.ratio, text=text)
    if found.bound_by == "communication" and facts.device is None and facts.sparse_host_events is not None:
        text = (
            f"Communication-bound, as far as the trace shows: {share(found.ratio)} of the step is inside collectives; what the "
            "training thread does beside them was not recorded."
        )
        return Verdict(bound_by="communication", ratio=found.ratio, text=text)
    if found.bound_by == "python" and facts.sparse_host_events is not None:
        text = (
            f"Unclear: for {share(found.ratio)} of the step the trace holds no op; it was filtered or cut, "
            "or other threads work."
        )
        return Verdict(bound_by="unknown", ratio=found.ratio, text=text)
    if not _is_of_its_own(facts, found, loops_ns):
        where = "outside any op" if found.bound_by == "python" else "inside ops"
        text = (
            f"Unclear: for {share(found.ratio)} of the step training is {where}, but for "
            f"{share(facts.ratio(facts.without_core_ns))} of it the thread had no core; record on a quiet machine."
        )
        return Verdict(bound_by="unknown", ratio=found.ratio, text=text)
    blocking = facts.blocking_launches
    if (
        found.bound_by in ("launch", "python")
        and blocking.launches >= _MIN_LAUNCHES
        and blocking.ratio >= BLOCKING_RATIO
    ):
        text = (
            f"Sync-bound: {share(blocking.ratio)} of the launches wait for their kernel (SY005), so the host's work and the "
            f"device's never overlap: for {share(found.ratio)} of the step the device idles."
        )
        return Verdict(bound_by="sync", ratio=found.ratio, text=text)
    stops = facts.pauses.collected | facts.pauses.isolated
    if found.bound_by == "python" and facts.ratio(stops.total_ns) >= found.ratio / 2:
        text = (
            f"Python-bound by pauses: for {share(facts.ratio(stops.total_ns))} of the recorded time the program stops, in "
            f"{facts.steps_with(stops)} of {facts.used_steps} steps; the others do not wait for it."
        )
        return Verdict(bound_by="python", ratio=found.ratio, text=text)
    if found.bound_by == "python" and facts.may_serve:
        text = f"{found.text.removesuffix('.')}, or waits for requests: without step marks the trace cannot tell."
        return Verdict(bound_by="python", ratio=found.ratio, text=text)
    return found


def _is_of_its_own(facts: Facts, found: Verdict, loops_ns: int) -> bool:
    """Whether the run is bound so even if all time without a core lay in what it is said to be bound by."""
    lacked = facts.ratio(facts.without_core_ns)
    if found.bound_by == "python":
        # Without a core ops take longer as much as what is between them: the part that is ops in loops stays what it is.
        return found.ratio - min(lacked, found.ratio - facts.ratio(loops_ns)) >= _BOUND_RATIO
    if found.bound_by == "compute" and facts.device is None:
        return lacked <= _DOUBTFUL_PART * found.ratio
    return True


def _small_op_loops_ns(facts: Facts) -> int:
    """On a CPU-only trace the time inside the ops of Python loops that have a finding, where dispatch is most of that time."""
    if facts.device is not None:
        return 0
    spans = EMPTY
    for loop in told_loops(facts):
        if loop.mean_op_ns < DISPATCH_BOUND_OP_NS:
            spans |= loop.spans
    if facts.passes.mean_op_ns < DISPATCH_BOUND_OP_NS:
        spans |= facts.passes.spans
    return (spans & facts.waterfall.owned("compute")).total_ns


def _warmup_ratio(facts: Facts) -> float:
    """Share of the used steps that start-up work takes: what was recorded beside them binds nothing."""
    return facts.ratio((facts.warmup[0] & facts.window()).total_ns)


def verdict(
    waterfall: Mapping[str, int],
    *,
    has_device: bool,
    lead_ns: int | None = None,
    warmup_ratio: float = 0.0,
    loops_ns: int = 0,
) -> Verdict:
    """What the run is bound by.

    Args:
        waterfall: Nanoseconds by cause over the used steps.
        has_device: Whether there is device work; else compute means time inside ops.
        lead_ns: Median launch lead; None where it is not known.
        warmup_ratio: Share of the window that start-up work takes (PG002).
        loops_ns: Without a device, what of `compute` is dispatching the small ops of Python loops: Python's time, not the model's.
    """
    total = sum(waterfall.values())
    if not total:
        return Verdict(bound_by="unknown", ratio=0.0, text="Nothing to judge: the window is empty.")
    queued = lead_ns is not None and lead_ns >= _QUEUED_LEAD_NS
    ratios = _grouped(waterfall, total, has_device=has_device, queued=queued)
    looped = loops_ns / total
    if looped:
        ratios["compute"] = ratios.get("compute", 0.0) - looped
        ratios["python"] = ratios.get("python", 0.0) + looped
    compute = ratios.pop("compute", 0.0)
    loss = 1.0 - compute
    ranked = sorted(ratios.items(), key=lambda item: -item[1])
    largest, ratio = ranked[0] if ranked else ("unknown", 0.0)
    if warmup_ratio >= _BOUND_RATIO and warmup_ratio >= _BOUND_PART_OF_LOSS * loss:
        text = (
            f"Warm-up: {share(warmup_ratio)} of the window is start-up work, which steady training does not repeat; "
            "record later to see what binds it."
        )
        return Verdict(bound_by="unknown", ratio=warmup_ratio, text=text)
    # Without a device the optimizer's time is among the compute.
    own_cores = not has_device and waterfall.get("optimizer", 0) > 0
    if compute >= _COMPUTE_RATIO or (compute >= _COMPUTE_HALF and ratio < _BOUND_RATIO):
        return Verdict(bound_by="compute", ratio=compute, text=_compute_text(compute, updates=own_cores))
    # Host work between launches, with a filled queue, is a loss, but not launches that cannot keep up.
    names_it = largest != "launch" or not queued
    losses = dict(_LOSSES)
    updates = waterfall.get("optimizer", 0) > _BOUND_PART_OF_LOSS * ratios.get("launch", 0.0) * total
    if updates:
        losses["launch"] = "running the optimizer on the host"
    if names_it and ratio >= _BOUND_RATIO and ratio >= _BOUND_PART_OF_LOSS * loss:
        text = _text(largest, ratio, has_device=has_device)
        if updates and largest == "launch":
            text = text.replace("dispatches its next work", "runs the optimizer")
        if largest == "python" and looped >= _BOUND_PART_OF_LOSS * ratio:
            text = f"Python-bound: for {share(ratio)} of the step training is in Python code, most of it in loops of small ops."
        if compute > ratio:
            # Said of a run that computes most of the time, the name alone would read as a contradiction.
            text = f"{text.removesuffix('.')}{_beside(waterfall, largest, ratio, compute, own_cores=own_cores)}"
        return Verdict(bound_by=largest, ratio=ratio, text=text)
    text = f"Mixed: no single cause stands out; the largest loss is {losses[largest]} with {share(ratio)} of the step"
    second = [f", then {losses[group]} with {share(part)}" for group, part in ranked[1:2] if part >= _WORTH_NAMING]
    return Verdict(bound_by="mixed", ratio=ratio, text=f"{text}{''.join(second)}.")


def _beside(waterfall: Mapping[str, int], largest: BoundBy, ratio: float, compute: float, *, own_cores: bool) -> str:
    """What stands beside a loss that is smaller than the compute."""
    # How much of the optimizer is loss is for OP001 to say, not to be denied here; and of an unclear loss the sentence ends with
    # what the trace does not show.
    larger_optimizer = own_cores and waterfall["optimizer"] > ratio * sum(waterfall.values())
    named = "" if larger_optimizer or largest == "unknown" else ", its largest loss"
    return f"{named}; the model {'and its optimizer take' if own_cores else 'itself takes'} {share(compute)}."


def _grouped(waterfall: Mapping[str, int], total: int, *, has_device: bool, queued: bool) -> dict[BoundBy, float]:
    """Shares by what a person would call the cause."""
    groups = dict(_GROUPS)
    if queued:
        # Launched long ago and not started: a dependency, another stream, a graph's inner gaps; not the host's launching.
        groups["device_wait"] = "unknown"
    if not has_device:
        # Without a device the optimizer is arithmetic on the same cores as the model, not time in which something idles.
        groups["optimizer"] = "compute"
    ratios: dict[BoundBy, float] = {}
    for cause, ns in waterfall.items():
        ratios[groups[cause]] = ratios.get(groups[cause], 0.0) + ns / total
    return ratios


def _compute_text(ratio: float, *, updates: bool) -> str:
    text = _SENTENCES["compute"].format(share=share(ratio))
    return text.replace("the model itself is", "the model and its optimizer are") if updates else text


def _text(bound: BoundBy, ratio: float, *, has_device: bool) -> str:
    who, idles = ("the GPU", "idles while the host runs code") if has_device else ("training", "is in Python code")
    return _SENTENCES[bound].format(share=share(ratio), who=who, idles=idles)
