"""The headline in words, the same in every document."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page import hardware
from analyzer.page.findings import savings
from analyzer.page.findings.groups import each as each
from analyzer.page.findings.groups import no_card
from analyzer.page.recording import doubts
from analyzer.units import count, duration, share


def where(analysis: Analysis) -> str:
    """`Where a step of 178 ms goes`."""
    if analysis.trace.steps.source == "whole-trace":
        return "Where the time goes"
    return f"Where {each(analysis)} of {duration(analysis.summary.step_ns.mean)} goes"


def promises(analysis: Analysis) -> bool:
    """Whether there is a saving worth naming: the trace can be believed and a card says how."""
    summary = analysis.summary
    believed = analysis.trust.verdict != "unusable" and not exceeds_unprofiled(analysis)
    return believed and bool(analysis.cards) and 0 < summary.reachable_step_ns < summary.step_ns.mean


def exceeds_unprofiled(analysis: Analysis) -> bool:
    """Whether the findings together save more of a recorded step than it takes without the profiler.

    A saving then holds time that is not the program's own: the profiler's, or that in which its thread had no core. The mean
    without the profiler is taken as the mean less what the medians differ by.
    """
    return is_profilers(analysis, analysis.summary.reachable_step_ns)


def is_profilers(analysis: Analysis, left_ns: int) -> bool:
    """Whether a recorded step of which this is left holds less than what the profiler, or a lack of cores, added to it."""
    added = added_ns(analysis)
    # No more than rounding lies between them where the whole of a step is lost.
    return left_ns < added and duration(left_ns) != duration(added)


def added_ns(analysis: Analysis) -> int:
    """By how much a median step is longer than without the profiler; 0 where none was timed without it, or none is marked."""
    summary = analysis.summary
    if analysis.trace.steps.source == "whole-trace":
        return 0
    return summary.step_ns.longer_ns(summary.unprofiled_step_ns)


def title(analysis: Analysis) -> str:
    """`PyTorch performance report: 412 ms a step, 148 ms at best`, with what is likely where that is more."""
    what = "PyTorch performance report"
    if analysis.trust.verdict == "unusable":
        return f"{what}: this trace cannot be the base of advice"
    summary = analysis.summary
    head = f"{what}: {duration(summary.step_ns.mean)} {each(analysis)}"
    if not promises(analysis):
        return head
    best, likely = duration(summary.reachable_step_ns), duration(summary.likely_step_ns)
    return f"{head}, {best} at best" + (f", {likely} likely" if likely != best else "")


def verdict(analysis: Analysis) -> str:
    """What the run is bound by, as a sentence."""
    text = analysis.summary.verdict.text.rstrip(".")
    return f"{text[:1].upper()}{text[1:]}."


def together(analysis: Analysis, *, opening: bool = False) -> str:
    """`together the findings save at most 84 ms (20 %)`, with what is likely where that is less; `opening` a sentence."""
    summary, many = analysis.summary, len(analysis.cards) > 1
    mean, saved = summary.step_ns.mean, summary.step_ns.mean - summary.reachable_step_ns
    cards = f"{len(analysis.cards)} " if opening else ""
    who = f"together the {cards}findings save" if many else "the finding saves"
    text = f"{who} {savings.word(summary.reachable_kind)} {_of_step(saved, mean)}"
    likely = mean - summary.likely_step_ns
    if duration(likely) != duration(saved):
        text += f", likely {_of_step(likely, mean)}"
    return text[:1].upper() + text[1:] if opening else text


def _of_step(part_ns: float, step_ns: float) -> str:
    """A time with its share of a step; of a step without length it has none."""
    return f"{duration(part_ns)} ({share(part_ns / step_ns)})" if step_ns else duration(part_ns)


def outlook(analysis: Analysis) -> Iterator[str]:
    """What the findings save together, what the profiler costs, how far to believe it: a sentence each."""
    summary = analysis.summary
    mean, reachable = summary.step_ns.mean, summary.reachable_step_ns
    if promises(analysis):
        times = f"{mean / reachable:.1f} times as fast"
        to = f"from {duration(mean)} to {duration(reachable)} {each(analysis)}"
        yield f"{together(analysis, opening=True)}: {to}, {times}, the rest staying as it is."
        if len(analysis.cards) > 1:
            yield "They share time, so their savings do not add up."
    elif not analysis.cards:
        yield f"{no_card(analysis)}."
    yield from filter(None, (hardware.utilisation(analysis), hardware.counters_line(analysis), unprofiled(analysis)))
    if analysis.trust.verdict == "caution":
        yield f"{count(doubts(analysis), 'reason')} to doubt these figures: see the notes on trust."


def unprofiled(analysis: Analysis) -> str:
    """How long a step takes without the profiler, and whether more is said to be saved; empty where it was not timed."""
    summary = analysis.summary
    ns = summary.unprofiled_step_ns
    # What was timed without it is a step: where none is marked, there is nothing to set beside it.
    if ns is None or analysis.trace.steps.source == "whole-trace":
        return ""
    # A median was measured without it: the mean of uneven steps says nothing of the profiler.
    usual = summary.step_ns.median
    cost = f"; the median with it, {duration(usual)}, is {share(usual / ns - 1)} longer" if usual > ns > 0 else ""
    said = f"Without the profiler {each(analysis)} took {duration(ns)}{cost}."
    if analysis.cards and analysis.trust.verdict != "unusable" and exceeds_unprofiled(analysis):
        known = all(finding.saving.unprofiled_ratio is not None for finding in analysis.cards)
        said += (
            " The findings together claim more of a recorded step than is left of it then: part of that is the profiler's doing, "
            f"or a busy machine's. {'Read shares, not milliseconds' if known else 'How much faster it gets cannot be told'}."
        )
    return said
