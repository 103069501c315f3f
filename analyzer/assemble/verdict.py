"""The verdict on the steps, and how much of the run it is a verdict on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analyzer.analysis import Verdict
from analyzer.engine import RuleRun, run_rules
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.finding import State
from analyzer.rule import Topic
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import share
from analyzer.verdict import Evidence, Judgement, judgement_of
from analyzer.verdict.outside_steps import outside_steps
from analyzer.verdict.what_computes import what_computes

# What lies between the steps is told from a fifth of the run on, the share from which a loss is what a run is bound by.
_WORTH_SAYING = 0.2
# What says most of why nothing was found, first.
_ANSWERS = (
    State.FIRED,
    State.CANNOT_TELL,
    State.CLEAR,
    State.SUPPRESSED,
    State.CRASHED,
    State.NOT_APPLICABLE,
    State.DISABLED,
)


def verdict_on_run(
    facts: Facts,
    totals: Mapping[str, int],
    *,
    unusable: bool = False,
    evidence: Mapping[str, Evidence] | None = None,
    told: frozenset[Topic] = frozenset(),
) -> Verdict:
    """What the steps are bound by, and what share of the run, or of the recording, lies in none, where that is much.

    Args:
        facts: The measurements.
        totals: Nanoseconds by cause over the used steps.
        unusable: Whether the trace cannot be the base of advice.
        evidence: What the rules for a bound say, by bound.
        told: Topics of the findings that have a card: what those say, the verdict does not say again.
    """
    judged = judgement_of(facts, totals, unusable=unusable, evidence=evidence)
    found = judged.verdict if unusable else _explained(facts, judged, told)
    # What the collector counted is of the whole run, and a recording's evaluation is one of the run's.
    beyond = "" if unusable else _of_run(facts) or outside_steps(facts)
    return Verdict(bound_by=found.bound_by, ratio=found.ratio, text=f"{found.text} {beyond}") if beyond else found


def _of_run(facts: Facts) -> str:
    """What share of the run the verdict holds for, where the collector saw that much of it lies between the steps."""
    run = facts.recording.run_course
    if run is None or not (run.judged and run.told_apart) or run.work_ratio < _WORTH_SAYING:
        return _within(facts)
    kinds = f" ({', '.join(run.kinds)})" if run.kinds else ""
    return (
        f"That holds for {share(1 - run.work_ratio)} of the run: {share(run.work_ratio)} lies between its steps{kinds}."
    )


def _within(facts: Facts) -> str:
    """What usual steps hold that is no training, by the looks at the stack in all of the run."""
    run = facts.recording.run_course
    kinds = run.kinds_within.items() if run is not None and run.judged else ()
    said = [f"{share(ratio)} is {kind}" for kind, ratio in kinds if ratio >= _WORTH_SAYING]
    return f"Of its usual steps {' and '.join(said)}." if said else ""


def _explained(facts: Facts, judged: Judgement, told: frozenset[Topic]) -> Verdict:
    """Where computing is what takes long, what is computed."""
    found = judged.verdict
    parts = what_computes(facts, told, names_update=judged.names_update) if found.bound_by == "compute" else ""
    if not parts:
        return found
    return Verdict(bound_by=found.bound_by, ratio=found.ratio, text=f"{found.text} {parts}")


def evidence(facts: Facts, trust: TrustGrade, runs: Sequence[RuleRun]) -> dict[str, Evidence]:
    """What the rules for each bound say; one that is switched off is asked all the same, or the verdict would depend on it."""
    binding = [run for run in runs if run.rule.meta.binds]
    # All at once: they hear one another, as without `--select`, and one thread runs them.
    switched_off = [run.rule for run in binding if run.state is State.DISABLED]
    known = [run for run in binding if run.state is not State.DISABLED]
    asked: dict[str, list[RuleRun]] = {}
    for run in (*known, *run_rules(facts, switched_off, trust)):
        for bound in run.rule.meta.binds:
            asked.setdefault(bound, []).append(run)
    return {
        bound: Evidence(any(run.state is State.FIRED for run in found), _why_not(bound, found), _claims(found))
        for bound, found in asked.items()
    }


def _why_not(bound: str, runs: Sequence[RuleRun]) -> str:
    """Why the rule that measures the bound's loss did not fire; of others, why the one did not that comes nearest to an answer."""
    run = min(runs, key=lambda run: (bound not in run.rule.meta.measures, _ANSWERS.index(run.state)))
    if run.state is State.SUPPRESSED:
        return f"{run.rule.meta.code} is suppressed {run.reason}"
    return run.reason


def _claims(runs: Sequence[RuleRun]) -> IntervalSet:
    claims = EMPTY
    for run in runs:
        for finding in run.findings:
            claims |= finding.saving.claims
    return claims
