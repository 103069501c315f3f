"""GR004 graph-candidate: every step launches the same kernels one by one, and the device waits for each.

## What it finds
Launch-bound training whose steps repeat the same sequence of kernels and hold nothing that a CUDA graph forbids.

## Why it costs time
Each launch costs the host several microseconds of Python, operator and driver; a kernel that is shorter leaves the device
waiting. A graph records the sequence once and starts all of it with one call.

## How it is measured
The median launch lead is that of a starved device (below 10 us on CUDA, 25 us on ROCm, at least 15 % idle); the names of the
kernels, in the order of their launches, are equal in at least `min_equal_ratio` of the used steps; and the steps hold no copy
to the host, no synchronisation, no allocation, no second device, no op that works on the host for milliseconds and most of the idle
time, and no graph yet. Collectives of NCCL can be part of a graph; of other libraries' kernels, and of parameters that are gathered
and freed in each step (FSDP, ZeRO), no document says so, and the rule abstains, but for engines that capture graphs themselves.
Launching owns the device-idle time of the causes `launch`, `framework` and `optimizer`, and of `python` the stretches up to 0.5
ms, as between two launches of a model. A replayed graph also takes away the wait from each launch to its work on an idle device:
that is what is likely, but for loops over tensors behind the backward pass, which only a capture of the whole step holds. The
bound counts the short gaps between queued kernels and all Python between the first and the last launch of a step as well: of a
step captured whole nothing runs on the host again. Waits for an event, for another device or for something the trace does not show
stay in the graph, and are in neither.

## Example
Slow:

```python
model = torch.compile(model)
```

Faster:

```python
model = torch.compile(model, mode="reduce-overhead")
```

## Fix
1. `torch.compile(model, mode="reduce-overhead")` captures graphs by itself.
2. By hand: `torch.cuda.make_graphed_callables(model, (example,))`, or `torch.cuda.graph` around the whole step
   (optimizers of the kind of Adam with `capturable=True`, a learning rate that changes as a tensor).
3. With DistributedDataParallel: graph the model before it is wrapped, and gradients are reduced outside the graphs; or capture the
   whole step with its collectives, from NCCL 2.9.6 and CUDA 11.3 on. That takes `TORCH_NCCL_ASYNC_ERROR_HANDLING=0` before
   `init_process_group`, DDP made on a side stream, 11 steps before the capture, one GPU a process, and all ranks alike.

## Expected gain
At most the idle time that launching owns, the waits from each launch to its work, and the Python between the launches of a step.
ID001 counts some of the same time.

## When it is wrong
Shapes that change, control flow on values and random CPU work cannot be captured. A graph keeps its memory. With collectives the
confidence is low: a rank that launches faster may only wait for the others.

## Thresholds
- `min_equal_ratio`: share of the used steps with the same sequence of kernels.
- `min_ratio`: share of the used steps that launching must own.

## References
- https://pytorch.org/blog/accelerating-pytorch-with-cuda-graphs/
- https://docs.pytorch.org/docs/stable/notes/cuda.html#usage-with-distributeddataparallel
- https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/cudagraph.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.device.launches import BLOCKING_RATIO
from analyzer.facts.model.repetition import Repetition
from analyzer.finding import (
    Advice,
    Column,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Table,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, listed, share
from rules.changes import CUDA_GRAPHS, capture_by_hand, capture_with_collectives, replay_as_graph
from traces.trace import Capability

META = RuleMeta(
    code="GR004",
    name="graph-candidate",
    family="graph",
    title="Steps that a CUDA graph could replay",
    binds=("launch",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES, Capability.HOST_OPS}),
    thresholds=(
        Threshold(
            "min_equal_ratio",
            0.5,
            "ratio",
            "a loop that repeats itself does so in most steps; one odd step is no obstacle",
        ),
        Threshold(
            "min_ratio", 0.15, "ratio", "as for launch-bound runs: below, capturing is not worth its restrictions"
        ),
    ),
    references=(
        "https://pytorch.org/blog/accelerating-pytorch-with-cuda-graphs/",
        "https://docs.pytorch.org/docs/stable/notes/cuda.html#usage-with-distributeddataparallel",
        "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/usage/cudagraph.html",
    ),
)


# Fewer launches say nothing about a setting of the process (SY005).
_MIN_LAUNCHES = 20
_WITH_OTHERS = (
    "Collectives are captured and replayed on all ranks alike. This rank may then wait for others instead of launching."
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a launch-bound loop repeats itself and nothing in it keeps it from being captured."""
    outcome = _cannot_be_told(facts)
    if outcome is not None:
        yield outcome
        return
    found, idle = facts.model.repetition, facts.model.replayable
    claims = idle.claims
    ratio = facts.steps.ratio(claims.total_ns)
    outcome = _nothing_to_capture(facts, limits, found, claims)
    if outcome is not None:
        yield outcome
        return
    yield Finding(
        why=f"{share(found.equal_ratio)} of the steps launch the same {found.kernels} kernels one by one; the GPU waits for "
        f"launches for {duration(facts.steps.per_step(claims.total_ns))} of {facts.steps.each} ({share(ratio)}).",
        saving=Saving(
            claims=idle.removable,
            usual_claims=idle.replayed - _loops_behind(facts),
            behind=facts.sync.behind(facts.host.dispatching),
            basis="idle time that launching owns, from each launch to its work, and Python from the first to the last launch of a "
            "step; one call would start all kernels of it",
        ),
        fix=_fix(facts),
        verify="Record again: one launch of a graph instead of hundreds of launches of kernels, and a busier GPU.",
        title="Steps that a HIP graph could replay" if facts.device.kind == "rocm" else None,
        steps_seen=facts.steps.count_with(claims),
        confidence=Confidence.LOW if found.collectives else Confidence.MEDIUM,
        evidence=(
            Table(
                "what capturing needs",
                (Column("per used step", "text"), Column("found", "count")),
                (
                    ("kernels", found.kernels),
                    ("copies to the host", found.copies_out),
                    ("synchronisations", found.syncs),
                    ("allocator calls", found.allocations),
                    ("collective kernels", round(found.collectives / facts.steps.count)),
                ),
            ),
        ),
        caveats=("Shapes of the next epochs (a last, smaller batch) are not in this trace: use drop_last=True.",)
        + ((_WITH_OTHERS,) if found.collectives else ()),
    )


