"""ME001 allocation-in-steps: device memory is allocated or freed while training.

## What it finds
Calls such as `cudaMalloc`, `cudaFree` or `cudaHostAlloc` in steps after the first: the caching allocator had nothing that fits.

## Why it costs time
PyTorch keeps freed memory to hand it out again; only when that fails does it ask the driver. `cudaFree` waits for all work on the
device, and allocating pinned host memory takes milliseconds.

## How it is measured
Allocator calls of the runtime and the driver in the used steps, without the first one and without warm-up (PG002). Fires when at
least half of those steps have such calls, one per step on average, or when the calls take `min_ratio` of them. The bound is the
device-idle time inside the calls (cause `allocator`).

## Example
Slow:

```python
for batch in loader:
    train(batch)
    torch.cuda.empty_cache()
```

Faster:

```python
for batch in loader:
    train(batch)
```

## Fix
1. Remove `torch.cuda.empty_cache()` from the loop.
2. Sizes that vary from batch to batch: `PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True`, or one warm-up step with the longest
   batch.
3. Pinned buffers: allocate once and reuse them. Batches: `pin_memory=True` in the loader instead of `pin_memory()` in the loop.
4. Memory that is asked for, freed and asked for again with no launch between: the card is full. Less memory: a smaller batch,
   activations computed again.

## Expected gain
At most the device-idle time inside the calls, and behind them as much as they took beside a busy device.

## When it is wrong
Warm-up inside the window (PG002) allocates too; what no later step repeats is left out. Libraries allocate lazily the first time
an operation is used.

## Thresholds
- `min_calls`: calls per step from which the rule fires.
- `min_ratio`: share of the steps spent in such calls from which it fires as well.

## References
- https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management
- Measured: 8-34 calls in 660 ms while warming up, none in healthy steps
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.memory.allocator import Allocations
from analyzer.finding import Advice, Column, Confidence, Finding, Outcome, Saving, Table, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.changes import not_cached
from rules.data_loading import words
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="ME001",
    name="allocation-in-steps",
    family="memory",
    title="Device memory allocated in the loop",
    binds=("allocator",),
    measures=("allocator",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_calls", 1, "count", "healthy steps have none at all (measured)"),
        Threshold("min_ratio", 0.01, "ratio", "rules.md ME001: a hundredth of the window, however few the calls"),
    ),
    references=("https://docs.pytorch.org/docs/stable/notes/cuda.html",),
    outside=("allocator",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when steps after the first allocate or free device memory, habitually or at length."""
    found = facts.memory.allocations
    if not found.steps:
        yield cannot_tell("whether allocations go on after the first step: record at least two steps")
        return
    if found.started_steps * 2 > found.steps:
        yield cannot_tell(
            f"{count(found.started, 'allocator call')} of the recorded steps may be warm-up (PG002): "
            "record later, and at least three steps"
        )
        return
    number, ratio = len(found) / found.steps, found.ratio
    habitual = found.steps_seen * 2 >= found.steps and number >= limits["min_calls"]
    if not len(found) or not (habitual or ratio >= limits["min_ratio"]):
        beside = f"; {count(found.started, 'call')} of the warm-up (PG002) left out" if found.started else ""
        yield clear(f"{number:.1f} allocator calls a step, {share(ratio)} of the time{beside}")
        return
    searching = facts.kernels.searches.host
    if 2 * (found.spans & searching).total_ns > found.spans.total_ns:
        yield clear(
            f"most of the {count(len(found), 'allocator call')} are the workspaces of searches for algorithms (KE011)"
        )
        return
    idle = found.claims
    every = facts.host.threads.anywhere("allocator") if habitual else found.spans
    what = "pinned memory" if found.only_pinning else "memory of the device, or pinned memory,"
    yield Finding(
        why=f"{number:.1f} calls a step allocate or free {what} and take {share(ratio)} of it; "
        f"the GPU idles inside them for {duration(idle.total_ns / found.steps)} {facts.steps.a_unit}.{_retried(facts, found)}",
        saving=Saving(
            claims=idle,
            # What each step does the first one does as well.
            behind=facts.sync.behind(every) | (facts.time.waterfall.owned("allocator") & every),
            basis="device-idle time inside the allocator's calls",
        ),
        fix=_fix(facts, found) if found.only_pinning else (*not_cached(facts), *_fix(facts, found)),
        verify="Record again: the steps should hold no cudaMalloc, cudaFree or cudaHostAlloc.",
        steps_seen=facts.steps.count_with(found.spans),
        confidence=Confidence.HIGH if habitual else Confidence.MEDIUM,
        evidence=(_table(found),),
        title="Pinned memory allocated in the loop" if found.only_pinning else None,
    )


