"""What was recorded and read: the trace, its steps, its device, what was mended, how far it can be believed."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis, Repair
from analyzer.units import count, duration, size

# The trace's name is a file name; a command that names it must survive being copied into a shell.
EXAMPLE_TRACE = "trace.json"
RECORD_AGAIN = (
    "with torch.profiler.profile(",
    "    schedule=torch.profiler.schedule(wait=5, warmup=2, active=6, repeat=1),",
    "    on_trace_ready=lambda p: p.export_chrome_trace('trace.json'),",
    ") as prof:",
    "    for batch in loader:",
    "        train_step(batch)",
    "        prof.step()    # once per iteration, or there are no steps",
)


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
    more = len(left_out) - most + analysis.trace.steps.more_excluded
    return [*lines, f"{more} more left out"] if more > 0 else lines


def device(analysis: Analysis) -> str | None:
    """`2 x NVIDIA H100 80GB HBM3`; None where the trace has no device."""
    found = analysis.trace.device
    if found.kind == "cpu":
        return None
    many = f"{found.count} x " if found.count > 1 else ""
    return many + (found.name or found.kind)


def is_summary(analysis: Analysis) -> bool:
    """Whether only a rank's summary is here: a trace without any event is refused."""
    return not analysis.trace.events


def events(analysis: Analysis) -> str:
    """`1,234 events`, or that only a summary is here."""
    return "a summary, without its events" if is_summary(analysis) else count(analysis.trace.events, "event")


def environment(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """What was measured and how: a label and a text each."""
    trace, summary = analysis.trace, analysis.summary
    versions = trace.versions
    named = (("torch", versions.torch), ("CUDA", versions.cuda), ("ROCm", versions.rocm), ("Python", versions.python))
    found = ", ".join(f"{name} {value}" for name, value in named if value)
    yield "Device", device(analysis) or "none: the trace has no GPU events"
    yield "Versions", found or "not stated in the trace"
    yield (
        "Trace",
        f"{trace.name}, {size(trace.bytes)}, {events(analysis)}"
        if trace.bytes
        else f"{trace.name}, {events(analysis)}",
    )
    yield f"{analysis.trace.steps.noun.capitalize()}s", "; ".join([steps(analysis), *excluded(analysis)])
    recorded = (("Python stacks", trace.profiler.stacks), ("input shapes", trace.profiler.shapes),
                ("memory", trace.profiler.memory), ("FLOPs", trace.profiler.flops))  # fmt: skip
    yield "Recorded", "times" + "".join(f", {what}" for what, is_there in recorded if is_there)
    unprofiled = summary.unprofiled_step_ns
    if unprofiled and trace.steps.source != "whole-trace":
        yield "Profiler", f"a step takes {duration(summary.step_ns.median)} with it, {duration(unprofiled)} without"
    if summary.launch_lead_ns_median is not None:
        yield "Launch lead", f"{duration(summary.launch_lead_ns_median)} in the median: how far the host runs ahead"
    if len(trace.ranks) > 1:
        yield "Ranks", str(len(trace.ranks))
    yield from (("Note", note) for note in trace.notes)
    yield "Digest", f"sha256 {trace.sha256}"