def _cannot_be_told(facts: Facts) -> Outcome | None:
    """Why it is not known whether launches are waited for, or whether steps repeat themselves; None where both are."""
    if facts.time.clocks_apart:
        return cannot_tell(
            f"the clocks of host and device differ by {duration(facts.time.skew_ns)} or more (PG008), too much beside the gaps"
        )
    blocking = facts.time.blocking_launches
    if blocking.ratio >= BLOCKING_RATIO:
        if blocking.launches < _MIN_LAUNCHES:
            few = f"{count(blocking.launches, 'launch', 'launches')} of single kernels in the used steps"
            return cannot_tell(f"{few}: too few to tell what the device waits for")
        return cannot_tell("launches wait for their kernels (SY005): record again without CUDA_LAUNCH_BLOCKING")
    if not facts.time.launch_bound:
        return not_applicable("the device does not wait for launches")
    if facts.steps.count < 2:
        return cannot_tell("whether steps repeat themselves: record at least two")
    return None


def _nothing_to_capture(facts: Facts, limits: Limits, found: Repetition, claims: IntervalSet) -> Outcome | None:
    """What keeps the steps from being captured, or how little that would give; None where a graph is worth its restrictions."""
    unsaid = _unsaid(facts, found)
    if unsaid:
        return cannot_tell(unsaid)
    obstacle = _obstacle(found) or _own_work(facts, claims) or _updating(facts, claims) or _behind(facts, claims)
    if obstacle:
        return clear(obstacle)
    ratio = facts.steps.ratio(claims.total_ns)
    if found.equal_ratio < limits["min_equal_ratio"] or ratio < limits["min_ratio"]:
        return clear(
            f"{share(found.equal_ratio)} of the steps launch the same kernels; launching owns {share(ratio)} of them"
        )
    return None


