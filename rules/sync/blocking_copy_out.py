"""SY002 blocking-copy-out: copying tensors from the device to the host stops the host until the device is done.

## What it finds
`.cpu()`, `.numpy()`, `.tolist()`, `.to("cpu")` of tensors inside the step, into memory that is not pinned.

## Why it costs time
A copy into pageable memory returns only when the device has finished everything before it. The copy itself takes microseconds; the
wait takes as long as the device's queue is, and afterwards the queue is empty.

## How it is measured
`|sync owned by device-to-host copies| / |used steps|`: the part of the cause `sync` inside calls that copy more than 64 bytes to
the host (and the synchronisation beside them), and after them until the next kernel while the host catches up; per copy never more
than the call lasted; and the time in which the device does nothing but these copies. Copies into pinned memory that nothing waits
for do not count. Behind short copies, that idle time counts in which the host launches its next work. Unit: nanoseconds, shown as a
share of the step.

## Example
Slow:

```python
for batch, target in loader:
    out = model(batch)
    history.append(out.detach().cpu())
```

Faster:

```python
history = torch.empty(len(loader), *shape, device=device)
for index, (batch, target) in enumerate(loader):
    out = model(batch)
    history[index] = out.detach()
history = history.cpu()
```

## Fix
Where an op of a library copies, the finding names it; where ranks send what is copied, as objects or by gloo, that is what to
change. Activations that the backward pass asks back (`save_on_cpu`): from pinned
memory, or computed again. Else:

1. Keep metrics and outputs on the device; copy once every N steps, or at the end.
2. Copy into pinned memory with `non_blocking=True` and look at it later, after an event; where the copies take long, on a stream of
   their own: on that of the kernels the next ones wait for them.

## Expected gain
At most the device's idle time from the copies on, never more than the copies lasted, up to the next call that waits for another
reason: without the wait the host does meanwhile what it did late; and the copies themselves, where nothing is computed beside
them. Likely is what the copies own by themselves. On one A100
trace 30 such copies took 80 us of device time and blocked the host for 758 of 1074 ms: 43 % of the step.
Waits of several kinds in a row (a value, a copy, a size, `synchronize()`) empty the queue each by itself: they are told together,
by the rule of those that the host waits longest for.

## When it is wrong
A copy at the very end of a step costs only if the next step's launches come late. ROCm does not tell pinned from pageable memory:
there an asynchronous copy may be counted for the time its call took. What is copied may decide what is launched next: then it is
needed as early. In programs that only run their model answers have to be copied: only what the copies own counts there.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.
- `behind_ratio`: the same of idle time behind them in which the host launches its next work; fires too.

## References
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
- NVIDIA Nsight Systems, expert rule `cuda_api_sync`
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration, share, size
from rules.sync import copied_to_send
from rules.sync.judging import (
    BEHIND_RATIO,
    MIN_RATIO,
    beside_work,
    finding,
    idle_behind,
    with_others,
)
from rules.sync.read_fixes import later
from rules.transfer.kept_weights import keep_on_device
from traces.trace import Capability

META = RuleMeta(
    code="SY002",
    name="blocking-copy-out",
    family="sync",
    title="The host waits for a copy to it",
    binds=("sync", "copy"),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(MIN_RATIO, BEHIND_RATIO),
    explains=("ID002",),
    references=("https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",),
)


_MOST = 0.5
_LENGTHS = Advice(
    "diff",
    " for x, lengths in loader:\n-    x, lengths = x.to(device), lengths.to(device)\n"
    "-    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True)\n+    x = x.to(device)\n"
    "+    packed = pack_padded_sequence(x, lengths, batch_first=True)   # as the loader gave them",
    "What is copied are lengths that `pack_padded_sequence` takes on the host: leave them there. Where the model counts them "
    "itself, count them in `collate_fn`.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when copies to the host own at least `min_ratio` of the used steps, or leave `behind_ratio` idle behind."""
    calls = facts.sync.waits.of("copy_out")
    if not len(calls):
        yield not_applicable("no blocking copy from the device to the host in the used steps")
        return
    # Gradients for an optimizer on the CPU are no output, but OP005's; and what is saved in some steps is ID003's.
    state = facts.transfer.state_steps(facts.time.pauses.isolated)
    copied = facts.sync.waits.copied("copy_out", outside=facts.model.optimizing.step_time | state)
    idle = facts.sync.waits.owned("copy_out")
    ratio = facts.steps.ratio((idle | copied).total_ns)
    returns = facts.transfer.there_and_back or facts.transfer.activations_saved
    also = with_others(facts, "copy_out", limits["behind_ratio"])
    if ratio < limits["min_ratio"] and not also and not _leaves(facts, state, returns=bool(returns), limits=limits):
        yield clear(
            f"copies to the host own {share(ratio)} of the step, below {share(limits['min_ratio'])}{beside_work(facts, 'copy_out')}"
        )
        return
    device = duration(facts.steps.per_step(calls.device_ns))
    inside = copied_to_send.where(facts, calls) or (f" inside `{calls.asker}`" if calls.asker else "")
    back = ", as much as is sent to it, in tensors of the same sizes" if returns else ""
    fix = copied_to_send.remedies(facts, calls) or _remedies(
        facts, calls, returns=bool(returns), aside=copied.total_ns > idle.total_ns
    )
    yield finding(
        facts,
        calls,
        "copy_out",
        f"copying {size(facts.steps.per_step(calls.bytes))} a step from the device to the host"
        f"{inside}{back}; the copies themselves take {device}",
        fix,
        "Record again: fewer `Memcpy DtoH` a step; the share of SY002 should fall below 2 %.",
        copied=copied if ratio >= limits["min_ratio"] and not also else EMPTY,
        also=also,
    )


