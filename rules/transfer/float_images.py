"""XF006 float-images: images travel to the device as floats, four times as large as they are.

## What it finds
Batches of images that are converted to 32-bit floats on the host before they are copied to the device, where the copies cost
time.

## Why it costs time
An image is stored with one byte a value. `ToTensor` makes four of it on the host, in the loader, and then all four travel.
Sent as bytes and converted on the device, the copy takes a quarter of the time, pinned or not, and the loader does less.

## How it is measured
Copies to the device whose op has a float batch of shape N x C x H x W (C of 1, 3 or 4) of just these bytes, with
`record_shapes=True`; without shapes the largest copies of a run whose loader is seen converting each sample. The metric is
device-idle time in the calls of these copies and copy time beside no kernel, as a share of the used steps; the bound is
three quarters of it.

## Example
Slow:

```python
dataset = ImageFolder(root, transform=Compose([RandomResizedCrop(224), ToTensor(), Normalize(mean, std)]))
for images, labels in loader:
    images = images.to(device)
```

Faster:

```python
dataset = ImageFolder(root, transform=Compose([RandomResizedCrop(224), PILToTensor()]))
for images, labels in loader:
    images = normalize(images.to(device, non_blocking=True).float().div_(255))
```

## Fix
1. Keep images as uint8 until they are on the device; scale and normalise there.
2. Labels and masks likewise in the smallest type that holds them.

## Expected gain
At most three quarters of the copies' cost, and the loader's time for converting, which the bound does not count.

## When it is wrong
Images that were never bytes (medical data of 16 bits, features, spectrograms) cannot be halved twice. Transforms that need
floats (MixUp on the host, colour jitter of v1) have to move to the device as well.

## Thresholds
- `min_ratio`: share of the used steps that these copies own from which the rule fires.

## References
- https://docs.pytorch.org/vision/stable/transforms.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import Copies
from analyzer.finding import Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share, size
from rules.transfer.advice import fewer_bytes
from rules.transfer.place import location
from traces.trace import Capability

META = RuleMeta(
    code="XF006",
    name="float-images",
    family="transfer",
    title="Images are sent as floats, not bytes",
    binds=("copy",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.02, "ratio", "findings below 2 % of the window are noise (rules.md, section 1)"),
    ),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/vision/stable/transforms.html",),
)

# Bytes instead of 32-bit floats.
_SAVED = 0.75


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where copies of float images own at least `min_ratio` of the used steps."""
    to_device = facts.transfer.copies.to_device
    if not len(to_device):
        yield not_applicable("nothing is copied to the device in the used steps")
        return
    cost = facts.steps.ratio(_owned(facts, to_device).total_ns)
    if cost < limits["min_ratio"]:
        yield clear(f"copies to the device own {share(cost)} of the step, below {share(limits['min_ratio'])}")
        return
    images = facts.input.float_images
    if not images.known:
        yield cannot_tell("what is copied is not known: needs record_shapes=True")
        return
    owned = _owned(facts, images.copies)
    ratio = facts.steps.ratio(owned.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"copies of float images own {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    step_bytes = facts.steps.per_step(images.copies.bytes)
    yield Finding(
        why=f"{size(step_bytes)} of images {facts.steps.a_unit} travel as 32-bit floats; as bytes they would be "
        f"{size(step_bytes / 4)}. "
        f"Copying them costs {share(ratio)} of the step.",
        saving=Saving(
            owned.scaled(_SAVED), basis="three quarters of the idle time in the calls and of copies beside no kernel"
        ),
        fix=(fewer_bytes(),),
        verify="Record again: the bytes a step of `Memcpy HtoD` should fall to a quarter.",
        steps_seen=facts.steps.count_with(images.copies.time),
        confidence=Confidence.HIGH if images.seen_converting else Confidence.MEDIUM,
        evidence=(Bars("a step", "bytes", (Bar("sent as float32", step_bytes), Bar("as uint8", step_bytes / 4))),),
        location=location(facts, images.copies),
        caveats=() if images.seen_converting else ("Only the shape says that these are images which once were bytes.",),
    )


def _owned(facts: Facts, copies: Copies) -> IntervalSet:
    owned = facts.time.waterfall.owned
    waiting = (owned("transfer_call") & copies.call_time) | facts.transfer.blocked_after(copies).owned
    return waiting | (owned("copy") & copies.time)


RULE = Rule(META, check, __doc__)
