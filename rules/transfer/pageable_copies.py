"""XF001 pageable-copies: batches are copied to the device from memory that is not pinned.

## What it finds
Host-to-device copies of 64 KiB or more whose host memory is pageable, when their calls hold the host for 2 % of the step
or they move at least 1 MiB a step.

## Why it costs time
The device can only read pinned (page-locked) memory by itself. From pageable memory the driver first copies to a pinned
buffer of its own, piece by piece, while the calling thread waits, often behind all kernels already queued. The copy is
slower and the host launches nothing meanwhile, whatever `non_blocking=True` says.

## How it is measured
Copies named `Memcpy HtoD (Pageable -> Device)`, joined with their calls and with the synchronisation that `.to()` adds.
The metric is host time inside both as a share of the used steps. That is a cost, not the loss: the bound counts only the
device-idle time these own (causes `transfer_call` and `sync`), and of copy time beside no kernel the part a pinned copy
would save, by the bandwidth of pinned copies in the same trace, else 12, 24 or 50 GB/s for PCIe 3, 4 or 5.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=4)
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
1. `pin_memory=True` in the DataLoader and `non_blocking=True` in `.to()`; each alone changes little.
2. A batch type of your own needs a `pin_memory()` method, or the loader leaves it pageable.
3. With `num_workers=0` pinning happens in the training thread: move loading to workers first.
4. What an op computes on the host just before it is sent is no loader's batch: compute it on the device. Where it changes the
   loader's batch, with nothing launched between, send that first, and change it on the device, or in the loader's workers.
5. What a model sends in each pass from an attribute of its own, while batches are pinned, is none either: `register_buffer`.

## Expected gain
At most the idle time inside the calls plus the shorter copy; where large copies take turns with kernels, as weights do that are
kept on the host, or adapters loaded for requests, or where a model sends a tensor of its own in each pass, the copies
themselves, as they can stay on the device. Likely are these, and what the host launches late behind its waits for them. Measured
on a V100: 94 ms of host time for 20 ms of copying, and yet only 0.6 % of the step idle because of it; 4.5-5.3 % in two sister
recordings.

## When it is wrong
Calling `pin_memory()` in the training thread just before `.to()` is slower than a plain `.to()`. Pinned memory is taken
from the machine for good. Systems with coherent memory (Grace Hopper) do not need it. ROCm does not say which memory a copy
comes from: there the rule relies on `pin_memory` as recorded by `advisor collect`, else it cannot tell.

## Thresholds
- `min_host_ratio`: share of the used steps inside the calls from which the rule fires.
- `min_step_bytes`: bytes a step from pageable memory from which the rule fires as well.
- `small_bytes`: copies below are staged by the driver anyway and not counted.

## References
- Nsight Systems, rule cuda_memcpy_async
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import SMALL_BYTES, Copies
from analyzer.finding import (
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share, size
from rules.transfer.advice import pin_memory, what_is_pageable
from rules.transfer.late import issued_late
from rules.transfer.place import location
from traces.trace import Capability

META = RuleMeta(
    code="XF001",
    name="pageable-copies",
    family="transfer",
    title="Batches are sent from unpinned memory",
    binds=("copy",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_host_ratio", 0.02, "ratio", "findings below 2 % of the window are noise (rules.md, section 1)"),
        Threshold("min_step_bytes", 1024 * 1024, "bytes", "1 MiB takes 0.1 ms pageable: less is no batch of samples"),
        Threshold("small_bytes", SMALL_BYTES, "bytes", "the driver stages copies below 64 KiB whatever the memory"),
    ),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",),
    outside=("pinned", "non-blocking"),
)


_NO_COPIES = "the copies, where nothing is computed beside them"


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on pageable copies by the time of their calls or by their bytes."""
    to_device = facts.transfer.copies.to_device
    if not len(to_device):
        yield not_applicable("nothing is copied to the device in the used steps")
        return
    pageable, inferred = _pageable(facts, to_device, limits["small_bytes"])
    if pageable is None:
        yield cannot_tell("this trace does not say which copies are pinned; `advisor collect` records `pin_memory`")
        return
    blocked = facts.transfer.blocked_after(pageable)
    calls = (pageable.call_time & facts.steps.window) | blocked.host
    host, step_bytes = facts.steps.ratio(calls.total_ns), facts.steps.per_step(pageable.bytes)
    if host < limits["min_host_ratio"] and step_bytes < limits["min_step_bytes"]:
        yield clear(
            f"pageable copies hold the host for {share(host)} of the step and move {size(step_bytes)} a step, "
            f"below {share(limits['min_host_ratio'])} and {size(limits['min_step_bytes'])}"
        )
        return
    speed, source = facts.transfer.pinned_bandwidth
    now = pageable.bandwidth
    shorter = max(0.0, 1 - now / speed) if now is not None else 0.0
    exposed = facts.time.waterfall.owned("copy") & pageable.time
    weights = facts.transfer.of_weights or facts.transfer.sent_in_passes
    # What stays on the device is not sent at all; batches have to travel.
    claims = (facts.time.waterfall.owned("transfer_call") & calls) | blocked.owned
    claims |= exposed if weights else exposed.scaled(shorter)
    behind, what = facts.sync.behind(calls), what_is_pageable(facts)
    yield Finding(
        why=f"{size(step_bytes)} a step are copied to the device from pageable memory; the calls hold the host for "
        f"{duration(facts.steps.per_step(calls.total_ns))} of {facts.steps.each} "
        f"({share(host)}); {'kept on the device' if weights else 'from pinned memory'} the step could be shorter by at most "
        f"{share(facts.steps.ratio((claims | blocked.removable | behind).total_ns))}.{what}",
        saving=Saving(
            claims | blocked.removable,
            usual_claims=claims | issued_late(facts, blocked),
            behind=behind,
            basis=f"idle time inside the calls, and {_NO_COPIES if weights else f'copies as fast as {source} ({speed:.0f} GB/s)'}",
        ),
        fix=pin_memory(facts),
        verify="Record again: the copies should be named `Pinned -> Device`, their calls take about 10 us.",
        steps_seen=facts.steps.count_with(pageable.time),
        confidence=Confidence.MEDIUM if inferred else Confidence.HIGH,
        evidence=(_evidence(facts, pageable, calls.total_ns, now, speed),),
        location=location(facts, pageable),
        caveats=_caveats(facts, calls.total_ns, claims.total_ns, inferred),
        title="Data are sent from unpinned memory" if what else None,
    )


