"""KE013 set-memory: the device spends its time setting memory to a value.

## What it finds
Fills and memsets that the program asks for, by `torch.zeros`, `torch.full`, `zero_` and their kin; for gradients of slices; or for
each empty tensor, as deterministic mode does. They take at least 10 % of the device's computing time, or the device waits while
the host launches them.

## Why it costs time
Each fill writes the whole tensor once and computes nothing. The gradient of a slice is as large as what was sliced, zeros but for
the slice: a loop over `n` slices writes and adds up `n` such tensors.

## How it is measured
Time in which the device sets memory, by the driver's own memsets or by torch's kernel for fills, over its computing time in the
used steps; by the outermost op, of the backward pass the node, that asks for most of it. Gradients that `zero_grad` fills are for
OP003. Memory that an op of a library sets for its own work is left out: nobody can take that away. What the device idles for in
calls of that op, while the host dispatches, counts as well: a tensor that nobody fills launches nothing. Unit: nanoseconds.

## Example
Slow:

```python
for batch in loader:
    buffer = torch.zeros(shape, device=device)
    render(batch, out=buffer)
```

Faster:

```python
buffer = torch.empty(shape, device=device)  # once; every value is written below
for batch in loader:
    render(batch, out=buffer)
```

## Fix
1. `torch.empty` where every value is written before it is read; a buffer made once where it is not.
2. `unbind`, `split` or `chunk` once instead of slicing in a loop: one gradient for all of them.
3. Deterministic mode: `torch.utils.deterministic.fill_uninitialized_memory = False`.

## Expected gain
At most the time of these fills, and what the device idles for in their calls. What adds up into a buffer needs it zeroed.

## When it is wrong
Sums into a buffer (`index_add_`, `scatter_add_`) start from zeros, and need them anew for each step.

## Thresholds
- `min_ratio`: share of the device's computing time from which the rule fires.
- `min_step_ratio`: share of the step that it must take besides.
- `min_idle_ratio`: share of the step for which the device idles in the calls, from which the rule fires as well.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.empty.html
- Gradients of slices: issue 9701 of pytorch
- https://docs.pytorch.org/docs/stable/deterministic.html
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.facts.kernels.set_memory import SetMemory
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.along import with_its_work
from rules.evidence import kernel_saving
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="KE013",
    name="set-memory",
    family="kernels",
    title="Memory is set to a value",
    needs=frozenset({Capability.DEVICE, Capability.HOST_OPS, Capability.LAUNCHES}),
    before=("ID001",),
    topics=frozenset({"set_memory"}),
    thresholds=(
        Threshold("min_ratio", 0.1, "ratio", "from there on the verdict names it"),
        Threshold("min_step_ratio", 0.02, "ratio", "below, any rule would call it low"),
        Threshold("min_idle_ratio", 0.05, "ratio", "a few fills are launched in any program that waits for launches"),
    ),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.empty.html",
        "https://docs.pytorch.org/docs/stable/deterministic.html",
    ),
)

_MOST = 0.5
# Kernels that add up in a buffer, and from which part of the busy time on that is what buffers are zeroed for.
_ADDS_UP = Pattern(r"[Ss]catter|index_add|indexFuncLarge|indexFuncSmall|indexing_backward|atomic|segment_reduce")
_IS_SOME = 0.02
_NAME_LENGTH = 60
# What the program makes, or sets, by itself.
_MADE = Pattern(r"aten::(?:(?:new_)?(?:zeros|ones|full)(?:_like)?|zero_?|fill_?|_foreach_zero_)$")
# What only deterministic mode fills (ATen: `fill_empty_deterministic_`).
_EMPTY = Pattern(r"aten::(?:new_)?empty(?:_like|_strided)?$|aten::resize_$")
# Gradients as large as what a part was taken of.
_OF_PARTS = Pattern(r"^(?:Slice|Select|AsStrided|Unfold|Narrow)Backward\d*$")
_FIXES = (
    (
        _MADE,
        Advice(
            "diff",
            " for batch in loader:\n-    buffer = torch.zeros(shape, device=device)\n"
            "+    buffer = torch.empty(shape, device=device)   # or made once, in front of the loop",
            "Where every value is written before it is read, nothing need be filled. What sums are added up in has to be zeroed: "
            "there a smaller buffer, or fewer of them.",
        ),
    ),
    (
        _EMPTY,
        Advice(
            "python",
            "torch.utils.deterministic.fill_uninitialized_memory = False",
            "Deterministic mode (`torch.use_deterministic_algorithms(True)`) fills each new tensor, so that what is read unwritten "
            "is always the same. Results stay deterministic without it where the program reads nothing that it has not written.",
        ),
    ),
    (
        _OF_PARTS,
        Advice(
            "diff",
            "-for i in range(x.shape[1]):\n-    step(x[:, i])\n+for part in x.unbind(1):\n+    step(part)",
            "The gradient of a slice is as large as what was sliced, zeros but for the slice, and all of them are added up. "
            "`unbind`, `split` and `chunk` put the gradients of all parts together once.",
        ),
    ),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where fills that the program asks for take `min_ratio` of the device's computing time."""
    computing = facts.time.waterfall.owned("compute").total_ns
    found = facts.kernels.set_memory
    if not computing or not found.time:
        yield not_applicable("the device sets no memory in the used steps")
        return
    ratio, of_step = found.time.total_ns / computing, facts.steps.ratio(found.time.total_ns)
    idle = _idle(facts, found)
    waits = facts.steps.ratio(idle.total_ns)
    if (ratio < limits["min_ratio"] or of_step < limits["min_step_ratio"]) and waits < limits["min_idle_ratio"]:
        yield clear(
            f"setting memory takes {share(ratio)} of the device's computing time and {share(of_step)} of the step, below "
            f"{share(limits['min_ratio'])} or {share(limits['min_step_ratio'])}; the device idles in its calls for {share(waits)}"
        )
        return
    if facts.model.optimizing.fill_kernel_ns > _MOST * found.time.total_ns:
        yield not_applicable("most of the memory that is set are gradients (OP003)")
        return
    fix = next((advice for pattern, advice in _FIXES if pattern.search(found.asker)), None)
    if fix is None:
        asked = (
            f"by `{found.asker[:_NAME_LENGTH]}`, for its own work"
            if found.asker
            else "by several ops, or outside of ops"
        )
        yield clear(f"setting memory takes {share(ratio)} of the device's computing time, most of it {asked}")
        return
    yield _finding(facts, found, ratio, fix, idle)


