"""KE001 small-grid: kernels with fewer blocks than the device has multiprocessors.

## What it finds
Device time in kernels too small to occupy the whole device: some multiprocessors have nothing to do while they run.

## Why it costs time
A kernel's work is cut into blocks, and a block runs on one multiprocessor. With 40 blocks on 132 multiprocessors two thirds of
the device stand still, and the kernel takes as long as one with three times the work.

## How it is measured
`|kernels with blocks per SM < 1| / |device busy|`, collectives left out (they use few blocks by design). Blocks per SM is the
profiler's own figure on CUDA, derived from its warps per SM in torch 1.8, and the launch's grid over the number of compute units
on ROCm. The bound counts of each such kernel the part `1 - blocks per SM`.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=8)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64)
```

## Fix
1. A larger batch, with the learning rate scaled along, as far as memory allows.
2. Fewer, larger kernels: `torch.compile`, batched products instead of a loop of small ones.
3. Independent small kernels on several streams, or several models at once (`torch.vmap`).

## Expected gain
At most the idle multiprocessors' share of these kernels, times the share of the step in which the device is busy. A larger batch
shows it as more samples per second, not as a shorter step.

## When it is wrong
Persistent kernels start exactly one block per multiprocessor on purpose (they count as full). Some kernels are limited by memory,
not by the number of blocks. Kernels of graphs on ROCm and those launched before the recording state no grid; where they are too
many to decide, the rule says so.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.
- `min_step_ratio`: share of the step that these kernels must take: a device that hardly works has another problem.

## References
- TensorBoard profiler plugin: est. SM efficiency = min(blocks per SM, 1), weighted by duration
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from analyzer.facts import Facts
from analyzer.facts.op_tree import BoolArray
from analyzer.finding import Advice, Confidence, Finding, Outcome, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.changes import compiled, larger_batch
from rules.evidence import kernel_saving, kernel_table, steps_with
from traces.trace import Capability

META = RuleMeta(
    code="KE001",
    name="small-grid",
    family="kernels",
    title="Kernels too small to fill the GPU",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_busy_ratio",
            0.40,
            "ratio",
            "measured: 4-16 % in healthy training, 40 % in small-batch data-parallel training, 65-78 % in small-batch inference",
        ),
        Threshold("min_step_ratio", 0.05, "ratio", "below, nothing about kernels changes the step by a twentieth"),
    ),
    references=("https://github.com/pytorch/kineto/blob/main/tb_plugin/docs/gpu_utilization.md",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when kernels that leave multiprocessors empty own `min_busy_ratio` of the busy time."""
    found = facts.kernels
    computing = ~found.frame["collective"].to_numpy()
    blocks = found.frame["blocks_per_sm"].to_numpy()
    if not computing.any():
        yield not_applicable("no compute kernel in the used steps")
        return
    if np.isnan(blocks[computing]).all():
        yield cannot_tell("the trace states neither blocks per SM nor grids and the number of multiprocessors")
        return
    rows: BoolArray = computing & (blocks < 1)
    ratio, of_step = found.busy_ratio(rows), facts.ratio(found.time_ns(rows))
    possible = computing & ~(blocks >= 1)
    if ratio < limits["min_busy_ratio"] <= found.busy_ratio(possible):
        unknown = found.busy_ratio(possible & ~rows)
        yield cannot_tell(
            f"kernels that state no grid take {share(unknown)} of the busy time, those known to be small {share(ratio)}"
        )
        return
    if ratio < limits["min_busy_ratio"] or of_step < limits["min_step_ratio"]:
        yield clear(
            f"kernels that leave multiprocessors empty are {share(ratio)} of the busy time and {share(of_step)} of the step, "
            f"below {share(limits['min_busy_ratio'])} or {share(limits['min_step_ratio'])}"
        )
        return
    duration = found.frame["dur_ns"].to_numpy()[rows]
    empty_ns = min(float((duration * (1 - blocks[rows])).sum()), found.time_ns(rows))
    yield Finding(
        why=f"{share(ratio)} of the GPU's busy time is in kernels with fewer blocks than multiprocessors; while they run, "
        f"{share(empty_ns / max(int(duration.sum()), 1))} of the GPU has nothing to do.",
        saving=kernel_saving(
            facts,
            empty_ns,
            "the empty multiprocessors' share of these kernels; a larger batch gains it as samples per second",
        ),
        fix=_fix(facts),
        verify="Record again with the larger batch and compare samples per second; the share of KE001 should fall.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest kernels with empty multiprocessors"),),
        caveats=("Kernels limited by memory gain less than the empty multiprocessors suggest.",),
    )


def _fix(facts: Facts) -> tuple[Advice, ...]:
    larger = larger_batch(facts)
    fused = compiled(facts, "Fewer and larger kernels.")
    return (larger,) if facts.fusion.compiled else (larger, fused)


RULE = Rule(META, check, __doc__)
