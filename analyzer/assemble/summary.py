"""The headline figures of the document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer import analysis as doc
from analyzer.assemble.causes import cause_times
from analyzer.assemble.verdict import evidence, verdict_on_run
from analyzer.cause_names import CAUSES
from analyzer.engine import Judged, RuleRun, reachable_ns, with_card
from analyzer.engine.trust import TrustGrade
from analyzer.facts import Facts
from analyzer.facts.isolation import attempt
from analyzer.facts.time.waterfall import Waterfall
from analyzer.finding import Figure, Severity
from analyzer.spans.arrays import Int64Array
from analyzer.views.timeline import DrawnStep

# One process drives 16 at most, a trace merged of many some hundred; each takes milliseconds to divide.
MOST_DEVICES = 256
_UNKNOWN = doc.Verdict(
    bound_by="unknown", ratio=0.0, text="Unknown: advisor could not measure what the run is bound by."
)


def summary(
    facts: Facts, trust: TrustGrade, runs: Sequence[RuleRun], judged: Sequence[Judged], representative: DrawnStep | None
) -> doc.Summary:
    """The verdict, the steps in numbers and the waterfall of each device."""
    totals = cause_totals(facts)
    unprofiled = facts.trace.meta.advisor.get("unprofiled_step_ns")
    reachable, expected = reachable_ns(facts, judged), reachable_ns(facts, judged, usual=True)
    cards = with_card(judged)
    kinds = {item.finding.saving.kind for item in cards}
    told = frozenset(topic for item in cards for topic in item.rule.meta.topics)
    severities = [item.severity for item in judged]
    return doc.Summary(
        verdict=facts.attempt(
            "verdict",
            lambda: verdict_on_run(
                facts,
                totals,
                unusable=trust.verdict == "unusable",
                evidence=evidence(facts, trust, runs),
                told=told,
            ),
            _UNKNOWN,
        ),
        step_ns=step_times(facts),
        unprofiled_step_ns=unprofiled if isinstance(unprofiled, int) else None,
        reachable_step_ns=reachable,
        reachable_kind="estimate" if Figure.ESTIMATE in kinds else "bound",
        expected_step_ns=expected if expected != reachable else None,
        window_ns=facts.steps.total_ns,
        used_steps=facts.steps.count,
        gpu_busy_ratio=busy_ratio(facts),
        compute_ratio=facts.steps.ratio(totals["compute"]),
        launch_lead_ns_median=attempt(lambda: facts.time.lead_ns, None),
        representative_step=representative.number if representative is not None else None,
        waterfall=cause_times(totals, facts.steps.total_ns),
        devices=tuple(_device(facts, index) for index in range(min(len(facts.device.all), MOST_DEVICES))),
        counts=doc.Counts(**{severity.value: severities.count(severity) for severity in Severity}),
    )


def cause_totals(facts: Facts) -> dict[str, int]:
    """What each cause owns of the used steps together, nanoseconds."""
    return {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}


def busy_ratio(facts: Facts) -> float | None:
    """Share of the used steps in which the device that is looked at works; None without one."""
    device = facts.device.main
    return facts.steps.ratio((facts.steps.window & device.busy).total_ns) if device else None


def step_times(facts: Facts) -> doc.StepTimes:
    """How long the used steps take; 0 without any."""
    durations: Int64Array = facts.steps.used["dur_ns"].to_numpy()
    if not len(durations):
        return doc.StepTimes(mean=0, median=0, p95=0, min=0, max=0)
    return doc.StepTimes(
        mean=int(durations.sum()) // len(durations),
        median=int(np.median(durations)),
        p95=int(np.percentile(durations, 95.0)),
        min=int(durations.min()),
        max=int(durations.max()),
    )


def _device(facts: Facts, index: int) -> doc.DeviceWaterfall:
    activity = facts.device.all[index]
    divided: Waterfall = facts.time.waterfall if index == 0 else facts.time.waterfall_of(activity, facts.steps.window)
    totals = {cause: divided.owned(cause).total_ns for cause in CAUSES}
    return doc.DeviceWaterfall(
        device=str(activity.device),
        busy_ratio=facts.steps.ratio((facts.steps.window & activity.busy).total_ns),
        waterfall=cause_times(totals, facts.steps.total_ns),
    )
