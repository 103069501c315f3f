"""ID003 isolated-gaps: once in a while the program stops to do something else.

## What it finds
Long gaps in some steps only: validation, a checkpoint, logging or plotting inside the loop.

## Why it costs time
Nothing is launched during such work, so the device idles for all of it. Spread over many steps it may be cheap, or not: that
depends on how often it happens.

## How it is measured
Gaps between device work (on a CPU-only trace: between ops) of at least 50 ms and a quarter of the median step, in less than half
of the used steps, at least 60 % of which are the host's own work. Gaps with the profiler's own work inside are left out, and so
are those before the first and after the last kernel. Their sum as a share of the used steps counts. Unit: nanoseconds. What the
program does there is told by stacks and ranges; without them, copies of at least 64 MiB to the host in just these steps are told as
what a checkpoint begins with, and so are as many tensors detached in a row as receive a gradient, directly before most of the
gaps, as `state_dict()` does. Where no line is the user's, the function of a library that holds most of it is named.

## Example
Slow:

```python
for step, batch in enumerate(loader):
    train_step(batch)
    if step % 10 == 0:
        torch.save(model.state_dict(), "checkpoint.pt")
```

Faster:

```python
for step, batch in enumerate(loader):
    train_step(batch)
    if step % 1000 == 0:
        torch.save(model.state_dict(), "checkpoint.pt")
```

## Fix
1. Do it less often.
2. Plots and logs: outside the loop, or in another process.
3. Checkpoints beside training (`torch.distributed.checkpoint.async_save`): the writing takes cores, memory and disk from the steps
   after it, which may get slower. Compare whole runs.

## Expected gain
At most the gaps in the recorded steps. Over a whole run it depends on how often they come; the finding states the time per gap.

## When it is wrong
A few recorded steps cannot tell how often something happens. A pause of the garbage collector looks alike where nothing marks
it (`advisor collect` does, PY004), and so does a machine that gave the CPU to another process: where `advisor collect` saw that the
thread had no core for as long, and no stack names the work, the rule cannot tell. Nor where ops stand still as often. Gaps in the
first quarter of the steps alone, which nothing names, may be start-up: that is said, and severity is low.

## Thresholds
- `min_ratio`: share of the used steps inside isolated gaps from which the rule fires.

## References
- NVIDIA Nsight Systems, expert rule `gpu_gaps` (500 ms); TraceML, RESIDUAL_HEAVY
- https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, Series, Severity, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share, size
from rules.commands import collect
from rules.idle.pausing import fixes
from rules.place import line_of, location, named
from rules.python import checkpoints
from rules.python.called import by_library, of_library
from traces.trace import Capability

META = RuleMeta(
    code="ID003",
    name="isolated-gaps",
    family="idle",
    title="Long pauses in some steps",
    binds=("python",),
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below 5 % of the recorded steps one gap says little about the run"),
    ),
    explains=("ID002", "PY005"),
    before=("ID001", "PY001"),
    references=("https://docs.pytorch.org/docs/stable/distributed.checkpoint.html",),
)


# A gap that lies anywhere by chance is as seldom as this in the first steps alone.
_FIRST_PART = 0.25
# Where the program had gone through more steps before the recording, nothing is built for the first time.
_EARLY_STEPS = 3
_RECORD_LATER = Advice(
    "python",
    "schedule=torch.profiler.schedule(wait=10, warmup=2, active=6)",
    "Records later steps; so does a loop that has run a few times before. What is built once is gone then, and the rest is what a "
    "run is like.",
)


class _Seen(msgspec.Struct, frozen=True):
    """What tells what the program does in the gaps.

    Args:
        time: The gaps.
        kind: What stacks and ranges say that it is; None where they do not.
        state_bytes: What is copied to the host in these steps alone, as before a checkpoint; None where nothing is, or a kind is
            known.
        line: The user's line; None where none is known.
        taken: Whether the state of the model is taken directly before most of it; False where a kind is known.
    """

    time: IntervalSet
    kind: str | None
    state_bytes: int | None
    line: CodeLine | None
    taken: bool = False

    @property
    def is_named(self) -> bool:
        """Whether anything tells what it is."""
        return self.kind is not None or self.saves or self.line is not None

    @property
    def saves(self) -> bool:
        """Whether what the program does before suggests that it writes the state of the model."""
        return self.state_bytes is not None or self.taken

    @property
    def confidence(self) -> Confidence:
        """The surer, the more directly it is named."""
        if self.kind:
            return Confidence.HIGH
        return Confidence.MEDIUM if self.saves else Confidence.LOW


def _any(facts: Facts, time: IntervalSet, *, placed: bool) -> Advice:
    """What to do about a stop of whatever kind; where a function of a library holds most of it, that one is looked at."""
    by = None if placed else by_library(facts, time)
    if by is not None:
        return by
    note = (
        "" if placed else f"Record with `with_stack=True` (`{collect(facts, '--stacks')}`) to see which function it is."
    )
    return Advice("text", "Do less often, or beside the loop, what stops it here.", note)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when isolated gaps take at least `min_ratio` of the used steps."""
    quiet = _too_little(facts, limits) or _not_the_programs(facts)
    if quiet is not None:
        yield quiet
        return
    seen = _seen(facts)
    yield _without_core(facts, limits, seen) or _stalled(facts, seen) or _finding(facts, seen)


