"""XF007 blocking-copies: batches are pinned, and the host waits for each copy all the same.

## What it finds
Host-to-device copies from pinned memory after which the host waits for the stream.

## Why it costs time
`.to(device)` without `non_blocking=True` synchronises the stream after the copy. The copy waits for every kernel queued before
it, so the host loses all of its lead in each step, and then has to launch into an empty queue.

## How it is measured
Synchronisations inside the op that copies, matched with the last copy to the device before them. The metric is their host time
as a share of the used steps; the bound is the device-idle time they own (cause `sync`): inside the wait, and after it until
the next kernel starts.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
for images, labels in loader:
    images = images.to(device)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True)
for images, labels in loader:
    images = images.to(device, non_blocking=True)
```

## Fix
1. `non_blocking=True` in every `.to()` and `.cuda()` of a pinned batch.

## Expected gain
At most the idle time that the waits cause directly, and of the idle time after them as much as the host waited while the device
was busy: without the waits it would be that much earlier. Likely is the first part, and of the second what the host launches
anew. A device with enough queued work does not notice the waits.

## When it is wrong
A program that changes the host's tensor right after the copy needs the wait: pinned memory must stay as it is until the copy
is done.

## Thresholds
- `min_host_ratio`: share of the used steps inside the waits from which the rule fires.

## References
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import BlockedAfter, Copies
from analyzer.finding import Advice, Bar, Bars, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.transfer.late import issued_late
from rules.transfer.place import location
from traces.trace import Capability

META = RuleMeta(
    code="XF007",
    name="blocking-copies",
    family="transfer",
    title="Pinned copies still block the host",
    binds=("sync", "copy"),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_host_ratio", 0.02, "ratio", "findings below 2 % of the window are noise (rules.md, section 1)"),
    ),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",),
    outside=("non-blocking",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when waits after pinned copies hold the host for at least `min_host_ratio` of the used steps."""
    to_device = facts.transfer.copies.to_device
    pinned = to_device.of_memory("pinned")
    if not len(pinned):
        yield not_applicable("nothing is copied to the device from pinned memory in the used steps")
        return
    blocked = facts.transfer.blocked_after(pinned)
    host = facts.steps.ratio(blocked.host.total_ns)
    if host < limits["min_host_ratio"]:
        yield clear(
            f"waits after pinned copies hold the host for {share(host)} of the step, below {share(limits['min_host_ratio'])}"
        )
        return
    late = blocked.owned | issued_late(facts, blocked)
    yield Finding(
        why=f"The host waits for {count(blocked.number, 'copy', 'copies')} from pinned memory: "
        f"{duration(facts.steps.per_step(blocked.host.total_ns))} of {facts.steps.each} ({share(host)}). The device idles for "
        f"{share(facts.steps.ratio(late.total_ns))} of the step because of it.",
        saving=Saving(
            blocked.removable,
            usual_claims=late,
            basis="device-idle time in the waits, and behind them as long as the host waited beside a busy device; likely is what "
            "lies in them and until the next kernel starts, and what the host launches late behind them",
        ),
        fix=(
            Advice(
                "diff",
                "-images = images.to(device)\n+images = images.to(device, non_blocking=True)",
                "The batch is pinned already; only the wait is left to remove. Kernels that use it are ordered behind the copy.",
            ),
        ),
        verify="Record again: no cudaStreamSynchronize should follow the copies.",
        steps_seen=facts.steps.count_with(pinned.time),
        evidence=(_evidence(facts, pinned, blocked, late),),
        location=location(facts, pinned),
    )


def _evidence(facts: Facts, pinned: Copies, blocked: BlockedAfter, late: IntervalSet) -> Bars:
    return Bars(
        "mean step",
        "ns",
        (
            Bar("waiting for copies", facts.steps.per_step(blocked.host.total_ns)),
            Bar("device idle because of it", facts.steps.per_step(late.total_ns)),
            Bar("the copies themselves", facts.steps.per_step(pinned.device_ns)),
        ),
    )


RULE = Rule(META, check, __doc__)
