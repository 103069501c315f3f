"""CO010 slowed-kernels: kernels take longer while a collective runs beside them.

## What it finds
Kernels that run beside a collective and take longer than the same kernels, on the same shapes, without one.

## Why it costs time
Overlap hides communication, but both sides share the multiprocessors and the memory: a collective's kernel occupies some of the
multiprocessors for as long as it runs, and a product whose tiles just filled the device then needs one more round.

## How it is measured
Kernels of the same name, grid, op and input shapes, at least three beside a collective (90 % of their time) and three without
one: `sum(time beside - median alone)`. Kinds whose times without a collective differ among themselves are left out.

## Example
Slow:

```python
options = dist.ProcessGroupNCCL.Options()  # as many channels as NCCL likes, a multiprocessor each
```

Faster:

```python
options = dist.ProcessGroupNCCL.Options()
options.config.max_ctas = 8
dist.init_process_group("nccl", pg_options=options)
```

## Fix
1. Fewer multiprocessors for NCCL where the link is not the limit: `max_ctas`, or `NCCL_MAX_CTAS=8`; measure both sides.
2. Collectives that need fewer: NVLink SHARP, which NCCL takes by itself where `NCCL_NVLS_ENABLE=0` does not forbid it. Or none:
   copy engines (symmetric memory).
3. Fewer bytes: 16-bit gradients (DDP's `bf16_compress_hook`).

## Expected gain
At most what they take longer, which no setting gives back as a whole: the collective needs something to run on.

## When it is wrong
A kernel beside a collective may be slower for another reason: data that just arrived, another kernel on a third stream. Fewer
channels may make the collective so slow that it is no longer hidden. The thresholds are reasoned, not calibrated: no recording on
a GPU has judged them.

## Thresholds
- `min_ratio`: share of the step that is lost from which the rule fires.

## References
- https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.evidence import kernel_saving, kernel_table, steps_with
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="CO010",
    name="slowed-kernels",
    family="communication",
    title="Collectives slow kernels down",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS}),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),),
    references=("https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",),
)


# RCCL knows it, too: its page of environment variables.
_FEWER_CTAS = Advice(
    "shell", "NCCL_MAX_CTAS=8", "Fewer multiprocessors for NCCL; measure the step, not the collective."
)
# NCCL's page of environment variables: by default it is used where the machine has it.
_NVLS = Advice(
    "shell",
    "unset NCCL_NVLS_ENABLE   # where it is 0",
    "NVLink switches that reduce by themselves need fewer multiprocessors. NCCL uses them unless that forbids it.",
)
_SIXTEEN_BITS = Advice(
    "text",
    "Fewer bytes: 16-bit gradients.",
    "DDP's `bf16_compress_hook` sends them; their sums are rounded, compare the loss.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when kernels beside collectives take `min_ratio` of the step longer than alone."""
    if not facts.communication.collectives.kernels:
        yield not_applicable("no collective runs on the device in the used steps")
        return
    found = facts.communication.slowed
    if not found.shapes_known:
        yield cannot_tell("which kernels do the same work: needs record_shapes=True")
        return
    if not found.kernels.any():
        yield clear("no kernel runs both beside a collective and without one, three times each")
        return
    ratio = facts.steps.ratio(round(max(found.lost_ns, 0.0)))
    slower = found.lost_ns / max(found.alone_ns, 1.0)
    if ratio < limits["min_ratio"]:
        yield clear(f"kernels beside collectives take {share(max(slower, 0.0))} longer, {share(ratio)} of the step")
        return
    lost = found.lost_ns / (found.alone_ns + found.lost_ns)
    yield Finding(
        why=f"Kernels beside collectives take {share(slower)} longer than the same kernels on the same shapes without one: "
        f"{duration(facts.steps.per_step(found.lost_ns))} a step ({share(ratio)}).",
        saving=kernel_saving(
            facts,
            found.lost_ns,
            "what kernels beside collectives take longer than alone; the collective needs something to run on, so half is taken",
            of=((found.kernels, lost),),
            usual_ns=found.lost_ns / 2,
        ),
        fix=(
            _FEWER_CTAS,
            *((_NVLS,) if facts.device.kind == "cuda" else ()),
            *by_purpose(facts, (), (_SIXTEEN_BITS,)),
        ),
        verify="Record again: the same kernels should take as long beside a collective as alone, and the step less.",
        steps_seen=steps_with(facts, found.kernels),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "these kernels, mean step",
                "ns",
                (
                    Bar("beside collectives", facts.steps.per_step(found.alone_ns + found.lost_ns)),
                    Bar("at their median alone", facts.steps.per_step(found.alone_ns)),
                ),
            ),
            kernel_table(facts, found.kernels, "kernels beside collectives"),
        ),
        caveats=("Fewer channels may make the collective so slow that it is no longer hidden: compare whole steps.",),
    )


RULE = Rule(META, check, __doc__)
