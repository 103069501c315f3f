"""What goes on in a tuning as lines: for a log, a pipe, a person without a screen."""

from __future__ import annotations

from analyzer.analysis.tuning import TrialDocument
from analyzer.page import tuning as words
from analyzer.page.findings import savings
from analyzer.tune.events import Baseline, Event, Judged, Note, Planned, Timed
from analyzer.units import count, duration, share


def line(event: Event) -> str:
    """A line; empty for what is not worth one."""
    if isinstance(event, Note):
        return event.text
    if isinstance(event, Planned):
        return _planned(event)
    if isinstance(event, Baseline):
        return f"as it is: {duration(event.step_ns)} a step (noise {share(event.noise_ratio)})"
    if isinstance(event, Timed):
        name = f"{event.value}" if event.value else event.change
        return f"{name}: {duration(event.step_ns)} a step" if event.step_ns is not None else f"{name}: no step"
    if isinstance(event, Judged):
        return _judged(event.trial)
    return ""


def _planned(event: Planned) -> str:
    if not event.changes:
        return "nothing to try: no rule with an outside fix fired"
    named = ", ".join(
        f"{one.name} ({savings.limit(one.promise.promised_kind)} {words.promised_share(one.promise)})"
        for one in event.changes
    )
    return f"to try: {count(len(event.changes), 'change')}: {named}"


def _judged(trial: TrialDocument) -> str:
    _, _, promised, measured, interval, verdict = words.row(trial)
    figures = "" if trial.measured_ratio is None else f", {measured} ({interval}) of {promised}"
    ahead = f", ahead after {count(trial.pays_after_steps, 'step')}" if trial.pays_after_steps else ""
    reason = f": {trial.reason}" if trial.reason else ""
    return f"{trial.change} {verdict}{figures}{ahead}{reason}"
