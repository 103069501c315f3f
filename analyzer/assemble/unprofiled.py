"""A saving as a share of the step without the profiler."""

from __future__ import annotations

from analyzer.assemble.summary import step_times
from analyzer.engine import Judged
from analyzer.facts import Facts
from analyzer.finding import Figure


def unprofiled_ratio(facts: Facts, item: Judged) -> float | None:
    """What a stopwatch can show; None where the step without the profiler was not timed, or would hold less than the saving.

    A bound takes for granted that the profiler slowed only the rest of the step. An estimate shares out what the profiler adds
    by the recorded events: each costs it about the same. With the zoo's small samples (2 cores, CPU seconds, 2026-11-24) loading
    held 95 % of the events and 103 % of what the profiler added; of the step without it 32 % were told so, 53 % as a bound,
    and 30 % were true. Where so much is added that less than the saving is left of the step, the profiler was in the saving too,
    and how much of it is not known: "up to 100 %" was said of a loop that no fix could have ended altogether. Nor is where an
    estimate's part of it is all that is saved: on a busy machine what two medians differ by is not the profiler's alone.
    """
    added = facts.recording.collected.profiler_ns
    if added is None:
        return None
    step = facts.steps.per_step(facts.steps.total_ns)
    saved, left = item.ratio * step, step - added
    if item.finding.saving.kind is Figure.ESTIMATE and facts.device.main is None:
        of_profiler = added * _share_of_events(facts, item)
        if saved and saved <= of_profiler:
            return None
        saved -= of_profiler
    return min(1.0, saved / left) if left > 0 and round(saved) <= round(left) else None


def exceeds_unprofiled(facts: Facts, item: Judged, ratio: float | None) -> bool:
    """Whether a saving is more time than a step without the profiler takes, or more than such a step can hold.

    Args:
        facts: The measurements.
        item: The finding.
        ratio: What `unprofiled_ratio` says of it.
    """
    collected = facts.recording.collected
    if collected.unprofiled_step_ns is None or not item.ns_per_step:
        return False
    if ratio is None:
        return bool(collected.profiler_ns)
    # A share may be known where the profiler's part of the saving is: the time is the recorded step's all the same. As for all
    # findings together, what was added is what the medians differ by.
    added = max(collected.profiler_ns or 0, step_times(facts).longer_ns(collected.unprofiled_step_ns))
    return item.ns_per_step > facts.steps.per_step(facts.steps.total_ns) - added


def _share_of_events(facts: Facts, item: Judged) -> float:
    """Share of the steps' ops that begin in the time a finding saves."""
    begins = facts.trace.ops["start_ns"].to_numpy()
    begins = begins[facts.steps.host_window.contains(begins)]
    claims = item.finding.saving.claims
    claimed_ns = facts.steps.per_step(claims.total_ns)
    if not len(begins) or not claimed_ns:
        return 0.0
    return float(claims.contains(begins).mean()) * min(1.0, item.ns_per_step / claimed_ns)