def _remedies(facts: Facts, calls: WaitingCalls, *, returns: bool, aside: bool) -> tuple[Advice, ...]:
    """What to do about copies that no rank sends: by who asks for them, and by what becomes of them."""
    if calls.asker:
        return _fix_inside(calls.asker)
    if returns:
        return keep_on_device(facts)
    if facts.sync.followed_by(calls, "aten::_pack_padded_sequence") > _MOST:
        return (_LENGTHS,)
    return _fix(facts, aside=aside)


def _leaves(facts: Facts, state: IntervalSet, *, returns: bool, limits: Limits) -> bool:
    """Whether the copies themselves are short, and leave enough idle time behind that the host could have filled.

    What is offloaded, or goes to an update on the host, has to be there, as answers have; what is saved in some steps is ID003's.
    """
    if returns or state or facts.model.optimizing.on_host or facts.model.infers:
        return False
    return facts.steps.ratio(idle_behind(facts, "copy_out").total_ns) >= limits["behind_ratio"]


def _fix_inside(op: str) -> tuple[Advice, ...]:
    return (
        Advice(
            "text",
            f"`{op}` copies by itself: give it less to work on, call it less often (one call for a whole batch), or take an "
            "implementation of it that stays on the device.",
            "Newer versions of a library often have one: look before writing your own.",
        ),
    )


def _fix(facts: Facts, *, aside: bool) -> tuple[Advice, ...]:
    """What to do about copies that the program itself asks for.

    Args:
        facts: The measurements.
        aside: Whether the copies take longer than the device idles for them.
    """
    stream = " on a stream of its own" if aside else ""
    return (
        Advice(
            "diff",
            "-    outputs.append(out.detach().cpu())\n+    outputs.append(out.detach())         # stays on the device\n"
            "...\n+outputs = torch.cat(outputs).cpu()       # once, after the loop",
            "Copy once instead of every step; until then it takes the device's memory. Keep only what is used: a mean instead of "
            "all values. What NumPy is asked for, torch mostly does on the device (`nonzero`, `topk`, `unique`).",
        ),
        later(
            facts,
            "out",
            f"Where the values are needed every step: copy{stream} beside the next step and read one step late.",
            aside=aside,
        ),
    )


RULE = Rule(META, check, __doc__)
