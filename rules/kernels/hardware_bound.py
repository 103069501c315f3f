"""KE004 hardware-bound: the device works all the time, on its fastest units: there is no waiting to remove.

## What it finds
Runs whose device computes for at least 95 % of the step, with at least half of that time in matrix work and at least 80 % of
the matrix work on tensor cores in 16 bits or fewer, and few pointwise kernels left to fuse.

## Why it costs time
It is not a loss: this is what a well-tuned run looks like. It is said so that nobody searches for a bottleneck that is not
there, and because the next step is another one: a faster device, more devices, or less work.

## How it is measured
Share of the used steps in which a kernel other than a collective runs; share of that in GEMMs, convolutions and attention;
share of these on tensor cores in 16 bits or fewer, by kernel names and recorded input types (TF32 takes
twice as long); runs of pointwise kernels that no compiler fused. Where shapes were recorded and the device's peaks are known,
the time that its products take beyond their rooflines is what is left, and where that is most of it the rule is quiet, as it is
where a library computes with kernels of last resort (`naive_conv_*` of MIOpen). Where shapes were recorded and the peaks are not
known, the rule cannot tell: a rate alone says nothing. Occupancy and memory bandwidth are not in a trace.

## Example
Slow (more work than needed):

```python
model = Model(depth=24)
```

Faster (less work):

```python
model = Model(depth=12)
with torch.no_grad():
    wanted = teacher(batch)
loss = distillation(model(batch), wanted)
```

## Fix
1. Smaller numbers where the device has units for them: quantization to FP8 (Hopper and newer) or 8 bits, after checking the
   results.
2. Layers that run without gradients (a frozen encoder, a reference model), on inputs that come again: keep what they give.
3. Less work: a smaller or pruned model, shorter sequences, fewer or better-chosen samples.
4. More or faster devices: those first that the process sees and does not work on.
5. Where recorded memory shows that it limits the batch: accumulate gradients over several small batches; it saves memory and
   optimizer steps, not compute.

## Expected gain
None from removing waits: there are hardly any.

## When it is wrong
A kernel that runs is not a kernel that uses the device well: small grids and poor tiling look busy too (KE001). Kernels
whose name says nothing of tensor cores count as not using them, unless recorded types say what they multiply; where neither
says it of most of the matrix work, or no kernel's name says what it computes, the rule cannot tell.

## Thresholds
- `min_compute_ratio`: share of the used steps in which the device computes.
- `min_matrix_ratio`: share of computing in matrix work.
- `min_short_ratio`: share of matrix work on tensor cores in 16 bits or fewer.
- `max_unfused_ratio`: share of the busy time in runs of pointwise kernels that no compiler fused, up to which they do not matter.
- `max_small_ratio`: share of the busy time in which blocks are too few for the multiprocessors, up to which it does not matter.
- `max_cast_ratio`: share of the busy time in conversions between formats, up to which they do not matter.

## References
- https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Severity,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.hardware.call import Work
from analyzer.hardware.limits import device_peaks
from analyzer.hardware.operators import operators
from analyzer.hardware.shortfall import shortfalls
from analyzer.hardware.work import PRODUCTS
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, rate, share
from rules.changes import accumulate_gradients, memory_limits_the_batch
from rules.device_words import profiler
from rules.kernels.computing import WORTH_NAMING, Measured, avoidable_passes, measured_of
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="KE004",
    name="hardware-bound",
    family="kernels",
    title="The hardware is the limit",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_compute_ratio", 0.95, "ratio", "all waits together are below what any rule would call low"),
        Threshold("min_matrix_ratio", 0.5, "ratio", "else kernels between the matrix work are worth fusing first"),
        Threshold("min_short_ratio", 0.8, "ratio", "else mixed precision is left to try (PR001)"),
        Threshold("max_unfused_ratio", 0.2, "ratio", "from there on a compiler is left to try (GR001)"),
        Threshold("max_small_ratio", 0.4, "ratio", "from there on multiprocessors are left to fill (KE001)"),
        Threshold("max_cast_ratio", 0.05, "ratio", "from there on conversions are left to take away (PR004)"),
    ),
    suppressed_by=("PG002",),
    references=("https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/",),
)


# From this part on, what is not known of the matrix work decides, or what is known to be lost in it.
_MOST = 0.5
# A device that is busy for less of the step does nothing that counts.
_WORKS = 0.05
# Blocks for less of the multiprocessors leave some of them empty (KE001).
_FULL = 0.75


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the device computes nearly all the time, mostly on tensor cores."""
    if not facts.time.waterfall.owned("compute"):
        yield not_applicable("the device computes nothing in the used steps")
        return
    measured = measured_of(facts)
    other = _not_busy(facts, limits, measured) or _left_to_software(facts, limits, measured)
    if other is not None:
        yield other
        return
    yield Finding(
        why=(
            f"The device computes for {measured.words}: there is no waiting to remove."
            f"{_beside(measured.matrix_ratio)}{_left(facts)}"
        ),
        saving=Saving(basis="there is hardly any waiting to remove"),
        fix=_fix(facts),
        verify="Compare devices, or a smaller model, with `advisor compare before.json after.json`.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "shares",
                "ratio",
                (
                    Bar("computing", measured.busy_ratio),
                    Bar("of it matrix work", measured.matrix_ratio),
                    Bar("of that in 16 bits or fewer", measured.short_ratio),
                ),
            ),
        ),
        severity_cap=Severity.INFO,
        caveats=(f"A kernel that runs may still use the device poorly: {profiler(facts)} tells.",),
    )


