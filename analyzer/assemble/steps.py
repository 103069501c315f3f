"""The steps of the document: each with its causes, and one of them drawn."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from analyzer import analysis as doc
from analyzer.assemble.causes import cause_times
from analyzer.cause_names import CAUSES
from analyzer.facts import Facts
from analyzer.views.timeline import DrawnStep, lanes, slowest_step

# One by one they take 2 KB each in memory and 1.5 KB in a report, and nobody reads more; every figure is made from all of them.
MOST_STEPS = 10_000


def step_rows(facts: Facts, representative: DrawnStep | None) -> tuple[doc.StepRow, ...]:
    """The steps, used or not, with what each cause owns of it; of very many the first, and those that are drawn.

    Args:
        facts: The measurements.
        representative: The step that is drawn.
    """
    frame = facts.steps.frame
    if len(frame) > MOST_STEPS:
        slowest = facts.attempt("slowest step", lambda: slowest_step(facts), None)
        drawn = [step.start_ns for step in (representative, slowest) if step is not None]
        frame = frame[(np.arange(len(frame)) < MOST_STEPS) | frame["start_ns"].isin(drawn).to_numpy()]
    window = (
        facts.time.waterfall_of(facts.device.main, facts.steps.whole)
        if not facts.steps.frame["used"].all()
        else facts.time.waterfall
    )
    causes = window.per_step(frame)
    numbers, starts, durations, used, reasons = (
        frame[name].to_numpy().tolist() for name in ("number", "start_ns", "dur_ns", "used", "reason")
    )
    return tuple(
        doc.StepRow(
            step=number,
            start_ns=start,
            dur_ns=duration,
            used=is_used,
            reason=reason if isinstance(reason, str) else None,
            causes=cause_times(dict(zip(CAUSES, owned, strict=True)), duration),
        )
        for number, start, duration, is_used, reason, owned in zip(
            numbers, starts, durations, used, reasons, causes.to_numpy().tolist(), strict=True
        )
    )


def timeline(facts: Facts, representative: DrawnStep | None) -> doc.Timeline:
    """One step as lanes, times relative to its start; without lanes where there is none to draw."""
    if representative is None:
        return doc.Timeline(step=None, dur_ns=0, lanes=())
    start, end = representative.start_ns, representative.end_ns
    return doc.Timeline(
        step=representative.number,
        dur_ns=end - start,
        lanes=tuple(
            doc.Lane(
                name=lane.name,
                kind=cast("Any", lane.kind),
                spans=tuple(
                    doc.Span(
                        start_ns=span.start_ns,
                        dur_ns=span.end_ns - span.start_ns,
                        label=span.label,
                        cause=cast("Any", span.cause),
                        busy_ns=span.busy_ns,
                    )
                    for span in lane.spans
                ),
            )
            for lane in lanes(facts, start, end)
        ),
    )