def _too_little(facts: Facts, limits: Limits) -> Outcome | None:
    """That the steps are too few to tell, or the gaps too short; None where they take enough of the steps."""
    pauses = facts.time.pauses
    if not pauses.judged:
        return cannot_tell("needs at least 3 steps to tell what happens once from what happens always")
    ratio = facts.steps.ratio(pauses.isolated.total_ns)
    if ratio >= limits["min_ratio"]:
        return None
    always = "; long gaps in most steps are not isolated (PY001)" if pauses.habitual else ""
    return clear(
        f"isolated gaps of {duration(pauses.limit_ns)} or more take {share(ratio)} of the steps, "
        f"below {share(limits['min_ratio'])}{always}"
    )


def _not_the_programs(facts: Facts) -> Outcome | None:
    """That ops are missing from the trace, so that gaps between those in it may be none; None where they are not."""
    if facts.health.sparse_host_events is not None:
        return cannot_tell(
            "the trace holds next to no op of the training thread (PG005): what looks like a pause may be work of other threads"
        )
    if facts.health.thinned is not None and facts.health.thinned.mostly:
        return cannot_tell(f"{facts.health.thinned.words}: what looks like a pause may be theirs (PG005)")
    return None


def _seen(facts: Facts) -> _Seen:
    """What tells what the program does in the gaps."""
    time = facts.time.pauses.isolated
    kind = facts.time.known_activity(time)
    state = facts.transfer.state_out_bytes(time) if kind is None else None
    return _Seen(time, kind, state, line_of(facts, time), taken=kind is None and checkpoints.taken(facts, time))


def _without_core(facts: Facts, limits: Limits, seen: _Seen) -> Outcome | None:
    """That nothing names the work, and the thread had no core for as long; None where it is not so."""
    if seen.kind is not None:
        return None
    without = facts.time.without_core_ns
    if facts.steps.ratio(seen.time.total_ns - without) >= limits["min_ratio"]:
        return None
    return cannot_tell(
        f"the thread {facts.time.core_words} of the steps, enough to explain the pauses; record on a quiet machine"
    )


def _stalled(facts: Facts, seen: _Seen) -> Outcome | None:
    """That nothing names the work, and ops stand still as often; None where it is not so."""
    stalled = facts.time.stalled_ops
    outside_ns = facts.time.waterfall.owned("python").total_ns
    if seen.is_named or not stalled.as_often(seen.time, outside_ns):
        return None
    return cannot_tell(
        f"the program stops for {duration(seen.time.total_ns)} in all, and {count(stalled.count, 'op')} took "
        f"{duration(stalled.stalled_ns)} longer than in other steps: the thread may have had no core; record on a quiet machine"
    )


def _may_be_start(facts: Facts, seen: _Seen) -> bool:
    """Whether nothing names the gaps, and they lie in the first steps of a program alone, as what is built once does."""
    if seen.is_named or (facts.steps.marked and int(facts.steps.frame["number"].iloc[0]) >= _EARLY_STEPS):
        return False
    held = facts.steps.holding(seen.time).nonzero()[0]
    return len(held) > 0 and int(held[-1]) + 1 <= _FIRST_PART * facts.steps.count


def _finding(facts: Facts, seen: _Seen) -> Finding:
    """The gaps, with what the program does in them as far as that is known."""
    steps = facts.steps.count_with(seen.time)
    what = f" for {seen.kind}" if seen.kind else ""
    where = named(seen.line) if seen.line is not None else of_library(facts, seen.time)
    who = "the GPU idles" if facts.device.main is not None else "no op runs"
    start = _may_be_start(facts, seen)
    return Finding(
        why=(
            f"In {steps} of {count(facts.steps.count, 'step')} the program stops{what}{where}: {who} for "
            f"{duration(seen.time.total_ns)} in all ({share(facts.steps.ratio(seen.time.total_ns))} of the recorded steps)."
            f"{_likely(seen.state_bytes)}{checkpoints.sentence(facts, seen.time) if seen.taken else ''}"
            f"{_ONCE if start else ''}"
        ),
        saving=Saving(
            claims=seen.time, basis="the gaps in the recorded steps; over a run it depends on how often they come"
        ),
        fix=(
            *((_RECORD_LATER,) if start else ()),
            *fixes(facts, seen.kind or ("saving" if seen.saves else "")),
            _any(facts, seen.time, placed=seen.line is not None),
        ),
        verify="Record again over the same steps: the long gaps should be gone.",
        steps_seen=steps,
        confidence=seen.confidence,
        evidence=(Series("duration of each step", "ns", tuple(map(float, facts.steps.durations_ns))),),
        location=location(seen.line),
        caveats=()
        if seen.kind
        else ("It may also be a garbage collection (PY004), or another process that took the CPU.",),
        severity_cap=Severity.LOW if start else Severity.HIGH,
        capped_because="it may be start-up, which a run pays once",
    )


_ONCE = (
    " These are the first steps recorded, and no later one stops: it may be what a program builds once, as TorchScript its modules "
    "in their first calls, a compiler its kernels, an engine its plans. Then a longer run does not lose it again."
)


def _likely(state_bytes: int | None) -> str:
    """What copies to the host in these steps alone suggest; empty where there are none."""
    if state_bytes is None:
        return ""
    return f" In these steps alone {size(state_bytes)} are copied to the host, as before a checkpoint is written."


RULE = Rule(META, check, __doc__)
