"""PG004 what the profiler was asked to record slows the host down."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts.health.disturbance.crowding import CROWDED_RATIO
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.host.described_ops import DescribedOps
from analyzer.facts.steps.find import Steps
from analyzer.facts.time.section import TimeFacts
from analyzer.units import duration, share
from traces.trace import Capability, Trace

# Host events a millisecond from which Python stacks distort the step (rules.md PG004).
_BUSY_HOST_EVENTS_PER_MS = 20.0
# A profiled step this much slower than an unprofiled one is no longer the user's step.
_SLOWDOWN = 1.3
# From this share of the steps on, idle time is not the program's alone.
_LEAST_RATIO = 0.1
# Idle time that a host has which is late with its next work.
_LATE = ("framework", "launch", "python", "optimizer")


def heavy_options(trace: Trace) -> tuple[str, ...]:
    """Options in use that cost host time on every op: with_stack, profile_memory."""
    top, found = trace.meta.top, trace.capabilities
    heavy = []
    if top.get("with_stack") in (1, True) or len(trace.python) or Capability.STACKS in found:
        heavy.append("with_stack")
    if top.get("profile_memory") in (1, True) or Capability.MEMORY in found:
        heavy.append("profile_memory")
    return tuple(heavy)


def check(trace: Trace, steps: Steps, time: TimeFacts, described: DescribedOps | None) -> Iterator[Symptom]:
    """Stacks on a busy host, a measured slowdown, or ops that nothing but being looked at makes long."""
    top = trace.meta.top
    options = heavy_options(trace)
    window = steps.host_window
    events = sum(
        int(window.contains(frame["start_ns"].to_numpy()).sum()) for frame in (trace.ops, trace.runtime, trace.python)
    )
    per_ms = events / (window.total_ns / 1e6) if window else 0.0
    if "with_stack" in options and per_ms > _BUSY_HOST_EVENTS_PER_MS:
        yield Symptom(
            "PG004",
            Gravity.NOTE,
            f"Stacks were recorded on a busy host ({per_ms:.0f} events a millisecond): Python and launch times are inflated.",
            "record a second trace without stacks: that one says how much, this one where",
            events,
        )
    unprofiled = trace.meta.advisor.get("unprofiled_step_ns")
    if isinstance(unprofiled, int) and unprofiled > 0 and steps.count:
        # A median as well: a few steps that hold something else make the mean longer, not the profiler.
        slowdown = float(steps.used["dur_ns"].median()) / unprofiled
        if slowdown > _SLOWDOWN:
            yield _slower(
                steps, time, slowdown, unprofiled, optional=bool(options or top.get("record_shapes") in (1, True))
            )
    if described is not None:
        yield from _looked_at(steps, time, described)


def _looked_at(steps: Steps, time: TimeFacts, described: DescribedOps) -> Iterator[Symptom]:
    """Ops that do next to nothing take longer than launch calls: what they have in common is that each is recorded."""
    # Beside a busy device a late host costs nothing.
    ratio = steps.ratio(min(described.total_ns, time.waterfall.owned(*_LATE).total_ns))
    if described.median_ns <= described.launch_ns or ratio < _LEAST_RATIO:
        return
    yield Symptom(
        "PG004",
        Gravity.CAUTION,
        f"Ops that only describe a tensor anew (view, as_strided) take {duration(described.median_ns)}, a launch call "
        f"{duration(described.launch_ns)}; usual are less than 3 us. Something looks at each op: an observer beside the profiler, "
        f"stacks, or a build for debugging. Over {described.ops:,} ops the device idles for it {share(ratio)} of the steps.",
        "record without ExecutionTraceObserver, stacks, shapes and memory, on a release build, and read idle time from that",
        described.ops,
        ratio,
        touches=_LATE,
    )


def _slower(steps: Steps, time: TimeFacts, slowdown: float, unprofiled_ns: int, *, optional: bool) -> Symptom:
    """A measured slowdown; it is the profiler's only as far as the thread had a core."""
    text = f"A profiled step takes {slowdown:.1f} times as long as one without the profiler"
    lacked = steps.ratio(time.without_core_ns)
    if steps.total_ns - time.without_core_ns <= _SLOWDOWN * unprofiled_ns * steps.count:
        text += f"; the thread had no core for {share(lacked)} of it, enough to explain that without the profiler"
    elif lacked >= CROWDED_RATIO:
        # What the threads of an op wait for each other, as one has no core, is not in that share: they spin.
        text += (
            f", but the thread had no core for {share(lacked)} of it: how much of that is the profiler's cannot be told"
        )
    less = "record without stacks, shapes and memory; of this trace " if optional else ""
    return Symptom("PG004", Gravity.NOTE, f"{text}.", f"{less}read the shares, not the milliseconds", 1)
