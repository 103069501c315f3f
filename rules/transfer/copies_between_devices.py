"""XF008 copies-between-devices: what is copied from one GPU to another delays the kernels.

## What it finds
Copies between devices (`tensor.to("cuda:1")`, layers of one model on several devices) that run beside no kernel.

## Why it costs time
A copy between devices goes over NVLink or PCIe, an order of magnitude or two slower than the device's memory. On the kernels'
stream the next kernel waits for it, and the other device waits for what it brings. Where devices cannot reach each other's memory,
the driver takes the copy through the host.

## How it is measured
Copies from device to device (`Memcpy PtoP`) of the device that stands for the trace, where nothing computes beside them, as a share
of the used steps. Their speed is bytes over time of those of 1 MiB and more. Unit: nanoseconds, shown as a share of the step.

## Example
Slow:

```python
for index, layer in enumerate(layers):
    x = layer(x.to(f"cuda:{index % 2}"))  # crosses at each layer
```

Faster:

```python
x = first_half(x.to("cuda:0"))
x = second_half(x.to("cuda:1"))  # crosses once
```

## Fix
1. Where the model fits on one device: one process a device, each with a copy of the model (`DistributedDataParallel`).
2. Neighbouring layers on one device, so that a pass crosses once; several small batches behind one another keep both at work.
3. Look whether the devices reach each other: `nvidia-smi topo -m`, `torch.cuda.can_device_access_peer(0, 1)`.

## Expected gain
At most the copies' time beside no kernel.

## When it is wrong
A pipeline has to hand over what the next stage computes on: of that only the way can be shorter, or hidden behind other batches.

## Thresholds
- `min_ratio`: share of the used steps in such copies from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.cuda.can_device_access_peer.html
- https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-copy
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share, size
from rules.purpose import by_purpose
from rules.transfer.beside_kernels import beside_kernels
from traces.trace import Capability

META = RuleMeta(
    code="XF008",
    name="copies-between-devices",
    family="transfer",
    title="Copies from GPU to GPU delay kernels",
    binds=("copy",),
    measures=("copy",),
    needs=frozenset({Capability.DEVICE}),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "as of copies to the device (XF002)"),),
    suppressed_by=("PG002",),
    references=(
        "https://docs.pytorch.org/docs/stable/generated/torch.cuda.can_device_access_peer.html",
        "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#peer-to-peer-memory-copy",
    ),
)

# PCIe 3.0 with 16 lanes moves 12 to 13 GB/s, and 4.0 twice that; slower ones take another way, or share it.
_SLOW_BYTES_PER_NS = 8.0


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when copies between devices beside no kernel take `min_ratio` of the used steps."""
    found = facts.transfer.copies.all.of("PtoP")
    if not len(found):
        yield not_applicable("nothing is copied between devices in the used steps")
        return
    exposed = facts.time.waterfall.owned("copy") & found.time
    ratio = facts.steps.ratio(exposed.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"copies between devices without a kernel beside them: {share(ratio)}, below {share(limits['min_ratio'])}"
        )
        return
    speed = found.bandwidth
    reached = f", {speed:.1f} GB/s" if speed is not None else ""
    slow = speed is not None and speed < _SLOW_BYTES_PER_NS
    yield Finding(
        why=f"Copies from one GPU to another run beside no kernel for {duration(facts.steps.per_step(exposed.total_ns))} of "
        f"{facts.steps.each} ({share(ratio)}): {size(facts.steps.per_step(found.bytes))} "
        f"in {count(round(facts.steps.per_step(len(found))), 'copy', 'copies')} {facts.steps.a_unit}{reached}."
        + (" That is less than PCIe 3.0 moves: they may go through the host." if slow else ""),
        saving=Saving(exposed, basis="time of copies between devices beside no kernel"),
        fix=(_link(facts), *_fewer(facts)) if slow else (*_fewer(facts), _link(facts)),
        verify="Record again: fewer bytes between devices, or more of them a second; the share of XF008 should fall below 5 %.",
        steps_seen=facts.steps.count_with(exposed),
        evidence=(beside_kernels(facts, found.time, exposed),),
    )


_TOPOLOGY = {"cuda": "nvidia-smi topo -m", "rocm": "rocm-smi --showtopo"}


def _link(facts: Facts) -> Advice:
    command = _TOPOLOGY.get(facts.device.kind)
    asked = (
        f": `{command}`, and `torch.cuda.can_device_access_peer(0, 1)`. Where that is False,"
        if command is not None
        else ", with its maker's tools. Where they do not reach each other's memory,"
    )
    return Advice(
        "text",
        f"Look at the way between the devices{asked} or the kernel's IOMMU is on, copies go through the host's memory.",
    )


def _fewer(facts: Facts) -> tuple[Advice, ...]:
    whole = by_purpose(
        facts,
        (Advice("text", "Where the model fits on one device: a copy of it on each, for a part of the requests."),),
        (
            Advice(
                "text",
                "Where the model fits on one device: a process for each, with a copy of it (`DistributedDataParallel`).",
            ),
        ),
    )
    once = Advice(
        "diff",
        '-for index, layer in enumerate(layers):\n-    x = layer(x.to(f"cuda:{index % 2}"))\n'
        '+x = first_half(x.to("cuda:0"))\n+x = second_half(x.to("cuda:1"))   # crosses once',
        "Neighbouring layers on one device: a pass then crosses between devices as rarely as it can. Several small batches one "
        "behind the other keep all devices at work meanwhile.",
    )
    return (*whole, once)


RULE = Rule(META, check, __doc__)