def _habit(found: Allocations) -> bool:
    """Whether memory is asked for again in half of the steps or more."""
    return 2 * found.retries >= found.steps


def _retried(facts: Facts, found: Allocations) -> str:
    """A sentence where memory runs out; empty where it does not."""
    if not _habit(found):
        return ""
    return (
        f" {found.retries / found.steps:.1f} times {facts.steps.a_unit} memory is asked for, some is freed and it is asked for "
        "again, as where the device has no more to give: `torch.cuda.memory_stats()['num_alloc_retries']` counts that."
    )


def _fix(facts: Facts, found: Allocations) -> tuple[Advice, ...]:
    emptied = Advice(
        "diff",
        "-torch.cuda.empty_cache()",
        "It frees what the next step allocates again; it never makes training faster.",
    )
    expandable = Advice(
        "shell",
        "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
        "Lets blocks grow where sizes vary, instead of freeing them. Or run one step with the longest batch first.",
    )
    if found.expands:
        expandable = _EXPANDS
    kept = Advice(
        "python",
        "buffer = torch.empty(shape, pin_memory=True)   # once\nbuffer.copy_(batch)",
        "Allocating pinned memory is slow: allocate once and reuse it.",
    )
    if found.pinning:
        # The allocator of the device's memory has nothing to do with that of pinned memory.
        pinned = (*_by_loader(facts, found), kept)
        return pinned if found.only_pinning else (*pinned, expandable)
    # Gathers that run ahead hold memory of another stream, which the allocator cannot give to the layers (issue 104509 of pytorch).
    ahead = (_LIMITED,) if facts.communication.collectives.fsdp else ()
    if _habit(found):
        return (*ahead, *by_purpose(facts, (_LESS_IN_A_PASS,), (_LESS_KEPT,)), expandable)
    return (*ahead, emptied, expandable) if found.empties_cache else (*ahead, expandable, emptied)


def _by_loader(facts: Facts, found: Allocations) -> tuple[Advice, ...]:
    """The loader's own pinning, where batches of one are pinned in the loop."""
    if not found.pins_tensors or not len(facts.input.wait) or facts.recording.collected.pin_memory:
        return ()
    note = (
        "Without `pin_memory()` in the loop: there each batch is copied once more while training waits. The loader's own thread "
        "does it beside training, and keeps the memory."
    )
    return (words.loader(facts, {"pin_memory": True}, note),)


_EXPANDS = Advice(
    "text",
    "Segments expand here already: what is left is to keep them. Run one step with the longest batch first, and leave room on the "
    "card for what the largest step needs, so that nothing has to be given back.",
)
_LESS_KEPT = Advice(
    "python",
    "from torch.utils.checkpoint import checkpoint\nx = checkpoint(self.block, x, use_reentrant=False)",
    "Less memory than fills the card ends it: activations computed again, or a smaller batch, gradients accumulated over several.",
)
_LESS_IN_A_PASS = Advice(
    "text",
    "Leave more of the card free: fewer or shorter inputs in one pass, a smaller cache of keys and values.",
    "What is asked for then fits, and nothing has to be freed for it.",
)
_LIMITED = Advice(
    "diff",
    "-model = FSDP(model, auto_wrap_policy=policy, limit_all_gathers=False)\n"
    "+model = FSDP(model, auto_wrap_policy=policy, limit_all_gathers=True)",
    "The default since torch 2.1. Without it the host gathers far ahead, memory runs short, and the allocator frees and retries: "
    "`torch.cuda.memory_stats()['num_alloc_retries']` counts it.",
)


def _table(found: Allocations) -> Table:
    rows = tuple((name[:60], number, total) for name, number, total in found.longest(5))
    return Table(
        "allocator calls in the used steps",
        (Column("call", "text"), Column("calls", "count"), Column("time", "ns")),
        rows,
    )


RULE = Rule(META, check, __doc__)
