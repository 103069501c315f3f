"""XF003 many-small-copies: values travel between host and device one by one.

## What it finds
At least 20 copies a step between host and device, most of them below 64 KiB; those to the device hold the host for 2 % of
the step or more. Or fewer after which the host waits until the queue is empty, so that the device idles behind them.

## Why it costs time
A copy of four bytes costs the host as much as one of four kilobytes: about ten microseconds for the call, and from pageable
memory a wait besides. Twenty of them are more than most layers.

## How it is measured
Copies to the device and back in the used steps: their number a step and their median size; host time in the calls of the
small ones to the device and in the waits after them. The bound is the device-idle time these own, and behind the waits as much as
the host stood in them while the device computed: it would be that much earlier. Of many copies the ops around the calls count as
well, and the copies themselves where nothing runs beside them. What copies to the host cost is a wait, and belongs to SY001 and
SY002.

## Example
Slow:

```python
for name, value in batch.items():
    scalars[name] = torch.tensor(value, device=device)
```

Faster:

```python
values = torch.tensor(list(batch.values())).to(device, non_blocking=True)
scalars = dict(zip(batch, values.unbind()))
```

## Fix
1. Stack values on the host and copy once.
2. Make indices and masks on the device (`torch.arange(..., device=device)`).
3. `torch.as_tensor(array)` once for a whole numpy batch.

## Expected gain
At most the device-idle time inside the copies and while their tensors are made and handed over, in the waits after them, and
behind those as long as the host was at all that beside a busy device. Likely is what the copies and waits own by themselves, and
what is launched late behind them: as long as the host waited, and was at what it then waits for, beside a busy device.

## When it is wrong
Copies inside captured graphs have no call and cost the host nothing. Copies from device to device do not count here.

## Thresholds
- `min_copies`: copies a step from which the rule looks at all.
- `max_median_bytes`: median size below which copies are small.
- `min_host_ratio`: share of the used steps inside the calls from which the rule fires.
- `min_late_ratio`: share of the used steps in which the device idles behind the waits of small copies, because the host is late by
  them, from which it fires however few they are.

## References
- TraceLens flags over 10 copies; XProf DataTransferBound
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.transfer.copies import SMALL_BYTES, Copies
from analyzer.finding import Advice, Column, Finding, Outcome, Saving, Table, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import EMPTY
from analyzer.units import count, duration, share, size
from rules.transfer.late import issued_late
from rules.transfer.place import location
from traces.trace import Capability

META = RuleMeta(
    code="XF003",
    name="many-small-copies",
    family="transfer",
    title="Many small copies each step",
    binds=("copy",),
    needs=frozenset({Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_copies", 20, "count", "TraceLens flags 10, which plain loops with a few labels reach"),
        Threshold("max_median_bytes", SMALL_BYTES, "bytes", "below 64 KiB the call costs more than the copy"),
        Threshold("min_late_ratio", 0.05, "ratio", "as PY001: a twentieth of the step is worth a change of the code"),
        Threshold("min_host_ratio", 0.02, "ratio", "findings below 2 % of the window are noise (rules.md, section 1)"),
    ),
    suppressed_by=("PG002",),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
)


# What the device idles for while a tensor is made that need not be.
_GOES = ("framework", "launch", "sync", "python", "transfer_call")


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires on many small copies a step whose calls cost host time."""
    copies = facts.transfer.copies.all.of("HtoD", "DtoH")
    if not len(copies):
        yield not_applicable("nothing is copied between host and device in the used steps")
        return
    number = facts.steps.per_step(len(copies))
    median = copies.median_bytes
    small = copies.of_size(0, below=limits["max_median_bytes"])
    inward = small.of("HtoD")
    blocked = facts.transfer.blocked_after(inward)
    calls = (inward.call_time & facts.steps.window) | blocked.host
    host = facts.steps.ratio(calls.total_ns)
    late = facts.steps.ratio(blocked.removable.total_ns)
    many = number >= limits["min_copies"] and median < limits["max_median_bytes"] and host >= limits["min_host_ratio"]
    if not many and late < limits["min_late_ratio"]:
        holding = f"small ones to the device hold the host for {share(host)} of it"
        yield clear(f"{count(round(number), 'copy', 'copies')} a step, {size(median)} in the median; {holding}")
        return
    claims = (facts.time.waterfall.owned("transfer_call") & inward.call_time) | blocked.owned
    if many:
        claims |= facts.time.waterfall.owned("framework", "launch", "sync") & facts.transfer.moves(inward)
        claims |= facts.time.waterfall.owned("copy") & inward.time
    made = facts.transfer.made_around(inward)
    issued = issued_late(facts, blocked, made if many else EMPTY)
    then = (
        f" After them the GPU idles for {share(late)} while the host goes on, late by the wait."
        if blocked.number
        else ""
    )
    yield Finding(
        why=f"{number:.0f} copies {facts.steps.a_unit} between host and device, {size(median)} in the median: "
        f"{facts.steps.per_step(len(inward)):.0f} small ones to the device hold the host for "
        f"{duration(facts.steps.per_step(calls.total_ns))} of {facts.steps.each} "
        f"({share(host)}).{then if late >= limits['min_late_ratio'] else ''}",
        saving=Saving(
            claims | blocked.removable | issued,
            usual_claims=claims | issued,
            behind=facts.sync.behind(calls | made) | (facts.time.waterfall.owned(*_GOES) & made),
            basis="device-idle time inside the small copies to the device, while their tensors are made, in the waits after them, "
            "and behind those as long as the host was at it beside a busy device; likely is what of that the host launches",
        ),
        fix=_FIX if many else (_FIX[1], _AT_ONCE),
        verify="Record again: fewer copies a step; the share of XF003 should fall below 2 %.",
        steps_seen=facts.steps.count_with(small.time),
        evidence=(_table(facts, copies),),
        location=location(facts, small),
        title=None if many else "A small copy makes the host wait",
    )


def _table(facts: Facts, copies: Copies) -> Table:
    rows = []
    for direction, part in copies.by_direction():
        rows.append(
            (
                direction,
                facts.steps.per_step(len(part)),
                part.median_bytes,
                facts.steps.per_step(part.call_time.total_ns),
            )
        )
    columns = (
        Column("direction", "text"),
        Column("a step", "count"),
        Column("median size", "bytes"),
        Column("calls a step", "ns"),
    )
    return Table("copies", columns, tuple(rows))


_FIX = (
    Advice(
        "diff",
        "-lengths = torch.tensor(n, device=device)         # for each n\n"
        "+lengths = torch.tensor(all_n).to(device)         # once",
        "Gather values on the host, copy them together, split on the device.",
    ),
    Advice(
        "diff",
        "-index = torch.arange(n).to(device)\n+index = torch.arange(n, device=device)",
        "What can be computed from a number need not travel.",
    ),
)

_AT_ONCE = Advice(
    "diff",
    "-number = torch.tensor(n, device=device)                               # copies, and waits for the queue\n"
    "+number = torch.tensor(n, pin_memory=True).to(device, non_blocking=True)\n"
    "+number = torch.full((), n, device=device)                             # or: nothing is copied",
    "Made on the host and sent from pinned memory nothing waits; constants are made once, before the loop.",
)

RULE = Rule(META, check, __doc__)
