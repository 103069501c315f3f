"""PG008 durations in another unit than microseconds: what some things take is known, whatever the program."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts.health.complete.repairs import UNTOUCHED
from analyzer.facts.health.symptom import Gravity, Symptom
from analyzer.spans.arrays import Int64Array
from analyzer.spans.labels import is_any
from analyzer.units import duration
from traces.trace import Trace

# The shortest kernels of these devices take 1 us; in recorded traces the median is 2 us at least.
_KNOWN_DEVICES = ("cuda", "rocm")
_SHORTEST_KERNEL_NS = 500
# An op allocates its result or looks at its input; the shortest of recorded traces take 200 ns, half of all 530 at least.
_SHORTEST_OP_NS = 50
# A launch puts work into a queue, in 1 to 50 us; the first of a kernel takes longer, and so do all that wait for their kernel
# (CUDA_LAUNCH_BLOCKING), but not nearly all of them.
_LONG_LAUNCH_NS = 1_000_000
_SHORT_LAUNCHES = 0.05
# As many as say that launches have lost their kernels; ops come in larger numbers.
_MIN_KERNELS = 20
_MIN_OPS = 100
# Of recorded traces one op in 20 takes 13 us or less. Where none of a few launches and hardly any op is short, it is the unit: one
# pass of a compiled model has a dozen launches.
_LONG_OP_NS = 100_000
_FEW_LAUNCHES = 5
_SOME_OPS = 20
_UNIT = f"`ts` and `dur` count microseconds: {UNTOUCHED}"


def check(trace: Trace) -> Iterator[Symptom]:
    """Half of all kernels, or ops, shorter than any, or nearly all launches longer than short ones are."""
    kernels, ops = trace.kernels["dur_ns"].to_numpy(), trace.ops["dur_ns"].to_numpy()
    if trace.meta.device_kind not in _KNOWN_DEVICES:
        kernels = kernels[:0]
    for some, what, least, shortest_ns in (
        (kernels, "kernels", _MIN_KERNELS, _SHORTEST_KERNEL_NS),
        (ops, "ops", _MIN_OPS, _SHORTEST_OP_NS),
    ):
        timed = some[some > 0]  # that one takes 0 is odd, and says nothing of the others
        if len(timed) >= least and (typical := float(np.median(timed))) < shortest_ns:
            yield Symptom(
                "PG008",
                Gravity.UNUSABLE,
                f"Half of {len(timed):,} {what} take {duration(typical)} or less, which none can: their times are in another "
                "unit, or lost.",
                _UNIT,
                len(timed),
            )
    calls = trace.runtime
    launches = calls["dur_ns"].to_numpy()[is_any(calls["kind"], "launch")]
    least = _FEW_LAUNCHES if _without_short(ops) else _MIN_KERNELS
    # A call waits until its kernel has been run again for every counter.
    if trace.meta.replayed:
        return
    if len(launches) >= least and (short := float(np.quantile(launches, _SHORT_LAUNCHES))) >= _LONG_LAUNCH_NS:
        yield Symptom(
            "PG008",
            Gravity.CAUTION,
            f"Hardly any of {len(launches):,} launch calls takes less than {duration(short)}, a thousand times as long as usual: "
            "the times of this file may be in another unit.",
            _UNIT,
            len(launches),
        )


def _without_short(ops_ns: Int64Array) -> bool:
    """Whether even short ops take longer than any launch should."""
    return len(ops_ns) >= _SOME_OPS and float(np.quantile(ops_ns, _SHORT_LAUNCHES)) >= _LONG_OP_NS
