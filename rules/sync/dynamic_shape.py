"""SY004 data-dependent-shape: an op whose result's size depends on values on the device makes the host wait for them.

## What it finds
`nonzero`, boolean masks as an index, `masked_select`, `unique`, `repeat_interleave` and `bincount` on the device, where it then
runs dry.

## Why it costs time
To allocate the result the host must know its size, and only the device can count. So each call waits for everything queued before
it, and the device idles until the host has launched work again.

## How it is measured
`|sync owned by these ops| / |used steps|`: the part of the cause `sync` inside blocking calls below these ops and after them until
the next kernel while the host catches up; per call never more than the call lasted. Unit: nanoseconds, shown as a share of the
step.

## Example
Slow:

```python
loss = losses[mask].mean()
```

Faster:

```python
loss = (losses * mask).sum() / mask.sum().clamp(min=1)
```

## Fix
1. Multiply by the mask, or `torch.where(mask, x, 0)`, instead of selecting by it.
2. `torch.nonzero_static(x, size=...)`, `repeat_interleave(..., output_size=...)` on known sizes. `bincount` reads its largest value
   whatever `minlength` says: count with `torch.zeros(n, device=...).index_add_(0, group, ones)`. `unique` of whole numbers below
   a known `n`: mark those that come.
3. Keep lengths and masks that come from the loader on the CPU as well, and compute sizes there.

## Expected gain
At most the device's idle time from the ops' waits on, never more than the ops' waits lasted, up to the next call that waits for
another reason: without the wait the host does meanwhile what it did late. Likely is what the ops' waits own by themselves.
Waits of several kinds in a row (a value, a copy, a size, `synchronize()`) empty the queue each by itself: they are told together,
by the rule of those that the host waits longest for.

## When it is wrong
What the host does behind the calls may be another wait, as for data that is made too slowly: then they cost nothing. Without stacks
that is not seen where it lies outside any op, and confidence is medium.
On CPU tensors these ops wait for nothing; they have no blocking call below and are not counted. `index` with integer tensors does
not wait either. Work on padded data may cost more than the wait where most of it is masked out.

## Thresholds
- `min_ratio`: share of the used steps, as idle time inside the calls and until the next kernel, from which the rule fires.
- `behind_ratio`: the same of idle time behind them in which the host does what it would have done while it waited; fires too.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html
- https://docs.pytorch.org/docs/stable/generated/torch.repeat_interleave.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import share
from rules.experts import AT_ONCE
from rules.sync.judging import (
    BEHIND_RATIO,
    MIN_RATIO,
    beside_work,
    finding,
    fires,
    with_others,
)
from traces.trace import Capability

META = RuleMeta(
    code="SY004",
    name="data-dependent-shape",
    family="sync",
    title="Result sizes only the device knows",
    binds=("sync",),
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(MIN_RATIO, BEHIND_RATIO),
    explains=("ID002",),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nonzero.html",),
)

_MASKED = Advice(
    "diff",
    "-    loss = losses[mask].mean()\n+    loss = (losses * mask).sum() / mask.sum().clamp(min=1)",
    "Multiply by the mask instead of selecting by it: the shape stays known. Where what is masked out may be infinite or NaN, "
    "`torch.where(mask, losses, 0)` in place of the product.",
)
_MASKED_RUN = Advice(
    "diff",
    "-    x[mask] = y[mask]\n-    z = values[keep]\n+    x = torch.where(mask, y, x)\n+    z = torch.where(keep, values, 0)",
    "Write by the mask instead of selecting by it: the shape stays known. Indexing with a mask waits for its count; only "
    "`x[mask] = number` does not, which torch fills in place.",
)
_FIXES = {
    "repeat_interleave": Advice(
        "diff",
        "-    x = torch.repeat_interleave(x, lengths)\n+    x = torch.repeat_interleave(x, lengths, output_size=total)",
        "`total` is the sum of the lengths, known where the batch was made.",
    ),
    "unique": Advice(
        "diff",
        "-    found, place = torch.unique(ids, return_inverse=True)\n"
        "+    seen = torch.zeros(n, dtype=torch.bool, device=ids.device).index_fill_(0, ids, True)\n"
        "+    place = (seen.cumsum(0) - 1)[ids]",
        "Where they are whole numbers from 0 to a known `n`: `seen` marks those that come, and no size is asked for. What depends "
        "on the inputs alone, as voxels and neighbours do, is found once where they are made, not in each layer.",
    ),
    "nonzero": Advice(
        "diff",
        "-    index = torch.nonzero(x)\n+    index = torch.nonzero_static(x, size=limit)",
        "Where an upper limit is known; missing entries are filled with -1.",
    ),
    "bincount": Advice(
        "diff",
        "-    counts = torch.bincount(group, minlength=n)\n"
        "+    counts = torch.zeros(n, device=group.device).index_add_(0, group, torch.ones_like(group, dtype=torch.float32))",
        "`bincount` reads the largest value on the host, whatever `minlength` says. Exact up to 16 million of a kind.",
    ),
}


# Of these no mask tells what is selected.
_WITHOUT_MASK = ("bincount", "repeat_interleave", "unique")


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when ops with data-dependent shapes own `min_ratio` of the used steps, or leave `behind_ratio` idle behind."""
    calls = facts.sync.waits.of("shape")
    if not len(calls):
        yield not_applicable("no op in the used steps waits for the size of its result")
        return
    ratio = facts.steps.ratio(facts.sync.waits.owned("shape").total_ns)
    also = with_others(facts, "shape", limits["behind_ratio"])
    if not also and not fires(facts, "shape", limits["min_ratio"], limits["behind_ratio"]):
        yield clear(
            f"ops with data-dependent shapes own {share(ratio)} of the step, below {share(limits['min_ratio'])}"
            f"{beside_work(facts, 'shape')}"
        )
        return
    name = calls.costliest_op
    special = tuple(advice for key, advice in _FIXES.items() if key in name)
    if any(loop.calls_experts for loop in facts.loops.found):
        special = AT_ONCE + special
    # What nothing selects by a mask is not to be multiplied by one.
    fix = special if special and _alone(calls) else (*special, _MASKED_RUN if facts.model.infers else _MASKED)
    yield finding(
        facts,
        calls,
        "shape",
        f"the size of the result of `{name}` depends on values on the device",
        fix,
        "Record again: no device-to-host copy below these ops; the share of SY004 should fall below 2 %.",
        also=also,
    )


def _alone(calls: WaitingCalls) -> bool:
    """Whether all the ops that wait are of kinds with fixes of their own, of which none selects by a mask."""
    return all(any(key in op for key in _WITHOUT_MASK) for op in set(calls.frame["op"]))


RULE = Rule(META, check, __doc__)