def _pageable(facts: Facts, to_device: Copies, small: float) -> tuple[Copies | None, bool]:
    """The large pageable copies and whether that is inferred from the loader's settings; None where nobody knows."""
    large = to_device.of_size(small)
    if to_device.states_memory:
        return large.of_memory("pageable"), False
    if facts.recording.collected.pin_memory is None:
        return None, False
    return (large.none() if facts.recording.collected.pin_memory else large), True


def _evidence(facts: Facts, pageable: Copies, host_ns: int, now: float | None, speed: float) -> Bars:
    copying = facts.steps.per_step(pageable.device_ns)
    return Bars(
        "mean step",
        "ns",
        (
            Bar("host inside the calls", facts.steps.per_step(host_ns)),
            Bar("copying on the device", copying),
            Bar("the same pinned, at best", copying * min(1.0, now / speed) if now is not None else copying),
        ),
    )


def _caveats(facts: Facts, host_ns: int, lost_ns: int, inferred: bool) -> tuple[str, ...]:
    found = []
    if lost_ns < host_ns / 2:
        found.append(
            "The device is busy during most of these calls: pinning frees the host more than it shortens the step."
        )
    if inferred:
        found.append(
            "This trace does not name pinned memory: `pin_memory=False` was recorded, other copies may be pinned."
        )
    if facts.input.wait.single_process:
        found.append("With `num_workers=0` the loader pins in the training thread: load in workers first.")
    return tuple(found)


RULE = Rule(META, check, __doc__)
