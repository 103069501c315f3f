"""KE010 few-resident-blocks: kernels ask for so many registers, or so much shared memory, that few of their blocks fit.

## What it finds
Kernels other than products, whose estimated occupancy is low because of what each block asks for, in a large part of the step.

## Why it costs time
A multiprocessor hides the time of its memory by switching between warps. Where a block takes many registers or much shared
memory, few blocks fit beside each other, and there is nothing to switch to. Whether that costs time depends on the kernel:
products on tensor cores keep their tiles close on purpose, and are left out.

## How it is measured
Kernels for which Kineto (since March 2026, CUDA) states what limits their occupancy, and for which that is registers, shared
memory or barriers; with an estimated occupancy below `max_occupancy_ratio`. Metric: their share of the used steps.

## Example
Slow (a block of 8 warps holds a tile that fills the registers):

```python
kernel[grid](x, y, BLOCK=4096, num_warps=8)
```

Faster (what the autotuner chose of smaller tiles):

```python
configs = [triton.Config({"BLOCK": size}, num_warps=warps) for size in (512, 1024, 2048) for warps in (4, 8)]
kernel = triton.autotune(configs, key=["n"])(kernel)
```

## Fix
1. Kernels of your own: smaller tiles, fewer stages, `__launch_bounds__`; let an autotuner try.
2. Kernels of the compiler: `mode="max-autotune-no-cudagraphs"`, smaller fused regions.
3. Kernels of a library: a newer version, another shape of the batch.

## Expected gain
None is claimed: more resident blocks help only where the kernel waits for memory, which the trace does not show.

## When it is wrong
The occupancy is an estimate from the launch, not a measurement. A kernel with much work for each thread may hide its waits by
itself. The thresholds are reasoned, not calibrated: no recording on a GPU has judged them.

## Thresholds
- `max_occupancy_ratio`: occupancy below which a kernel counts.
- `min_ratio`: share of the step in such kernels from which it is told.

## References
- https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#occupancy

"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, Severity, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.evidence import kernel_table
from traces.trace import Capability

META = RuleMeta(
    code="KE010",
    name="few-resident-blocks",
    family="kernels",
    title="Registers or memory limit occupancy",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "max_occupancy_ratio",
            0.25,
            "ratio",
            "NVIDIA's guide: beyond a point more occupancy brings nothing; a quarter is low",
        ),
        Threshold("min_ratio", 0.2, "ratio", "from there on it is the run's character"),
    ),
    references=("https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/index.html#occupancy",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when kernels that their own demands hold back take `min_ratio` of the step."""
    found = facts.kernels.residency(limits["max_occupancy_ratio"])
    if not found.known.any():
        yield cannot_tell("the trace does not state what limits the occupancy of kernels (Kineto since March 2026)")
        return
    named = facts.kernels.named
    ratio = facts.steps.ratio(named.time_ns(found.limited))
    if ratio < limits["min_ratio"]:
        yield clear(
            f"kernels whose blocks ask for too much to fit beside each other take {share(ratio)} of the {facts.steps.noun}, below "
            f"{share(limits['min_ratio'])}"
        )
        return
    yield Finding(
        why=f"Kernels that occupy less than {share(limits['max_occupancy_ratio'])} of the warps a multiprocessor could hold take "
        f"{share(ratio)} of the {facts.steps.noun}; {' and '.join(word for word, _ in found.factors)} of their blocks limit them.",
        saving=Saving(basis="none is claimed: more resident blocks help only kernels that wait for memory"),
        fix=(
            Advice(
                "text", "Kernels of your own: smaller tiles, fewer stages, `__launch_bounds__`; let an autotuner try."
            ),
            Advice(
                "text", "Kernels of the compiler: its autotuning. Kernels of a library: a newer version, another batch."
            ),
        ),
        verify="Record again: the occupancy of these kernels is higher, and they take less time.",
        steps_seen=facts.steps.count_with(named.spans(found.limited)),
        confidence=Confidence.LOW,
        severity_cap=Severity.INFO,
        evidence=(kernel_table(facts, found.limited, "longest kernels with few resident blocks"),),
        caveats=("Occupancy is an estimate; a kernel with much work for each thread may hide its waits by itself.",),
    )


RULE = Rule(META, check, __doc__)