def _not_busy(facts: Facts, limits: Limits, measured: Measured) -> Outcome | None:
    """That the device waits, or that it cannot be told what it computes; None where it can."""
    if measured.busy_ratio < limits["min_compute_ratio"]:
        least = share(limits["min_compute_ratio"])
        return clear(f"the device computes for {share(measured.busy_ratio)} of the step, below {least}")
    if facts.kernels.named.is_family("other").all():
        return cannot_tell("the names of this device's kernels do not say what they compute")
    unstated = facts.kernels.matrix_work.unstated_ratio
    if unstated > _MOST and measured.matrix_ratio >= limits["min_matrix_ratio"]:
        return cannot_tell(
            f"in which format {share(unstated)} of the matrix work is done, neither names nor types say: needs record_shapes=True"
        )
    return None


def _left_to_software(facts: Facts, limits: Limits, measured: Measured) -> Outcome | None:
    """What a change of the program may still shorten; None where nothing is known."""
    if measured.matrix_ratio < limits["min_matrix_ratio"] or measured.short_ratio < limits["min_short_ratio"]:
        return clear(f"the device computes for {measured.words}: software has something left")
    unfused = 0.0 if facts.kernels.fusion.compiled else facts.kernels.named.busy_ratio(facts.kernels.fusion.chained)
    if unfused >= limits["max_unfused_ratio"]:
        return clear(
            f"the device computes for {measured.words}, but unfused pointwise kernels take {share(unfused)} of it"
        )
    found = facts.kernels.named
    small = (facts.kernels.filling.underused(_FULL) & found.window).total_ns / max(found.busy.total_ns, 1)
    if small >= limits["max_small_ratio"]:
        return clear(
            f"the device computes for {measured.words}, but for {share(small)} of that in too few blocks to fill it"
        )
    casts = facts.kernels.named.busy_ratio(facts.kernels.casts.rows)
    if casts >= limits["max_cast_ratio"]:
        return clear(f"the device computes for {measured.words}, but conversions between formats take {share(casts)}")
    resort = facts.kernels.named.time_ns(facts.kernels.named.last_resort) / measured.computing_ns
    if resort >= WORTH_NAMING:
        return clear(
            f"the device computes for {measured.words}, but {share(resort)} of it in naive convolutions: MIOpen has no better "
            "kernel for these sizes, number format and layout; another one of these, "
            "or its search (torch.backends.cudnn.benchmark = True), may find one"
        )
    avoidable = avoidable_passes(facts, measured.computing_ns)
    if avoidable:
        return clear(f"the device computes for {measured.words}, but {avoidable}")
    reached = _unjudged_rate(facts, measured)
    if reached is not None:
        return cannot_tell(
            f"the products reach {rate(reached, 'FLOP')}, and what this device can do at most is not known"
        )
    above = _above_ns(facts)
    if above > _MOST * measured.computing_ns:
        return clear(
            f"the device computes for {measured.words}, but its products take {duration(facts.steps.per_step(above))} "
            f"{facts.steps.a_unit} longer than on their rooflines"
        )
    return None


