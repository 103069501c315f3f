"""XF002 exposed-input-copies: batches travel to the device while no kernel runs.

## What it finds
Host-to-device copies that run on the device beside no kernel for at least 5 % of the step, although kernels of the same step
could hide them.

## Why it costs time
A copy engine works independently of the compute units, so a copy can be free. On the stream of the kernels it is not: the
kernels that follow wait until the copy is done.

## How it is measured
`|host-to-device copies and no kernel| / |used steps|`, from device times (the part of the cause `copy` inside these copies),
of each step at most as much as its kernels compute with no such copy beside them: where nothing computes nothing hides a copy.
Copies that begin inside an optimizer's step are weights that were updated on the host, no batches (OP005). The copies' streams
are compared with the kernels'.

## Example
Slow:

```python
for images, labels in loader:
    images = images.to(device)
    train_step(images, labels)
```

Faster:

```python
side = torch.cuda.Stream()
batches = iter(loader)
with torch.cuda.stream(side):
    following = next(batches).to(device, non_blocking=True)
for _ in range(len(loader)):
    torch.cuda.current_stream().wait_stream(side)
    batch = following
    batch.record_stream(torch.cuda.current_stream())
    upcoming = next(batches, None)
    if upcoming is not None:
        with torch.cuda.stream(side):
            following = upcoming.to(device, non_blocking=True)
    train_step(batch)
```

## Fix
1. Send fewer bytes: images as uint8, normalised on the device.
2. Prefetch the next batch on a side stream, from pinned memory.
3. Keep a small data set on the device.
4. Pinned copies of less than 5 GB/s: look at the link (`nvidia-smi --query-gpu=pcie.link.width.current`), and at NUMA.

## Expected gain
At most the exposed copy time that the step's kernels are long enough to hide; all of it where large copies take turns with kernels,
as weights do that are kept on the host: they can stay on the device. Those are told however little there is to hide them behind.

## When it is wrong
`non_blocking=True` alone does not overlap anything on one stream. Loading the model inside the window looks the same
(warm-up, PG002). Overlapped copies and kernels share memory bandwidth and both become a little slower.

## Thresholds
- `min_ratio`: share of the used steps in exposed copies that kernels could hide from which the rule fires.

## References
- TraceLens: exposed memcpy over 5 %; TraceML: 10 and 20 %
- https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import Copies, hideable
from analyzer.finding import Advice, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share, size
from rules.transfer.advice import prefetch, what_is_sent
from rules.transfer.beside_kernels import beside_kernels
from traces.trace import Capability

META = RuleMeta(
    code="XF002",
    name="exposed-input-copies",
    family="transfer",
    title="Copies of batches delay the kernels",
    binds=("copy",),
    measures=("copy",),
    needs=frozenset({Capability.DEVICE}),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "TraceLens: exposed memcpy above 5 %; TraceML warns from 10 %"),),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/tutorials/intermediate/pinmem_nonblock.html",),
    outside=("pinned", "non-blocking"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when kernels could hide copies to the device that take at least `min_ratio` of the used steps."""
    # What an optimizer on the CPU sends back are weights: no batch, and nothing to send earlier (OP005).
    to_device = facts.transfer.copies.to_device.called_outside(facts.model.optimizing.step_time)
    if not len(to_device):
        yield not_applicable("nothing is copied to the device in the used steps")
        return
    copying = to_device.time
    exposed = facts.time.waterfall.owned("copy") & copying
    ratio = facts.steps.ratio(exposed.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"copies to the device without a kernel beside them: {share(ratio)}, below {share(limits['min_ratio'])}"
        )
        return
    hideable = _hideable(facts, exposed, copying)
    weights = facts.transfer.of_weights
    # What stays on the device is not sent at all, however little there is to hide it behind.
    if not weights and facts.steps.ratio(hideable.total_ns) < limits["min_ratio"]:
        yield clear(
            f"copies to the device without a kernel beside them: {share(ratio)}, but kernels to hide them behind run for only "
            f"{share(facts.steps.ratio(hideable.total_ns))} of the step, below {share(limits['min_ratio'])}"
        )
        return
    own_stream, slow = _own_stream(facts, to_device), _slow(to_device)
    where = "a stream of their own" if own_stream else "the kernels' stream"
    yield Finding(
        why=f"Copies to the device run beside no kernel for {duration(facts.steps.per_step(exposed.total_ns))} of "
        f"{facts.steps.each} "
        f"({share(ratio)}): {size(facts.steps.per_step(to_device.bytes))} "
        f"a step on {where}.{what_is_sent(facts)}{_slow_link(slow)}",
        saving=Saving(exposed, basis="copy time beside no kernel")
        if weights
        else Saving(
            hideable, basis="copy time beside no kernel, as far as the kernels of its step are long enough to hide it"
        ),
        fix=(*prefetch(facts, own_stream), *((_link(facts),) if slow is not None else ())),
        verify="Record again: the copies' stream differs from the kernels' and over 80 % of their time has a kernel beside it.",
        steps_seen=facts.steps.count_with(to_device.time),
        evidence=(beside_kernels(facts, copying, exposed),),
        title="Copies to the device delay the kernels" if weights or _no_batch(facts) else None,
    )


# PCIe 3.0 with 16 lanes moves 12 to 13 GB/s from pinned memory, with 8 lanes half of that.
_SLOW_BYTES_PER_NS = 5.0
_ASKED = "nvidia-smi --query-gpu=pcie.link.gen.current,pcie.link.width.current,pcie.link.width.max --format=csv"
_LANES = (
    "Fewer lanes than the card has, an old generation, or memory of another socket (`numactl --cpunodebind=N --membind=N`) make "
    "copies several times as long."
)


def _link(facts: Facts) -> Advice:
    if facts.device.kind == "cuda":
        return Advice("shell", _ASKED, f"While the program runs. {_LANES}")
    return Advice("text", f"Look at the card's link to the host. {_LANES}")


def _slow(to_device: Copies) -> float | None:
    """Bytes a nanosecond (GB/s) of pinned copies where they are most and slower than any full link; else None."""
    pinned = to_device.of_memory("pinned")
    speed = pinned.bandwidth
    return speed if speed is not None and speed < _SLOW_BYTES_PER_NS and 2 * pinned.bytes > to_device.bytes else None


def _slow_link(speed: float | None) -> str:
    return (
        f" They are pinned and move {speed:.1f} GB/s, less than half of what PCIe 3.0 with 16 lanes does: a narrow link, or "
        "several at once on it."
        if speed is not None
        else ""
    )


def _no_batch(facts: Facts) -> bool:
    """Whether it is known to be something else than batches of a loader, or an engine serves requests."""
    return bool(what_is_sent(facts)) or facts.recording.serving_engine is not None


def _hideable(facts: Facts, exposed: IntervalSet, copying: IntervalSet) -> IntervalSet:
    """The exposed copies, those of a step shortened to what its kernels could hide: to when they compute beside no such copy."""
    kernels = facts.kernels.named
    computing = kernels.spans(~kernels.collective) - copying
    return hideable(exposed, computing, facts.steps)


def _own_stream(facts: Facts, to_device: Copies) -> bool:
    """Whether most copied bytes travel on a stream that runs no kernel."""
    apart = to_device.beside(facts.transfer.copies.compute_streams)
    return 2 * apart.bytes > to_device.bytes


RULE = Rule(META, check, __doc__)
