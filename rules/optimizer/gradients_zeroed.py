"""OP003 gradients-zeroed: gradients are filled with zeros instead of being dropped.

## What it finds
`zero_grad(set_to_none=False)`, the default before torch 2.0, and fills of all gradients by hand.

## Why it costs time
One fill per parameter has to be launched and run, and the next backward pass has to add to the zeros instead of just writing. A
dropped gradient costs nothing.

## How it is measured
`aten::zero_`, `aten::fill_` or `aten::_foreach_zero_` inside the `Optimizer.zero_grad` spans, whose share of the used steps
counts; without spans, ten or more `aten::zero_` in a row (`model.zero_grad()` leaves no span). The saving is the device-idle time
inside and the kernel time of the fills; on a CPU-only trace the time itself. Unit: nanoseconds.

## Example
Slow:

```python
optimizer.zero_grad(set_to_none=False)
```

Faster:

```python
optimizer.zero_grad(set_to_none=True)
```

## Fix
1. `optimizer.zero_grad(set_to_none=True)`; simply `optimizer.zero_grad()` since torch 2.0.

## Expected gain
At most the idle time inside the fills, from one to the next and behind them, and their kernel time: 3 to 7 % of the step on
traces of torch 1.8 and 1.9.

## When it is wrong
Code that reads `.grad` after zeroing (it is None then). DDP with `gradient_as_bucket_view=True` keeps gradients as views of
buckets. A row of `aten::zero_` outside the spans may be buffers of the program's own.

## Thresholds
- `min_ratio`: share of the used steps inside the fills from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html
- torch `_pattern_matcher.py`, GradNotSetToNonePattern
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.time.host_loss import host_loss
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.place import line_of, location
from traces.trace import Capability

META = RuleMeta(
    code="OP003",
    name="gradients-zeroed",
    family="optimizer",
    title="Gradients zeroed, not dropped",
    binds=("launch",),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.01, "ratio", "the fix is one argument: worth a word from 1 % of the step on"),
    ),
    explains=("ID001",),
    before=("ID001", "CP005"),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.zero_grad.html",),
    measured=True,
    outside=("set-to-none",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when filling gradients takes at least `min_ratio` of the used steps."""
    work = facts.model.optimizing
    spanned = work.fills > 0
    time = work.zero_time if spanned else work.zero_runs
    if not time:
        reason = (
            "gradients are dropped: nothing is filled inside zero_grad"
            if work.zero_time
            else "no zeroing of gradients seen"
        )
        yield clear(reason) if work.zero_time else not_applicable(reason)
        return
    ratio = facts.steps.ratio(time.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"zeroing gradients takes {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    yield _finding(facts, time, ratio, spanned=spanned)


def _finding(facts: Facts, time: IntervalSet, ratio: float, *, spanned: bool) -> Finding:
    saving = _saving(facts, time, spanned=spanned)
    fills = (
        f"{facts.steps.per_step(facts.model.optimizing.fills):,.0f} fills"
        if spanned
        else "a row of `aten::zero_`, as `model.zero_grad()` makes it,"
    )
    idle = (
        ""
        if facts.device.main is None
        else f", for {duration(facts.steps.per_step(saving.claims.total_ns))} of which the GPU idles"
    )
    filling = f", and {duration(facts.steps.per_step(saving.kernel_ns))} of the GPU's time" if saving.kernel_ns else ""
    line = line_of(facts, time)
    return Finding(
        why=(
            f"Zeroing the gradients takes {duration(facts.steps.per_step(time.total_ns))} of {facts.steps.each} on the host "
            f"({share(ratio)}){idle}{filling}: {fills} a step that dropping them makes unnecessary."
        ),
        saving=saving,
        fix=(
            Advice(
                "diff",
                "-optimizer.zero_grad()\n+optimizer.zero_grad(set_to_none=True)",
                "The default since torch 2.0: there, remove `set_to_none=False`. `.grad` is None until the next backward pass.",
            ),
        ),
        verify="Record again: no `aten::zero_` inside the zero_grad span.",
        steps_seen=facts.steps.count,
        confidence=Confidence.HIGH if spanned else Confidence.LOW,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("zeroing", facts.steps.per_step(time.total_ns)),
                    Bar("rest", facts.steps.per_step(facts.steps.total_ns - time.total_ns)),
                ),
            ),
        ),
        location=location(line),
    )


def _saving(facts: Facts, time: IntervalSet, *, spanned: bool) -> Saving:
    kernels = facts.model.optimizing.fill_kernel_ns if spanned and facts.device.main is not None else 0
    if spanned:
        claims = facts.time.waterfall.owned("optimizer") & time
        return Saving(
            claims=claims,
            kernel_ns=kernels,
            behind=facts.sync.behind(time) | (facts.time.launched_in(time).extent & facts.time.idle),
            basis="idle time inside zero_grad and the kernel time of the fills",
            usual_kernel_ns=facts.time.kernel_gain_ns(kernels),
        )
    loss = host_loss(facts.device, facts.time.device_waits, facts.time.waterfall, time)
    return Saving(claims=loss.claims, kernel_ns=loss.op_ns, basis="idle time inside the fills")


RULE = Rule(META, check, __doc__)
