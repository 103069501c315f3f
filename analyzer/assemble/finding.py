"""One finding of the document: what the rule said, how much it saves, and where that time lies."""

from __future__ import annotations

from analyzer import analysis as doc
from analyzer.assemble.tuned import tried
from analyzer.assemble.unprofiled import exceeds_unprofiled, unprofiled_ratio
from analyzer.engine import Judged
from analyzer.estimates import least_ns, most_ns
from analyzer.facts import Facts
from analyzer.finding import Figure
from analyzer.page.words.of_steps import put
from analyzer.step_words import speaks_of_training
from analyzer.units import share
from analyzer.views.timeline import DrawnStep

# Intervals shown beside a finding: enough to draw a bracket, not a copy of the trace.
_MAX_INTERVALS = 200

_WITHOUT = {
    Figure.BOUND: "of a step without the profiler up to",
    Figure.ESTIMATE: "of a step without the profiler about",
}


def finding_document(
    facts: Facts, item: Judged, representative: DrawnStep | None, accepted: str | None
) -> doc.FindingDocument:
    """A finding as the document has it; `representative` is the step it is drawn in, `accepted` why the team lives with it."""
    finding, meta = item.finding, item.rule.meta
    # What lies between the steps was measured without the profiler.
    between = finding.saving.between_ns > 0
    unprofiled = item.ratio if between else unprofiled_ratio(facts, item)
    least, most = _range(facts, item)
    return doc.FindingDocument(
        id=item.identity,
        rule=meta.code,
        name=meta.name,
        family=meta.family,
        title=put(finding.title or meta.title, "step", trains=speaks_of_training(facts)),
        severity=item.severity.value,
        confidence=item.confidence.value,
        saving=doc.SavingDocument(
            kind=item.finding.saving.kind.value,
            ns_per_step_max=most,
            ratio_max=item.ratio * most / item.ns_per_step if item.ns_per_step else item.ratio,
            ns_per_step_expected=item.usual_ns_per_step if item.usual_ns_per_step != most else None,
            ratio_expected=item.usual_ratio if item.usual_ns_per_step != most else None,
            ns_per_step_min=least,
            unprofiled_ratio=unprofiled,
            of_recorded=not between and exceeds_unprofiled(facts, item, unprofiled),
            basis=_basis(facts, item, unprofiled),
            overlaps_with=item.overlaps_with,
        ),
        steps=doc.SeenSteps(seen=finding.steps_seen, of=facts.steps.count, noun=facts.steps.noun),
        rank=item.rank,
        explained_by=item.explained_by,
        location=finding.location,
        why=finding.why,
        caveats=finding.caveats,
        evidence=finding.evidence + _where(facts, item, representative),
        fix=finding.fix,
        verify=finding.verify,
        references=finding.references or meta.references,
        accepted=accepted,
        lowered_from=item.lowered_from.value if item.lowered_from is not None else None,
        lowered_because=item.lowered_because or None,
        calibrated=item.calibrated,
        tried=tried(facts.trace.meta, meta.code),
    )


def _range(facts: Facts, item: Judged) -> tuple[int | None, int]:
    """The least and the most that measured pairs brought of an estimate; of a bound, and where none were measured, only itself."""
    ns = item.ns_per_step
    paired = item.rule.meta.measured and facts.device.main is None
    if item.finding.saving.kind is Figure.BOUND or not paired or not ns:
        return None, ns
    return least_ns(ns), most_ns(ns, int(facts.steps.per_step(facts.steps.total_ns)))


def _basis(facts: Facts, item: Judged, unprofiled: float | None) -> str:
    """The basis, with what it takes for granted, and the share that a stopwatch may show where that is another one."""
    basis = item.finding.saving.basis.rstrip(".")
    if not item.ns_per_step:
        return basis
    if unprofiled is not None and share(unprofiled) != share(item.ratio):
        basis += f"; {_WITHOUT[item.finding.saving.kind]} {share(unprofiled)}"
    elif unprofiled is None and facts.recording.collected.profiler_ns:
        basis += "; the profiler slows the step down so much that no saving without it is stated"
    if facts.device.main is None:
        # Measured on planted bottlenecks: traces/README.md shows what their remedies saved beyond the bound.
        basis += (
            "; the rest of the step is taken as recorded, though it may get faster, with caches and cores to itself"
        )
    return basis


def _where(facts: Facts, item: Judged, representative: DrawnStep | None) -> tuple[doc.Intervals, ...]:
    """Where in the drawn step the claimed time lies."""
    if representative is None:
        return ()
    start, end = representative.start_ns, representative.end_ns
    spans = item.finding.saving.claims.clip(start, end)
    if not spans:
        return ()
    ranked = sorted(spans.pairs(), key=lambda pair: pair[0] - pair[1])
    longest, others = ranked[:_MAX_INTERVALS], ranked[_MAX_INTERVALS:]
    return (
        doc.Intervals(
            title=_whereabouts(facts, representative.number) + _apart(facts, item),
            step=representative.number,
            spans=tuple((low - start, high - start) for low, high in sorted(longest)),
            left_out=len(others),
            left_out_ns=sum(high - low for low, high in others),
        ),
    )


def _whereabouts(facts: Facts, number: int) -> str:
    """`where in step 8`, `where in request 8`, `where in the recording`."""
    return f"where in {'the recording' if facts.steps.noun == 'recording' else f'{facts.steps.noun} {number}'}"


def _apart(facts: Facts, item: Judged) -> str:
    """Of a saving most of which is shorter ops or kernels: that the places are those of the rest."""
    saving = item.finding.saving
    if saving.kernel_ns <= saving.claims.total_ns:
        return ""
    return ", outside its ops" if facts.device.main is None else ", outside its kernels"
