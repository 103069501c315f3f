"""What pauses of the garbage collector can take of the run's steps without the profiler, which makes objects of its own."""

from __future__ import annotations

from analyzer.facts.recording.section import RecordingFacts
from analyzer.facts.steps.find import Steps
from analyzer.spans.intervals import IntervalSet


def collected_in_run_ns(recording: RecordingFacts, steps: Steps, collected: IntervalSet) -> float | None:
    """What a step of the run has room for, at most, in nanoseconds; None where the run was not timed, or has room for all.

    What a program asks for in most steps it asks for with or without a profiler.
    """
    run = recording.run_course
    rare = 2 * steps.count_with(collected) < steps.count
    if run is None or not run.judged or (recording.asked_collections.mostly and not rare):
        return None
    room = run.beyond_usual_ns if rare else run.mean_ns
    return room if room < steps.per_step(collected.total_ns) else None
