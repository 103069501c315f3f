"""OP002 unfused-foreach: the optimizer reads and writes every parameter several times.

## What it finds
An optimizer that updates with several `aten::_foreach_*` ops where a fused kernel exists.

## Why it costs time
Each foreach op is a pass over all parameters: Adam makes about ten of them. A fused kernel reads parameter, gradient and state
once and writes them once. The passes are limited by memory bandwidth, so fewer of them is what counts. On the host each foreach op
goes through all parameters before it launches: with many small ones, or with sharded ones, the device waits for that.

## How it is measured
Device time of the kernels launched inside the `Optimizer.step` spans as a share of the device's busy time in the used steps, where
at least `min_kinds` different `aten::_foreach_*` ops and no `aten::_fused_*` op are inside. At most all of it goes, usually half of
it times `1 - idle share`, little where launches limit the step. Apart from that, the time in which the device idles while the host
is inside the optimizer, as a share of the step: that is a finding of its own. Unit: nanoseconds.

## Example
Slow:

```python
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
```

Faster:

```python
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
```

## Fix
1. `fused=True` (Adam, AdamW; SGD from torch 2.3 on, Adagrad from 2.12).
2. Where the host is what the device waits for and fused does not end it: the update under `torch.compile`.

## Expected gain
Usually half of the update's device time, and only where the device is what the step waits for; of the host's time, at most what the
device idles in it.

## When it is wrong
Fused needs floating-point parameters on one device; with sparse gradients or `differentiable=True` it does not exist. Under FSDP
with CPU offload the update is not on this device.

## Thresholds
- `min_ratio`: the update's share of the device's busy time from which the rule fires.
- `min_idle_ratio`: idle time inside the optimizer, as a share of the step, from which the host's part is told.
- `min_kinds`: different foreach ops from which an update makes several passes.

## References
- https://docs.pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.evidence import kernel_saving
from rules.optimizer.advice import FUSED_CLASSES, fused, together
from traces.trace import Capability

META = RuleMeta(
    code="OP002",
    name="unfused-foreach",
    family="optimizer",
    title="Optimizer makes many passes",
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "min_ratio", 0.05, "ratio", "half of less than 5 % is below the 2 % from which a finding goes on a card"
        ),
        Threshold("min_idle_ratio", 0.05, "ratio", "below 5 % of the step the update is not what limits it, as OP001"),
        Threshold("min_kinds", 3, "count", "SGD without momentum makes two passes; a fused kernel cannot halve that"),
    ),
    binds=("launch",),
    explains=("ID001",),
    before=("ID001", "CP005"),
    references=(
        "https://docs.pytorch.org/docs/stable/optim.html",
        "https://docs.pytorch.org/tutorials/recipes/compiling_optimizer.html",
    ),
    outside=("optimizer",),
)
# A fused update still has to read and write everything once: about half of what three or more passes move.
_SAVED_PART = 0.5
# A fused update passes over all rows of a table as well.
_TABLES = (
    "The backward pass makes dense gradients of embeddings. Where their tables are most of the parameters, a fused update still "
    "goes through all rows, and sparse gradients may save more: `record_shapes=True` tells (OP006)."
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a foreach update takes at least `min_ratio` of the device's busy time."""
    work = facts.model.optimizing
    device = facts.device.main
    if not len(work.spans) or device is None:
        yield not_applicable("no Optimizer.step span in the used steps")
        return
    if work.on_host:
        yield not_applicable(f"{work.class_name} launches nothing: it updates on the CPU (OP005)")
        return
    if work.style != "foreach" or work.foreach_kinds < limits["min_kinds"] or work.class_name not in FUSED_CLASSES:
        yield not_applicable(f"{work.class_name} updates with {work.style} ops, or has no fused form")
        return
    busy = (device.busy & facts.steps.window).total_ns
    ratio = work.kernel_ns / busy if busy else 0.0
    idle = facts.time.waterfall.owned("optimizer") & work.step_time
    waits = facts.steps.ratio(idle.total_ns)
    held_up = waits >= limits["min_idle_ratio"]
    if held_up:
        yield _held_up(facts, idle)
    elif ratio < limits["min_ratio"]:
        yield clear(
            f"the update takes {share(ratio)} of the GPU's busy time, below {share(limits['min_ratio'])}, and the GPU waits for it "
            f"for {share(waits)} of the step"
        )
    # The fix is the same: beside idle time, kernels that are little of the step are no finding of their own.
    little = held_up and facts.steps.ratio(work.kernel_ns) < limits["min_ratio"]
    if ratio >= limits["min_ratio"] and not little:
        yield _many_passes(facts, busy)


def _held_up(facts: Facts, idle: IntervalSet) -> Finding:
    work = facts.model.optimizing
    return Finding(
        why=(
            f"The GPU idles {duration(facts.steps.per_step(idle.total_ns))} of {facts.steps.each} "
            f"({share(facts.steps.ratio(idle.total_ns))}) while {work.class_name}.step is at work on the host: "
            + (
                f"{facts.steps.per_step(len(work.spans)):,.0f} times a step, for one parameter each: each op has a list of one."
                if work.apart
                else "each of its `_foreach_` ops goes through all parameters of a group there before it launches."
            )
        ),
        saving=Saving(
            claims=idle,
            behind=facts.sync.behind(work.step_time),
            basis="device-idle time inside the optimizer's span; a fused update still needs an op or two",
        ),
        fix=(fused(facts, work.class_name), together(work.class_name) if work.apart else _COMPILED),
        verify="Record again: a shorter span of the optimizer, and less idle time in it.",
        steps_seen=facts.steps.count_with(idle),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("inside optimizer.step()", facts.steps.per_step(work.step_time.total_ns)),
                    Bar("of that, the GPU idles", facts.steps.per_step(idle.total_ns)),
                ),
            ),
        ),
        caveats=(
            "Parameters that are tensor subclasses (DTensor under FSDP2) make each op dearer on the host, a fused one too.",
        ),
        title="Optimizer's passes hold the GPU up",
    )


_COMPILED = Advice(
    "python",
    "@torch.compile(fullgraph=False)\ndef update():\n    optimizer.step()",
    "Where fused stays slow on the host: the compiled update is a few launches. A learning rate that changes has to be a tensor, "
    "or it is compiled again.",
)


def _many_passes(facts: Facts, busy: int) -> Finding:
    work = facts.model.optimizing
    ratio = work.kernel_ns / busy
    return Finding(
        why=(
            f"{work.class_name}.step keeps the GPU busy for {duration(facts.steps.per_step(work.kernel_ns))} {facts.steps.a_unit} "
            f"({share(ratio)} of its busy time) with {work.foreach_kinds} kinds of `_foreach_` op, each a pass over "
            f"{'one parameter' if work.apart else 'all parameters'}."
        ),
        saving=kernel_saving(
            facts,
            work.kernel_ns,
            "all of the update's kernel time, of which half usually goes",
            usual_ns=work.kernel_ns * _SAVED_PART,
        ),
        fix=(fused(facts, work.class_name),),
        verify="Record again: one `aten::_fused_*` op inside the optimizer's span, and less kernel time in it.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "GPU busy, mean step",
                "ns",
                (
                    Bar("optimizer", facts.steps.per_step(work.kernel_ns)),
                    Bar("everything else", facts.steps.per_step(busy - work.kernel_ns)),
                ),
            ),
        ),
        caveats=(_TABLES,) if facts.model.dense_tables.calls and not facts.model.dense_tables.found else (),
    )


RULE = Rule(META, check, __doc__)
