"""KE008 slower-later: the same kernels take longer at the end of the recording than at its beginning.

## What it finds
Runs whose steps launch the same kernels in the same order, and whose last third of steps spends more time in them than the first.

## Why it costs time
The work is the same, so the device has become slower: its clock falls as it heats up or meets its limit of power, or another
program has begun to use it. What is lost grows with the length of the run, which a short recording does not show.

## How it is measured
Steps with the most frequent sequence of kernel names and grids, collectives left out. `last third / first third - 1` of their
kernel time; every step of the last third has to be slower than every step of the first, and most of the time has to lie in
kernels that are slower themselves. The bound is the time beyond that of the first third.

## Example
Slow (the card throttles at 300 W):

```python
for batch in loader:  # step 0: 101 ms, step 500: 118 ms
    train_step(batch)
```

Faster (after airflow, or a lower and steady clock, was seen to):

```python
for batch in loader:  # step 0: 101 ms, step 500: 101 ms
    train_step(batch)
```

## Fix
1. Ask the device while it runs: `nvidia-smi dmon -s pucvmet`, on AMD `rocm-smi --showclocks --showpower --showtemp`.
2. Hot or at its limit of power: airflow, fans, the limit of power.
3. Not alone: `nvidia-smi pmon`; give the other program another device.

## Expected gain
At most the time that later steps take beyond the first ones.

## When it is wrong
Kernels whose work grows without another name or grid: attention over a cache that fills, sparse data. Then nothing is wrong with
the device, and shapes tell it. The thresholds are reasoned, not calibrated: no recording on a GPU has judged them.

## Thresholds
- `min_ratio`: by what share the last third has to take longer.
- `min_slower_ratio`: share of the time in kernels that are slower themselves.

## References
- https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.counters import CLOCK
from analyzer.finding import Advice, Confidence, Finding, Outcome, Series, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.evidence import kernel_saving
from traces.trace import Capability

_SHOWN = 64
_ASK = {
    "cuda": Advice(
        "shell", "nvidia-smi dmon -s pucvmet", "While it runs: clock, power, temperature and why it slows down."
    ),
    "rocm": Advice(
        "shell", "rocm-smi --showclocks --showpower --showtemp", "While it runs: clock, power, temperature."
    ),
}
_ASK_OTHER = Advice("text", "Watch the device's clock, power and temperature with its maker's tool while it runs.")

META = RuleMeta(
    code="KE008",
    name="slower-later",
    family="kernels",
    title="Same kernels, slower later",
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),
        Threshold("min_slower_ratio", 0.7, "ratio", "a device that slows down slows most of what it computes"),
    ),
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the last third of equal steps is `min_ratio` slower than the first."""
    found = facts.kernels.slowing
    if found.ratio is None:
        yield cannot_tell("fewer than six steps launch the same kernels")
        return
    if found.ratio < limits["min_ratio"] or not found.apart:
        yield clear(f"the last third of the steps takes {share(max(found.ratio, 0.0))} longer in the same kernels")
        return
    if found.slower_ratio < limits["min_slower_ratio"]:
        yield clear(
            f"only {share(found.slower_ratio)} of the time is in kernels that are slower: their work may have grown"
        )
        return
    yield Finding(
        why=f"The same kernels take {share(found.ratio)} longer in the last third of {len(found.step_ns)} equal steps than in the "
        f"first, {duration(found.step_ns[-1])} instead of {duration(found.step_ns[0])} a step{_clock(facts)}.",
        saving=kernel_saving(
            facts,
            found.lost_ns,
            "the time of later steps beyond that of the first third",
            of=((found.kernels, found.lost_ns / max(float(found.step_ns.sum()), 1.0)),),
        ),
        fix=(
            _ASK.get(facts.device.kind, _ASK_OTHER),
            Advice(
                "text", "Hot or at its limit of power: airflow, fans, the limit of power. Not alone: another device."
            ),
        ),
        verify="Record again, later in the run: the steps of both ends should take as long as each other.",
        steps_seen=len(found.step_ns),
        confidence=Confidence.MEDIUM,
        evidence=(Series("kernel time of each step", "ns", tuple(float(one) for one in found.step_ns[:_SHOWN])),),
        caveats=("Work that grows without another grid, as attention over a growing cache, looks the same.",),
    )


def _clock(facts: Facts) -> str:
    """What the device's clock says of it, where it was sampled."""
    main = facts.device.main
    clock = facts.kernels.counters.of(CLOCK, main.device) if main is not None else None
    if clock is None:
        return ""
    third = max(len(clock.value) // 3, 1)
    before, after = float(clock.value[:third].mean()), float(clock.value[-third:].mean())
    return f"; its clock was {before:,.0f} MHz at first and {after:,.0f} MHz at last"


RULE = Rule(META, check, __doc__)
