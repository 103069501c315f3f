"""Device work that cannot be: longer than whole steps, though nothing else says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.facts.step_faults import first_spin
from analyzer.units import count, duration

if TYPE_CHECKING:
    from analyzer.facts import Facts

# No kernel of a steady program takes as long as this many of its steps.
_STEPS = 2.0
_MIN_STEPS = 3


def check(facts: Facts) -> Iterator[Symptom]:
    """Kernels longer than two steps: the reader sets aside what is certainly wrong, this is what is left."""
    steps = facts.steps
    sound = steps.frame[steps.frame["dur_ns"] > 0]
    if steps.source == "whole-trace" or len(sound) < _MIN_STEPS:
        return
    typical = float(sound["dur_ns"].median())
    kernels = facts.trace.kernels
    spin = first_spin(facts.trace)
    long = (kernels["dur_ns"] > _STEPS * typical).to_numpy(dtype=bool, copy=True)
    if spin is not None:
        long[spin[0]] = False
    if long.any():
        longest = int(kernels["dur_ns"].to_numpy()[long].max())
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"{count(int(long.sum()), 'kernel')} of up to {duration(longest)} cannot be: a step takes {duration(typical)}.",
            "record again; if it stays, report it to the maker of the profiler's driver",
            int(long.sum()),
            min(longest / max(facts.window_ns, 1), 1.0),
        )
