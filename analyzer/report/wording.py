"""The headline in words, the same in every document."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import CARD_RATIO, Analysis, FindingDocument, Repair
from analyzer.report import savings
from analyzer.units import count, duration, share, size

# From here on a finding gets a card.
LIMIT = f"{CARD_RATIO * 100:.0f} %"

SEVERITY_WORDS = {"high": "High", "medium": "Medium", "low": "Low", "info": "Info"}
# The trace's name is a file name; a command that names it must survive being copied into a shell.
EXAMPLE_TRACE = "trace.json"


def each(analysis: Analysis, whole: str = "in all") -> str:
    """`a step` or `a request`; `whole` where the trace has neither."""
    steps = analysis.trace.steps
    return f"a {steps.noun}" if steps.source != "whole-trace" else whole


def noun(analysis: Analysis) -> str:
    """`step`, `request`, or `recording` where everything recorded is taken as one: what shares are shares of."""
    steps = analysis.trace.steps
    return "recording" if steps.source == "whole-trace" else steps.noun


def set_aside(analysis: Analysis) -> Iterator[str]:
    """What the events that were set aside would have added: `kernels: 1,000,000 s as the file states, 20 ms without them`."""
    for total in analysis.totals:
        if total.set_aside:
            raw, cleaned = duration(total.raw_ns), duration(total.cleaned_ns)
            yield f"{total.events}: {raw} as the file states, {cleaned} without what was set aside"


def mended(repair: Repair) -> str:
    """`3 x: a text held single backslashes; they were doubled (first at byte 35,967, event 214)`."""
    parts = [f"byte {repair.first_offset:,}"] if repair.first_offset is not None else []
    parts += [f"event {repair.first_event:,}"] if repair.first_event is not None else []
    place = f" (first at {', '.join(parts)})" if parts else ""
    return f"{repair.count:,} x: {repair.message}{place}"


def promises(analysis: Analysis) -> bool:
    """Whether there is a saving worth naming: the trace can be believed and a card says how."""
    summary = analysis.summary
    believed = analysis.trust.verdict != "unusable"
    return believed and bool(analysis.cards) and 0 < summary.reachable_step_ns < summary.step_ns.mean


def title(analysis: Analysis) -> str:
    """`PyTorch performance report: 412 ms a step, 148 ms looks reachable`."""
    what = "PyTorch performance report"
    if analysis.trust.verdict == "unusable":
        return f"{what}: this trace cannot be the base of advice"
    summary = analysis.summary
    head = f"{what}: {duration(summary.step_ns.mean)} {each(analysis)}"
    return f"{head}, {duration(summary.likely_step_ns)} looks reachable" if promises(analysis) else head


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
    text = f"{who} {savings.word(summary.reachable_kind)} {duration(saved)} ({share(saved / mean)})"
    likely = mean - summary.likely_step_ns
    if duration(likely) != duration(saved):
        text += f", likely {duration(likely)} ({share(likely / mean)})"
    return text[:1].upper() + text[1:] if opening else text


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
        yield nothing_found(analysis)
    unprofiled = summary.unprofiled_step_ns
    if unprofiled is not None and unprofiled > 0:
        # A median was measured without it: the mean of uneven steps says nothing of the profiler.
        usual = summary.step_ns.median
        cost = (
            f"; the median with it, {duration(usual)}, is {share(usual / unprofiled - 1)} longer"
            if usual > unprofiled
            else ""
        )
        yield f"Without the profiler a step took {duration(unprofiled)}{cost}."
    if analysis.trust.verdict == "caution":
        yield f"{count(doubts(analysis), 'reason')} to doubt these figures: see the notes on trust."


def lowered(finding: FindingDocument, *, briefly: bool = False) -> str:
    """`lowered from high: trust is caution, as ...`, or `lowered: trust is caution`; empty where it is not."""
    if finding.lowered_from is None:
        return ""
    because = finding.lowered_because or "see when it may be wrong"
    return f"lowered: {because.partition(',')[0]}" if briefly else f"lowered from {finding.lowered_from}: {because}"


def doubts(analysis: Analysis) -> int:
    """How many reasons make a finding doubtful, or what binds the run."""
    return sum(reason.doubts for reason in analysis.trust.reasons)


def steps(analysis: Analysis) -> str:
    """`6 of 7 steps, marked by ProfilerStep`."""
    found = analysis.trace.steps
    if found.source == "whole-trace":
        return "no steps are marked; the whole trace is taken as one"
    how = (
        "marked by prof.step()" if found.source == "ProfilerStep" else f"inferred from {found.source.partition(':')[2]}"
    )
    return f"{found.used} of {count(found.count, found.noun)} used, {how}"


def excluded(analysis: Analysis, most: int = 4) -> list[str]:
    """`step 2: first recorded step`, for each step left out, the last line counting those not named."""
    left_out = analysis.trace.steps.excluded
    lines = [f"{analysis.trace.steps.noun} {one.step} left out: {one.reason}" for one in left_out[:most]]
    more = len(left_out) - most
    return [*lines, f"{more} more left out"] if more > 0 else lines


def device(analysis: Analysis) -> str | None:
    """`2 x NVIDIA H100 80GB HBM3`; None where the trace has no device."""
    found = analysis.trace.device
    if found.kind == "cpu":
        return None
    many = f"{found.count} x " if found.count > 1 else ""
    return many + (found.name or found.kind)


def environment(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """What was measured and how: a label and a text each."""
    trace, summary = analysis.trace, analysis.summary
    versions = trace.versions
    named = (("torch", versions.torch), ("CUDA", versions.cuda), ("ROCm", versions.rocm), ("Python", versions.python))
    found = ", ".join(f"{name} {value}" for name, value in named if value)
    yield "Device", device(analysis) or "none: the trace has no GPU events"
    yield "Versions", found or "not stated in the trace"
    yield "Trace", f"{trace.name}, {size(trace.bytes)}, {trace.events:,} events"
    yield "Steps", "; ".join([steps(analysis), *excluded(analysis)])
    recorded = (("Python stacks", trace.profiler.stacks), ("input shapes", trace.profiler.shapes),
                ("memory", trace.profiler.memory), ("FLOPs", trace.profiler.flops))  # fmt: skip
    yield "Recorded", "times" + "".join(f", {what}" for what, is_there in recorded if is_there)
    unprofiled = summary.unprofiled_step_ns
    if unprofiled:
        yield "Profiler", f"a step takes {duration(summary.step_ns.median)} with it, {duration(unprofiled)} without"
    if summary.launch_lead_ns_median is not None:
        yield "Launch lead", f"{duration(summary.launch_lead_ns_median)} in the median: how far the host runs ahead"
    if len(trace.ranks) > 1:
        yield "Ranks", str(len(trace.ranks))
    yield from (("Note", note) for note in trace.notes)
    yield "Digest", f"sha256 {trace.sha256}"


RANK_HEADS = ("Rank", "A step", "Bound by", "In collectives a step", "")


def rank_rows(analysis: Analysis) -> list[tuple[str, str, str, str, str]]:
    """The ranks of the job, the one to look at first on top; empty for a trace on its own."""
    return [
        (
            f"{one.rank}",
            duration(one.step_ns),
            one.bound_by,
            duration(one.in_collectives_ns) if one.in_collectives_ns is not None else "-",
            "late: the others wait for it" if one.late else "",
        )
        for one in analysis.ranks
    ]


def nothing_found(analysis: Analysis) -> str:
    """That no finding gets a card."""
    return f"No finding is worth {LIMIT} of the {noun(analysis)} or more."


def minor(analysis: Analysis) -> str:
    """What the findings without a card have in common; what one saves at most may be more than what is likely."""
    return f"likely under {LIMIT} of the {noun(analysis)}, or no saving of its own"
