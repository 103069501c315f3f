"""KE007 slowing-device: the device's clock falls while it works.

## What it finds
Recordings in which the clock of the multiprocessors, sampled while the device works, stays below the highest one seen before.

## Why it costs time
Kernels that compute take as much longer as the clock is lower. Devices lower it at their limit of power, when they are hot, or when
somebody set a limit.

## How it is measured
Samples of `SM Clock (MHz)` (torch 2.15) inside the device's busy time of the used steps, from the first one that reaches 95 % of
the highest on: `1 - mean / highest`. The highest that was seen is the reference; the maker's boost clock is not in a trace.

## Example
Slow:

```python
pynvml.nvmlDeviceSetPowerManagementLimit(card, 250_000)  # of the 400 W that it may take
```

Faster:

```python
pynvml.nvmlDeviceSetPowerManagementLimit(card, 400_000)
```

## Fix
1. Ask why: `nvidia-smi --query-gpu=clocks_event_reasons.active --format=csv`.
2. Power: raise the limit where it was lowered. Heat: airflow, fans, fewer cards side by side.
3. To measure, lock the clock on both sides: `nvidia-smi --lock-gpu-clocks=MHz`.

## Expected gain
At most the share by which the clock is lower, of the time in which kernels compute; kernels that wait for memory gain less.

## When it is wrong
Metrics of performance monitors lock the clock while they are recorded: then nothing can be told. A few samples may miss what
happens between them.

## Thresholds
- `min_drop_ratio`: how much below the highest clock the mean has to be.
- `min_samples`: samples needed.

## References
- https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.counters import CLOCK
from analyzer.finding import Advice, Confidence, Finding, Outcome, Series, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.commands import collect
from rules.evidence import kernel_saving
from traces.trace import Capability

# Before it the clock rises, as it does after every pause.
_RISEN = 0.95
_SHOWN = 64
_ASK = "nvidia-smi --query-gpu=clocks_event_reasons.active,power.limit,temperature.gpu --format=csv"

META = RuleMeta(
    code="KE007",
    name="slowing-device",
    family="kernels",
    title="The device lowers its clock",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_drop_ratio", 0.05, "ratio", "clocks of one setting move by a few steps of 15 MHz, below 3 % of 2 GHz"
        ),
        Threshold("min_samples", 8, "count", "fewer may all fall into one kernel"),
    ),
    references=("https://docs.nvidia.com/deploy/nvml-api/group__nvmlClocksEventReasons.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the mean clock is `min_drop_ratio` below the highest."""
    counters, main = facts.kernels.counters, facts.device.main
    clock = counters.of(CLOCK, main.device) if main is not None else None
    if clock is None:
        yield cannot_tell(
            f"the device's clock was not sampled (`{collect(facts, '--counters', 'clocks')}`, torch 2.15 with cupti-python)"
        )
        return
    if counters.locked:
        yield cannot_tell("metrics that lock the clock were recorded: record the clock without them")
        return
    risen = clock.from_first_near_highest(_RISEN)
    if len(risen) < limits["min_samples"]:
        yield cannot_tell(f"only {len(risen)} samples of the clock fall into busy time")
        return
    highest = float(risen.max())
    drop = 1 - float(risen.mean()) / highest
    if drop < limits["min_drop_ratio"]:
        yield clear(
            f"the clock is {share(drop)} below its highest in the mean, below {share(limits['min_drop_ratio'])}"
        )
        return
    kernels = facts.kernels.named
    computing = facts.time.waterfall.owned("compute").total_ns
    yield Finding(
        why=f"While it works the device runs at {risen.mean():,.0f} MHz in the mean, {share(drop)} below the {highest:,.0f} MHz "
        "that it reached: at its limit of power, hot, or limited by somebody.",
        saving=kernel_saving(
            facts,
            drop * computing,
            "kernels as much shorter as the clock is lower, which those that wait for memory do not become",
            of=((kernels.every, drop),),
            usual_ns=drop * computing / 2,
        ),
        fix=(
            Advice("shell", _ASK, "Ask why."),
            Advice(
                "text", "Power: raise the limit where it was lowered. Heat: airflow, fans, fewer cards side by side."
            ),
        ),
        verify="Record again once the device is cool: the median clock should reach the highest.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(Series("clock while busy (MHz)", "count", tuple(float(value) for value in clock.value[:_SHOWN])),),
        caveats=("The reference is the highest clock seen here, not the card's boost clock.",),
    )


RULE = Rule(META, check, __doc__)
