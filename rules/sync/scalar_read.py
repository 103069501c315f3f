"""SY001 scalar-read-stalls: reading one value off the device makes the host wait for everything before it.

## What it finds
`.item()`, `float(t)`, `if t:`, `print(loss)`, `loss.cpu()` of a value on the device, where the device then runs dry.

## Why it costs time
The host normally runs ahead: it launches kernels faster than the device finishes them. To read a value it has to wait until the
device has computed it. By then the queue is empty, and the device idles until the host has launched work again.

## How it is measured
`|sync owned by scalar reads| / |used steps|`: the part of the cause `sync` inside blocking calls below `aten::item`,
`aten::_local_scalar_dense`, `aten::is_nonzero`, `aten::equal` or of device-to-host copies of at most 64 bytes, and after them
until the next kernel while the host catches up; per read never more than the read lasted. Behind them counts what the host
does itself: Python, launching, making the next batch in a loader without workers, and no waiting for workers. An `aten::item`
without a copy or a synchronisation below it reads a CPU tensor and never counts. Unit: nanoseconds, shown as a share of the
step.

## Example
Slow:

```python
for batch, target in loader:
    loss = train_step(batch, target)
    total += loss.item()
```

Faster:

```python
total = torch.zeros((), device=device)
for batch, target in loader:
    total += train_step(batch, target).detach()
print(total.item())
```

## Fix
1. Accumulate on the device and read every N steps: `total += loss.detach()`.
2. Choose with `torch.where` instead of `if tensor:`; clamp instead of comparing.
3. Metrics: update on the device, compute at the end of the epoch.
4. Where the value is needed each step, read the previous step's: a copy into pinned memory with `non_blocking=True` and an event.
   So it is with `.to("cpu")` and `.cpu()`; what the host made itself, as lengths, it keeps instead of reading it back.
5. What an op of an extension reads itself is mostly the size of its result: state it (`dim_size`, `num_segments`).
6. Ops of torch that read: `one_hot` without `num_classes`; `torch.linalg.inv` and its kin, whose `_ex` forms do not.
7. Checks of values (`torch.distributions`, assertions): switch them off once the program is known to be right.

## Expected gain
At most the device's idle time from the reads on, never more than the reads lasted, up to the next call that waits for another
reason: without the wait the host does meanwhile what it did late. Likely is what the reads own by themselves. A read at the end
of a step that the device fills anyway costs nothing and is not counted.
Waits of several kinds in a row (a value, a copy, a size, `synchronize()`) empty the queue each by itself: they are told together,
by the rule of those that the host waits longest for.

## When it is wrong
What the host does behind the calls may be another wait, as for data that is made too slowly: then they cost nothing. Without stacks
that is not seen where it lies outside any op, and confidence is medium.
With `CUDA_LAUNCH_BLOCKING=1` everything waits (SY005). GradScaler reads its found-inf flag once a step by design: that read is
counted only where it leaves as much idle time behind as other reads would have to, for a fused update does without. Checks by
anomaly mode belong to SY006, ops with data-dependent shapes to SY004. The for-loop Adam reads its CPU `step` tensor once per
parameter: no wait, not counted.

## Thresholds
- `min_ratio`: share of the used steps, as idle time inside the calls and until the next kernel, from which the rule fires.
- `behind_ratio`: the same of idle time behind them in which the host does what it would have done while it waited; fires too.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization
- Measured: 945 `aten::item` in one trace, 30 device-to-host copies
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.facts.sync.waiting_calls import WaitingCalls
from analyzer.finding import Advice, Finding, Outcome, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta
from analyzer.units import count, share
from rules.along import with_its_work
from rules.optimizer.advice import FUSED_CLASSES, fused
from rules.optimizer.per_parameter_norms import together
from rules.optimizer.reading import ON_DEVICE, counters, mostly_in_updates, where
from rules.sync import copied_to_send
from rules.sync.asking_ops import CHECKS, reading_op, stated
from rules.sync.judging import (
    BEHIND_RATIO,
    MIN_RATIO,
    beside_work,
    finding,
    fires,
    idle_behind,
    with_others,
)
from rules.sync.read_fixes import copied_fixes, read_fixes
from traces.trace import Capability

META = RuleMeta(
    code="SY001",
    name="scalar-read-stalls",
    family="sync",
    title="Reading one value stalls the device",
    binds=("sync",),
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(MIN_RATIO, BEHIND_RATIO),
    explains=("ID002",),
    references=(
        "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#avoid-unnecessary-cpu-gpu-synchronization",
    ),
)

# Of the reads, from this part on it is what they are for.
_MOST = 0.5
_BY_VALUE = "`.item()`, `float()`, `if tensor:` and `print`"
_BY_COPY = '`.to("cpu")`, `.cpu()`, `.numpy()` and `.tolist()`'


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when reads of single values own `min_ratio` of the used steps, or leave `behind_ratio` idle behind."""
    calls = facts.sync.waits.of("scalar")
    if _scaler_stalls(facts, limits):
        yield _scalers(facts)
        return
    if not len(calls):
        yield not_applicable(_none(facts))
        return
    ratio = facts.steps.ratio(facts.sync.waits.owned("scalar").total_ns)
    also = with_others(facts, "scalar", limits["behind_ratio"])
    if not also and not fires(facts, "scalar", limits["min_ratio"], limits["behind_ratio"]):
        yield clear(
            f"reading single values owns {share(ratio)} of the step, below {share(limits['min_ratio'])} "
            f"({count(len(calls), 'waiting call')}){beside_work(facts, 'scalar')}"
        )
        return
    extension, op, sent = _extension(calls), reading_op(calls), copied_to_send.remedies(facts, calls)
    checks = facts.sync.checks(calls)
    inside = copied_to_send.where(facts, calls) or (
        f" inside `{extension}`, which copies them itself"
        if extension
        else f" inside `{op}`, which reads them itself"
        if op
        else ""
    )
    fix = sent or (
        (_stated(extension),) if extension else (stated(op),) if op else _fixes(facts, calls, checks=checks >= _MOST)
    )
    found = finding(
        facts,
        calls,
        "scalar",
        "reading single values off the device"
        + (
            inside
            or f"{where(facts)}, as {_BY_COPY if calls.copied else _BY_VALUE} do{_next_to(facts, calls)}"
            + (f"; {share(checks)} of them answer a check (`all`, `any`, `isnan`, ...)" if checks >= _MOST else "")
        ),
        fix,
        "Record again: fewer device-to-host copies a step, and a longer launch lead; the share of SY001 should fall below 2 %.",
        _caveats(facts),
        also=also,
    )
    yield _without_checks(facts, calls, found) if checks >= _MOST and not (extension or op or sent) else found