def _unjudged_rate(facts: Facts, measured: Measured) -> float | None:
    """Mean FLOP/s of the products where shapes tell that of most, and no peak tells whether it is much; else None."""
    if device_peaks(facts)[1] is not None:
        return None
    known = [
        (one.device_ns, one.calls * one.work.needed)
        for one in operators(facts).rows
        if one.op in PRODUCTS and isinstance(one.work, Work) and one.work.flops
    ]
    spent = sum(ns for ns, _ in known)
    if spent <= _MOST * measured.matrix_ratio * measured.computing_ns:
        return None
    return sum(flops for _, flops in known) / spent * 1e9


def _beside(matrix: float) -> str:
    """How much of the computing is something else, where that is a good part: it may be work that a program can do without."""
    return f" The other {share(1 - matrix)} is kernels around it." if 1 - matrix >= WORTH_NAMING else ""


def _left(facts: Facts) -> str:
    """What operators of known work could still give; empty where none is known."""
    above = _above_ns(facts)
    if not above:
        return ""
    return f" On their rooflines the products would take {duration(facts.steps.per_step(above))} a step less."


def _above_ns(facts: Facts) -> float:
    return sum(one.above_ns for one in shortfalls(facts))


def _narrow(facts: Facts) -> bool:
    """Whether most of the matrix work has numbers of 8 bits or fewer already, or weights of so few."""
    found = facts.kernels.named
    matrix = found.is_family("gemm", "gemv")
    return found.time_ns(matrix & found.narrow) > _MOST * found.time_ns(matrix)


def _fix(facts: Facts) -> tuple[Advice, ...]:
    full = memory_limits_the_batch(facts)
    frozen = (facts.kernels.without_gradients & facts.time.waterfall.owned("compute")).total_ns
    return (
        *((_KEPT,) if facts.steps.ratio(frozen) >= WORTH_NAMING else ()),
        Advice("text", "Less work: a smaller or pruned model, shorter sequences, fewer or better-chosen samples."),
        *(() if facts.kernels.matrix_work.eight_bits_ratio >= _MOST or _narrow(facts) else (_QUANTIZED,)),
        *_more(facts),
        # Accumulating saves memory, not compute: worth a word only where the batch is known to be short of memory.
        *((accumulate_gradients(facts),) if full is not None else ()),
    )


def _more(facts: Facts) -> tuple[Advice, ...]:
    """More devices: those that the process sees and does not work on first. Ranks of a job see those of the others."""
    cards = len(facts.device.cards)
    working = sum(facts.steps.ratio((one.busy & facts.steps.window).total_ns) >= _WORKS for one in facts.device.all)
    alone = facts.recording.world_size is None and not facts.communication.collectives.kernels
    if not alone or cards <= working or not working:
        return (Advice("text", "More or faster devices."),)
    seen = f"This process sees {cards} devices and works on {working}: where no other process uses the rest."
    return by_purpose(
        facts,
        (Advice("text", "A copy of the model on each device, for a part of the requests.", seen),),
        (Advice("text", f"`torchrun --nproc_per_node={cards}` and `DistributedDataParallel`: all train.", seen),),
    )


_QUANTIZED = Advice(
    "text",
    "Quantization to FP8 or 8 bits where the device has units for it, after checking the results.",
)


_KEPT = Advice(
    "python",
    "with torch.no_grad():                           # once, before training\n"
    "    torch.save([encoder(image) for image in images], file)",
    "A part of the layers runs without gradients, as a frozen encoder, a teacher or a reference model does. Where its inputs are "
    "the same in every epoch and its weights stay, keep what it gives. Not with random augmentation, nor an average of weights.",
)


RULE = Rule(META, check, __doc__)
