"""PG004 what the profiler was asked to record slows the host down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.facts.health.symptom import Gravity, Symptom
from traces.trace import Capability

if TYPE_CHECKING:
    from analyzer.facts import Facts

# Host events a millisecond from which Python stacks distort the step (rules.md PG004).
_BUSY_HOST_EVENTS_PER_MS = 20.0
# A profiled step this much slower than an unprofiled one is no longer the user's step.
_SLOWDOWN = 1.3


def heavy_options(facts: Facts) -> tuple[str, ...]:
    """Options in use that cost host time on every op: with_stack, profile_memory."""
    top, found = facts.trace.meta.top, facts.trace.capabilities
    heavy = []
    if top.get("with_stack") in (1, True) or len(facts.trace.python) or Capability.STACKS in found:
        heavy.append("with_stack")
    if top.get("profile_memory") in (1, True) or Capability.MEMORY in found:
        heavy.append("profile_memory")
    return tuple(heavy)


def check(facts: Facts) -> Iterator[Symptom]:
    """Stacks on a busy host, or a measured slowdown."""
    trace = facts.trace
    options = heavy_options(facts)
    window = facts.window()
    events = sum(
        int(window.contains(frame["start_ns"].to_numpy()).sum()) for frame in (trace.ops, trace.runtime, trace.python)
    )
    per_ms = events / (facts.window_ns / 1e6) if facts.window_ns else 0.0
    if "with_stack" in options and per_ms > _BUSY_HOST_EVENTS_PER_MS:
        yield Symptom(
            "PG004",
            Gravity.NOTE,
            f"Stacks were recorded on a busy host ({per_ms:.0f} events a millisecond): Python and launch times are inflated.",
            "use this trace for where, and one without stacks for how much",
            events,
        )
    unprofiled = trace.meta.advisor.get("unprofiled_step_ns")
    if isinstance(unprofiled, int) and unprofiled > 0 and facts.used_steps:
        slowdown = facts.window_ns / facts.used_steps / unprofiled
        if slowdown > _SLOWDOWN:
            yield Symptom(
                "PG004",
                Gravity.NOTE,
                f"A profiled step takes {slowdown:.1f} times as long as one without the profiler.",
                "read the shares, not the milliseconds; record without stacks, shapes and memory",
                1,
            )
