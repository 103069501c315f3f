"""ID002 idle-device: the device does nothing for a large part of the step.

## What it finds
How long the device idles, and what the host does meanwhile. It is the headline over the other findings: a symptom. A cause it is
where devices of one process work in turn: no other rule is about that.

## Why it costs time
An idle device is paid for and not used. What it waits for is what other rules name.

## How it is measured
`1 - |kernels, copies and memsets| / |used steps|` of the device with the most launches, streams united. Each idle nanosecond is
attributed to exactly one cause (the waterfall). Of launched work that has not started it says what it waits for: the node of a
graph before it, an event, another device, or something that the trace does not show. Devices work in turn where little of what one
computes lies beside what another one does. Where most of the idle time is start-up work (PG002), or lies inside an op that works
on the host, it says that. Collectives count as busy here: time in which only they run is CO001's.

## Example
Slow:

```python
for batch, target in DataLoader(dataset, batch_size=64):
    train_step(batch.to(device), target.to(device))
```

Faster:

```python
for batch, target in DataLoader(dataset, batch_size=64, num_workers=4, pin_memory=True):
    train_step(batch.to(device, non_blocking=True), target.to(device, non_blocking=True))
```

## Fix
1. Start with the largest cause in the table; the rule that belongs to it says what to do.
2. Devices in turn: one device, where it holds the model; else layers split over the devices, or several batches in flight.

## Expected gain
None of its own: the sum of the other findings. What remains after them is unexplained. Of devices in turn at most the waits for
another device: how much of them comes back depends on how evenly the work is split. One device alone frees the others and is as
fast as before.

## When it is wrong
A window that begins before the first kernel of a single step. Several devices in one trace: this is the one with the most
launches.

## Thresholds
- `min_ratio`: idle share from which the rule fires.
- `large_ratio`: idle share from which it says "much of".
- `most_ratio`: idle share from which it says "most of".

## References
- TensorBoard profiler plugin (utilisation below 50 %), TraceML (30 and 70 %), TraceLens (15 % idle)
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.cause_names import IDLE_CAUSES
from analyzer.facts import Facts
from analyzer.facts.time.device_waits import WORDS
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, Severity, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.units import duration, listed, share
from traces.trace import Capability

META = RuleMeta(
    code="ID002",
    name="idle-device",
    family="idle",
    title="The GPU idles",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_ratio", 0.15, "ratio", "TraceLens reports idle time from 15 %"),
        Threshold("large_ratio", 0.30, "ratio", "TraceML calls utilisation below 70 % low"),
        Threshold("most_ratio", 0.50, "ratio", "TensorBoard plugin warns below 50 % utilisation"),
    ),
    topics=frozenset({"queue", "symptom"}),
    references=("https://github.com/pytorch/kineto/blob/main/tb_plugin/docs/gpu_utilization.md",),
)

# Start-up that is most of the idle time is what the finding is about.
_MOST = 0.5
_STARTS = ("the program starts up, which steady steps do not repeat", "PG002")
_IN_TURN = Advice(
    "text",
    "Layers put on devices one behind the other (`device_map`) work one device at a time: split each layer over the devices "
    "(tensor parallelism: all that helps one sample alone), or keep several batches in flight (a pipeline). Where a single device "
    "holds the model, in 16 bits or fewer, keep it there: a step takes as long, and the other devices are free.",
)
# What the host does while the device idles, and the rule that says what to do about it.
_WORDS: dict[str, tuple[str, str | None]] = {
    "device_wait": ("launched work has not started yet", None),
    "input": ("the host waits for the data loader", "DL001"),
    "allocator": ("the host allocates or frees memory of the device, or pinned memory", "ME001"),
    "sync": ("the host waits for the device, then catches up", "SY001 to SY004"),
    "transfer_call": ("the host copies batches to the device", "XF001"),
    "optimizer": ("the host runs the optimizer", "OP001"),
    "compile": ("the host compiles, or captures graphs", "GR003"),
    "launch": ("the host launches kernels", "ID001"),
    "framework": ("the host dispatches ops", "ID001"),
    "python": ("the host runs code outside any op", "PY001"),
    "unexplained": ("the trace does not show why", None),
}


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the device idles for at least `min_ratio` of the used steps."""
    ratio = facts.steps.ratio(facts.time.idle.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"the device idles {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    much = "most of" if ratio >= limits["most_ratio"] else "much of" if ratio >= limits["large_ratio"] else "part of"
    owned = {cause: facts.time.waterfall.owned(cause).total_ns for cause in IDLE_CAUSES}
    causes = sorted((cause for cause in owned if owned[cause]), key=lambda cause: -owned[cause])
    starting = _mostly_starting(facts)
    largest, code, longest_ns = (*_STARTS, starting.total_ns) if starting else _largest(facts, causes[0])
    part = share(facts.steps.ratio(longest_ns))
    in_turn = not starting and causes[0] == "device_wait" and facts.time.devices_take_turns
    bars = tuple(Bar(_WORDS[cause][0], facts.steps.per_step(owned[cause])) for cause in causes)
    yield Finding(
        why=(
            f"The GPU idles {much} the step: {duration(facts.steps.per_step(facts.time.idle.total_ns))} of "
            f"{duration(facts.steps.per_step(facts.steps.total_ns))} ({share(ratio)}). For the largest part ({part}) {largest}."
        ),
        saving=_side_by_side(facts) if in_turn else Saving(),
        fix=(_IN_TURN,) if in_turn else (Advice("text", _next(code), "This is a symptom, not a cause."),),
        verify="Record again: each device idles less, and they work at the same time."
        if in_turn
        else "Record again: the idle share should fall by what the other findings claim, at most.",
        steps_seen=facts.steps.count,
        evidence=(Bars("while the GPU idles (mean step)", "ns", bars),),
        title="GPUs work in turn" if in_turn else None,
        confidence=Confidence.MEDIUM if in_turn else Confidence.HIGH,
        severity_cap=Severity.HIGH if in_turn else Severity.INFO,
    )


def _mostly_starting(facts: Facts) -> IntervalSet:
    """The idle time that is start-up; empty where that is not most of it."""
    starting = facts.health.warmup.time & facts.time.idle
    return starting if starting.total_ns > _MOST * facts.time.idle.total_ns else EMPTY


def _largest(facts: Facts, cause: str) -> tuple[str, str | None, int]:
    """What the largest part of the idle time is, the rule that says what to do about it, and how long it is."""
    owned = facts.time.waterfall.owned(cause)
    words, code = _WORDS[cause]
    if cause == "python" and facts.health.sparse_host_events is not None:
        words, code = "the trace holds no op", None
    elif cause == "python" and facts.health.thinned is not None and facts.health.thinned.mostly:
        words, code = "the trace holds no op, of which most are missing", None
    elif cause == "python" and 2 * facts.time.waiting_for_work.total_ns > owned.total_ns:
        words, code = "the program waits for what another thread or process hands over, such as requests", None
    if cause == "device_wait":
        words = _waiting(facts)
    if cause in ("framework", "launch"):
        owner = facts.host.dispatch_owner(owned)
        if owner is not None and owner.works:
            words = f"the host is at work inside {listed([f'`{op.name}`' for op in owner.at_work])}"
    if cause == "optimizer":
        code = _of_optimizer(facts)
    return words, code, owned.total_ns


def _of_optimizer(facts: Facts) -> str:
    """The rule that says how this optimizer updates with less work of the host."""
    work = facts.model.optimizing
    return "OP005" if work.on_host else "OP002" if work.style == "foreach" else "OP001"


def _waiting(facts: Facts) -> str:
    """What most of the launched work waits for."""
    longest = facts.time.device_waits.longest
    if longest == "for_device":
        return (
            "another device of the process works on what comes before: they work in turn"
            if facts.time.devices_take_turns
            else "launched work waits for another device of the process, which has more to do at the same time"
        )
    return f"launched work waits {WORDS[longest]}" if longest in WORDS else "launched work is about to start"


def _side_by_side(facts: Facts) -> Saving:
    return Saving(
        facts.time.device_waits.for_device,
        basis="waits of this device for another one of the process; none are left where all have as much to do at the same time",
    )


def _next(code: str | None) -> str:
    if code is None:
        return (
            "No rule is about the largest part: it depends on other work of the device, or on what was not recorded. "
            "Other findings, where there are any, are about the rest."
        )
    return (
        f"The largest cause is what {code} looks for: its finding says what to do, or its line under what was checked why there is "
        "none. Other findings, where there are any, are about the rest."
    )


RULE = Rule(META, check, __doc__)