def _obstacle(found: Repetition) -> str:
    """Why a graph cannot be captured as the steps are; empty where nothing is in the way."""
    if found.graphs:
        return "steps are replayed from graphs already"
    hindrances = [
        (found.copies_out, "copy results to the host"),
        (found.syncs, "wait for the device"),
        (found.allocations, "allocate device memory"),
        (found.devices > 1, "drive several devices"),
    ]
    present = [text for number, text in hindrances if number]
    return f"launch-bound, but the steps {' and '.join(present)}, which cannot be captured" if present else ""


def _unsaid(facts: Facts, found: Repetition) -> str:
    """Why it is not known whether these collectives can be captured; empty where it is known, or where there are none.

    What is known: PyTorch's notes on CUDA, "Usage with DistributedDataParallel", and NCCL's guide, "Using NCCL with CUDA Graphs".
    """
    if not found.collectives or facts.recording.serving_engine is not None:
        return ""
    doubt = "launch-bound, but whether a graph can hold these steps is not known: they "
    if found.other_collectives:
        return f"{doubt}communicate by `{found.other_collectives[0]}`, and only of NCCL's collectives it is documented"
    if facts.device.kind != "cuda":
        return f"{doubt}communicate, and only of NCCL's collectives it is documented, not of those of this device"
    if facts.communication.collectives.sharded:
        return f"{doubt}gather sharded parameters into memory that is freed again, and a graph needs fixed places"
    return ""


def _own_work(facts: Facts, claims: IntervalSet) -> str:
    """The ops that work on the host for most of the time, where there are any: a replay would leave them out."""
    owner = facts.host.dispatch_owner(claims)
    if owner is None or not owner.works:
        return ""
    inside = listed([f"`{op.name}` for {share(op.part)}" for op in owner.at_work])
    return f"the host works inside {inside} of the idle time, which no graph can hold"


def _updating(facts: Facts, claims: IntervalSet) -> str:
    """Whether most of the time lies in an optimizer's step, which a graph of the model leaves as it is; empty elsewhere."""
    work = facts.model.optimizing
    inside = (claims & work.step_time).total_ns
    if 2 * inside <= claims.total_ns:
        return ""
    return (
        f"{share(inside / claims.total_ns)} of that idle time lies inside `{work.class_name}.step`, which a graph of the model "
        "leaves as it is"
    )


def _loops_behind(facts: Facts) -> IntervalSet:
    """Loops over tensors behind the backward pass, as of averaged weights."""
    return IntervalSet.union(loop.spans for loop in facts.loops.found if loop.over_list) & facts.model.behind_passes


def _behind(facts: Facts, claims: IntervalSet) -> str:
    """Whether most of the time lies in loops over tensors behind the backward pass, as of averaged weights; empty elsewhere."""
    inside = (claims & (_loops_behind(facts) | facts.model.optimizing.step_time)).total_ns
    if 2 * inside <= claims.total_ns:
        return ""
    return (
        f"{share(inside / claims.total_ns)} of that idle time lies in loops over tensors behind the backward pass, which a graph "
        "of the model leaves as it is"
    )


def _fix(facts: Facts) -> tuple[Advice, ...]:
    first, by_hand = replay_as_graph(facts), capture_by_hand(facts)
    if facts.recording.serving_engine is not None:
        return (first,)
    known = facts.device.kind in CUDA_GRAPHS and facts.communication.collectives.kernels
    whole = (capture_with_collectives(facts),) if known else ()
    return (first, *whole) if first == by_hand else (first, by_hand, *whole)


RULE = Rule(META, check, __doc__)
