"""What pauses of the garbage collector can take of the run's steps without the profiler, which makes objects of its own."""

from __future__ import annotations

from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet


def collected_in_run_ns(
    recording: RecordingFacts, steps: Steps, collected: IntervalSet, counted_ns: float | None
) -> float | None:
    """What pauses take of a step of the run, at most, in nanoseconds; None where that is not known, or as much as was recorded.

    Where the collector counted the passes in the run's steps, as many are as long as recorded ones; else it is what a step has room
    for. What a program asks for in most steps it asks for with or without a profiler.
    """
    run = recording.run_course
    rare = 2 * steps.count_with(collected) < steps.count
    if run is None or not run.judged or (recording.asked_collections.mostly and not rare):
        return None
    room = run.beyond_usual_ns if rare else run.mean_ns
    room = room if counted_ns is None else min(room, counted_ns)
    return room if room < steps.per_step(collected.total_ns) else None


def counted_in_run_ns(recording: RecordingFacts, collected: IntervalSet) -> float | None:
    """What the passes counted in the run's steps take of each, in nanoseconds; None where none were counted, or one has no length.

    The longest recorded pauses are the passes over all objects.
    """
    run, recorded = recording.run_course, recording.asked_collections.full
    if run is None or run.collections is None or not run.judged:
        return None
    lengths = sorted((end - start for start, end in collected.pairs()), reverse=True)
    full, middle = lengths[:recorded], lengths[recorded:]
    if run.collections.full and not full:
        return None
    taken = sum(
        number * sum(those) / len(those)
        for number, those in ((run.collections.full, full), (run.collections.middle, middle))
        if those
    )
    return taken / run.steps
