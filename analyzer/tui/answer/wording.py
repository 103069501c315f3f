"""What only the screens say of a document; the words that reports share with them are in `analyzer.page`."""

from __future__ import annotations

from collections.abc import Iterable

from analyzer import units
from analyzer.analysis import Analysis, CheckDocument, FindingDocument, RankRow
from analyzer.page.recording import is_summary, mended, set_aside
from analyzer.tui.look.plain import line

# Reasons for doubt that say more of the same than a remark of ours (`facts/health/steps/few.py`).
_NO_MARKS, _FEW_STEPS = "PG001", "PG003"


def saving(finding: FindingDocument) -> str:
    """What is expected, by which findings are sorted and graded: `148 ms`; `note` where nothing is to be had by it alone."""
    ns = finding.saving.expected_ns
    return units.duration(ns) if ns else "note"


def headline(analysis: Analysis) -> tuple[str, str]:
    """The mean step and what is left of it at best, as the reports state it."""
    summary = analysis.summary
    return units.duration(summary.step_ns.mean), units.duration(summary.reachable_step_ns)


def unprofiled(analysis: Analysis) -> str | None:
    """The step time without the profiler, where the recorder measured it."""
    ns = analysis.summary.unprofiled_step_ns
    return None if ns is None else f"{units.duration(ns)} unprofiled"


def source(analysis: Analysis) -> list[str]:
    """File, device and version, for the frame's title."""
    trace = analysis.trace
    device = trace.device.name or ("CPU only" if trace.device.kind == "cpu" else trace.device.kind)
    many = f"{trace.device.count} x " if trace.device.count > 1 else ""
    torch = trace.versions.torch
    parts = [trace.name, f"{many}{device}"] + ([f"torch {torch}"] if torch else [])
    return [line(part, 60) for part in parts]


def has_gpu(analysis: Analysis) -> bool:
    """Whether the trace has device events."""
    return analysis.summary.gpu_busy_ratio is not None


def banners(analysis: Analysis) -> list[str]:
    """What the reader must know before believing a figure, the most important first."""
    steps, lines = analysis.trace.steps, []
    cautious = analysis.trust.verdict == "caution"
    told = {reason.code for reason in analysis.trust.reasons if reason.doubts} if cautious else set()
    marked = steps.source == "ProfilerStep" or _NO_MARKS in told
    if not marked and steps.source == "whole-trace":
        lines.append("No steps were marked: the whole trace counts as one step. Call prof.step() in the loop.")
    elif not marked:
        how = line(steps.source.partition(":")[2]) or "repetition"
        lines.append(f"Steps are guessed from {how}: confidence is lower. Call prof.step() to mark them.")
    if steps.used <= 2 and steps.source != "whole-trace" and _FEW_STEPS not in told:
        lines.append(f"{units.count(steps.used, steps.noun)} only: may be warm-up. Record at least 3 (--active 6).")
    if cautious:
        lines += [
            f"{reason.code or ''} {line(reason.message)}".strip() for reason in analysis.trust.reasons if reason.doubts
        ]
    # Whoever trains on the CPU knows it: what makes the figures doubtful comes before.
    if not has_gpu(analysis) and not is_summary(analysis):
        lines.append("This trace has no GPU events. On a GPU, record with ProfilerActivity.CUDA.")
    lines += [f"While reading: {line(mended(repair))}" for repair in analysis.repairs]
    lines += [line(total) for total in set_aside(analysis)]
    lines += [f"Note: {line(note)}" for note in analysis.trace.notes]
    return lines


def missing_options(checks: Iterable[CheckDocument]) -> list[str]:
    """What would have to be recorded for the checks that could not run, each once."""
    reasons = (line(check.reason).removeprefix("needs ") for check in checks if check.state == "cannot_tell")
    return list(dict.fromkeys(reasons))


def verdict(analysis: Analysis, rank: RankRow | None) -> str:
    """The answer in one sentence; of a rank with its number."""
    text = line(analysis.summary.verdict.text)
    if rank is not None:
        waited = ", the others wait for it" if rank.late else ""
        text = text if text[1:2].isupper() else text[:1].lower() + text[1:]
        return f"Rank {rank.rank}{waited}: {text}"
    return text[:1].upper() + text[1:]
