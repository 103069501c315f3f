"""SY005 blocking-launch: every launch waits until its kernel has finished.

## What it finds
Launch calls that return only after their kernel ended: `CUDA_LAUNCH_BLOCKING=1`, `HIP_LAUNCH_BLOCKING=1` or
`AMD_SERIALIZE_KERNEL`.

## Why it costs time
These variables are for debugging: an error then appears at the line that caused it. The host can no longer run ahead, so between
any two kernels the device idles for the whole of the host's dispatch.

## How it is measured
Share of one-to-one launches in the used steps whose call ends no earlier than its kernel. Healthy traces have at most 1.4 %. The
saving is the device-idle time inside launch calls (cause `launch`), in nanoseconds. Where kernels seem to start before their call,
the device's clock is put forward by that much; where that is much beside the gaps, the rule cannot tell.

## Example
Slow:

```python
os.environ["CUDA_LAUNCH_BLOCKING"] = "1"
train()
```

Faster:

```python
os.environ.pop("CUDA_LAUNCH_BLOCKING", None)
train()
```

## Fix
1. Unset the variable in the shell, the job script and the container.

## Expected gain
At most the idle time inside launches; in truth more, because the host runs ahead again.

## When it is wrong
Clocks of host and device that drift apart by more than a kernel's length.

## Thresholds
- `min_ratio`: share of launches that outlast their kernel from which the rule fires.
- `min_launches`: launches below which the share says nothing.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution
- Huawei msprof-analyze, synchronize.yaml (0.5)
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.device.launches import BLOCKING_RATIO
from analyzer.finding import Advice, Bar, Bars, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from traces.trace import Capability

META = RuleMeta(
    code="SY005",
    name="blocking-launch",
    family="sync",
    title="Launches wait for their kernels",
    binds=("sync",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "min_ratio",
            BLOCKING_RATIO,
            "ratio",
            "msprof-analyze uses 0.5; at most 1.4 % on 46 traces without the variable",
        ),
        Threshold("min_launches", 20, "count", "fewer launches say nothing about a setting of the process"),
    ),
    explains=("ID002",),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when at least `min_ratio` of the launches outlast their kernel."""
    if facts.time.clocks_apart:
        yield cannot_tell(
            f"the clocks of host and device differ by {duration(facts.time.skew_ns)} or more (PG008), too much beside the gaps"
        )
        return
    outlasting = facts.time.blocking_launches
    if outlasting.launches < limits["min_launches"]:
        yield cannot_tell(f"needs at least {limits['min_launches']:.0f} launches of single kernels in the used steps")
        return
    if outlasting.ratio < limits["min_ratio"]:
        yield clear(
            f"{share(outlasting.ratio)} of the launches outlast their kernel, below {share(limits['min_ratio'])}"
        )
        return
    rocm = facts.device.kind == "rocm"
    names = ("HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL") if rocm else ("CUDA_LAUNCH_BLOCKING",)
    yield Finding(
        why=(
            f"{share(outlasting.ratio)} of {count(outlasting.launches, 'launch', 'launches')} return only after "
            f"their kernel has ended: `{names[0]}` is set, and the host cannot run ahead of the GPU."
        ),
        saving=Saving(claims=facts.time.waterfall.owned("launch"), basis="device-idle time inside launch calls"),
        fix=(
            Advice(
                "shell", "\n".join(f"unset {name}" for name in names), "Also look in the job script and the container."
            ),
        ),
        caveats=("It may save more: a host that runs ahead again dispatches beside the kernels, not between them.",),
        verify="Record again: almost no launch outlasts its kernel, and the launch lead grows.",
        steps_seen=facts.steps.count,
        evidence=(
            Bars(
                "launches in the used steps",
                "count",
                (
                    Bar("outlast their kernel", outlasting.outlasting),
                    Bar("return before it ends", outlasting.launches - outlasting.outlasting),
                ),
            ),
        ),
    )


RULE = Rule(META, check, __doc__)
