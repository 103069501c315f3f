"""Work that is no training and lies inside usual steps: an evaluation after each of them, a checkpoint after every second."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.recording.run_course import RunCourse
from analyzer.finding import Bar, Bars, Confidence, Finding, Location, Saving
from analyzer.units import count, duration, share
from rules.idle.pausing import PAGES, fixes, recorded

# The stack was looked at in the whole run, and a few steps of it were recorded: where these have less than such a part of it beside
# their passes, the two do not speak of the same.
_AGREES = 0.5


def within_steps(facts: Facts, run: RunCourse, least: float) -> Iterator[Finding]:
    """A finding on each kind of work that takes so much of usual steps, as far as the recording shows time for it.

    Args:
        facts: The measurements.
        run: The run.
        least: Share of a step from which it is worth a finding.
    """
    beside = facts.model.beside_passes
    room = facts.steps.ratio(beside.total_ns)
    for kind, seen in run.kinds_within.items():
        ratio = min(seen, room)
        if seen < least or room < _AGREES * seen:
            continue
        first = next(place for place in run.within if place.kind == kind)
        line = f", from line {first.own_line} of {first.own_file}" if first.own_line else ""
        computing = beside & facts.time.waterfall.owned("compute")
        step = facts.steps.per_step(facts.steps.total_ns)
        looks = count(run.usual_samples or 0, "look")
        yield Finding(
            why=(
                f"{share(seen)} of {looks} at the stack in usual steps found {kind}, as in `{first.function}` "
                f"({first.file}{line}). In the recorded steps {share(room)} lies between an update and the forward pass behind it."
                f"{recorded(facts, kind)}"
            ),
            saving=Saving(
                claims=(beside - computing).scaled(ratio / room),
                kernel_ns=round(computing.total_ns * ratio / room),
                basis="its share of the looks at usual steps, as far as the recording has time beside the passes and the update",
            ),
            fix=fixes(facts, kind, within=True),
            verify="Run `advisor collect` again: the steps should be shorter by as much.",
            steps_seen=facts.steps.count_with(beside),
            confidence=Confidence.MEDIUM,
            evidence=(Bars("mean step", "ns", (Bar(kind, ratio * step), Bar("rest of the step", (1 - ratio) * step))),),
            location=Location(first.own_file, first.own_line, first.own_function) if first.own_file else None,
            caveats=(
                f"{duration(ratio * step)} a step is what all of it takes: only what is more than you need can go.",
            ),
            title=f"{kind.capitalize()} within the steps",
            references=(PAGES[kind],) if kind in PAGES else (),
        )