def _without_checks(facts: Facts, calls: WaitingCalls, found: Finding) -> Finding:
    """The finding where checks need not be made: what computes them goes as well, and the host is earlier by that."""
    made = facts.sync.checking(calls)
    behind = facts.sync.behind(made) | (facts.time.idle & made)
    saving = with_its_work(found.saving, facts.time.launched_in(made), behind, "what computes the checks")
    return replace(found, saving=saving)


def _scaler_stalls(facts: Facts, limits: Limits) -> bool:
    """Whether only with GradScaler's own read, which a fused update does without, reads leave enough idle time behind them."""
    work = facts.model.optimizing
    if work.class_name not in FUSED_CLASSES or work.style == "fused":
        return False
    if not len(facts.sync.waits.of("scaler")) or fires(facts, "scalar", limits["min_ratio"], limits["behind_ratio"]):
        return False
    return facts.steps.ratio(idle_behind(facts, "scaler", "scalar").total_ns) >= limits["behind_ratio"]


def _scalers(facts: Facts) -> Finding:
    """A finding on all reads around a scaled update."""
    name = facts.model.optimizing.class_name
    bare = Advice(
        "diff",
        '-with torch.autocast("cuda", dtype=torch.float16):\n+with torch.autocast("cuda", dtype=torch.bfloat16):\n'
        "     loss = criterion(model(x), target)\n-scaler.scale(loss).backward()\n-scaler.step(optimizer)\n-scaler.update()\n"
        "+loss.backward()\n+optimizer.step()",
        "bfloat16 needs no scaler. Compute capability 8.0 or newer has tensor cores for it.",
    )
    kept = Advice(
        "text",
        "A fused update takes scale and flag on the device, and the scaler reads nothing. What else reads the scale "
        "(`scaler.get_scale()`, or a framework to see whether a step was left out) has to go as well: log it every N steps.",
    )
    return finding(
        facts,
        facts.sync.waits.of("scaler", "scalar"),
        "scaler",
        "reading GradScaler's flag, and what else is read around the update",
        (fused(facts, name), kept, bare),
        "Record again: no read of a value between the backward pass and the update; a longer launch lead.",
        also=("scalar",),
    )


def _none(facts: Facts) -> str:
    number = facts.sync.host_reads
    if number:
        return f"{count(number, '`aten::item`', '`aten::item`')} in the used steps, all of CPU tensors: none waits for the device"
    return "no single value is read off the device in the used steps"


def _fixes(facts: Facts, calls: WaitingCalls, *, checks: bool) -> tuple[Advice, ...]:
    if mostly_in_updates(facts):
        return (ON_DEVICE,)
    norms = facts.model.optimizing.norms
    if calls.inside(norms.time).waits > _MOST * calls.waits:
        return together(norms, read=True)
    if calls.copied:
        return copied_fixes(facts)
    if checks and not facts.model.infers:
        return (CHECKS, *read_fixes(facts)[1:])
    return counters(facts) or read_fixes(facts)


def _extension(calls: WaitingCalls) -> str | None:
    """The op of an extension in which most values are read: no line of the program reads them."""
    return calls.asker if calls.asker is not None and not calls.asker.startswith("aten::") else None


def _stated(op: str) -> Advice:
    return Advice(
        "text",
        f"What such an op reads is mostly the size of its result, from the largest index, as scatters and segments do: state it in "
        f"the call of `{op}` (`dim_size`, `num_segments`, `output_size`) where the program knows it, as the number of nodes. Where "
        "layers ask for the same, read it once a step.",
    )


def _next_to(facts: Facts, calls: WaitingCalls) -> str:
    """The op that most reads stand in front of, or behind, where the trace has no stacks to name a line; empty where none does."""
    if facts.host.stacks.known or where(facts):
        return ""
    beside = facts.sync.neighbour_of(calls)
    return f"; {share(beside[1])} of them right {beside[0]}" if beside else ""


def _caveats(facts: Facts) -> tuple[str, ...]:
    if len(facts.sync.waits.of("scaler")):
        return ("GradScaler's own read, once a step by design, is not counted.",)
    return ()


RULE = Rule(META, check, __doc__)