def _idle(facts: Facts, found: SetMemory) -> IntervalSet:
    """What the device idles for while the host dispatches these fills; start-up work, which is not repeated, is left out."""
    dispatch = facts.time.device_waits.starting | facts.time.waterfall.owned("launch", "framework")
    return (dispatch - facts.health.warmup[0]) & found.asking


def _finding(facts: Facts, found: SetMemory, ratio: float, fix: Advice, idle: IntervalSet) -> Finding:
    saving = kernel_saving(
        facts, found.time.total_ns, "time in which memory is set to a value", of=((found.kernels, 1.0),)
    )
    if _OF_PARTS.search(found.asker):
        saving = _with_sums(facts, found, saving)
    return Finding(
        why=(
            f"Setting memory to a value takes {duration(facts.steps.per_step(found.time.total_ns))} of {facts.steps.each}, "
            f"{share(ratio)} of the time in which the device computes: {facts.steps.per_step(found.calls):,.0f} times "
            f"{facts.steps.a_unit}, most of it for `{found.asker[:_NAME_LENGTH]}`."
            + (
                f" While the host launches these, the device idles for {duration(facts.steps.per_step(idle.total_ns))} "
                f"({share(facts.steps.ratio(idle.total_ns))})."
                if idle
                else ""
            )
        ),
        saving=msgspec.structs.replace(
            saving, claims=idle, basis=f"what the device idles for in calls that set memory; {saving.basis}"
        )
        if idle
        else saving,
        fix=(fix,),
        verify="Record again: fewer fills and memsets, and a shorter step.",
        steps_seen=facts.steps.count_with(found.time),
        confidence=Confidence.LOW if _adds_up(facts) else Confidence.MEDIUM,
        caveats=("What is added up in a buffer needs it zeroed: of that nothing can go.",),
    )


def _with_sums(facts: Facts, found: SetMemory, saving: Saving) -> Saving:
    """With what gradients of parts cost beside: each is written into its zeros, and all of them are added up, in full size."""
    work = facts.time.launched_in(found.summed)
    behind = facts.sync.behind(found.summed) | (work.extent & facts.time.idle)
    return with_its_work(saving, work, behind, "what writes the parts and adds them up")


def _adds_up(facts: Facts) -> bool:
    """Whether kernels add up in buffers, which have to be zeroed."""
    found = facts.kernels.named
    return found.busy_ratio(found.like(_ADDS_UP)) >= _IS_SOME


RULE = Rule(META, check, __doc__)
