"""ID005 output-in-steps: the loop writes to the terminal, a log or a file in most of its steps.

## What it finds
Printing, logging, progress bars, experiment trackers, pictures and checkpoints that the thread of the loop writes in half of the
steps or more, while nothing else goes on.

## Why it costs time
A write waits for the terminal, the disk or the network, and formatting runs in Python. Meanwhile the loop launches nothing. A
number written every hundredth step tells as much as one written in every step.

## How it is measured
Python calls that write (recorded with stacks), on the thread of the loop, within the time that Python owns of the used steps.

## Example
Slow:

```python
for step, batch in enumerate(loader):
    loss = train_step(batch)
    writer.add_scalar("loss", loss.item(), step)
    print(f"step {step}: {loss.item():.3f}", flush=True)
```

Faster:

```python
for step, batch in enumerate(loader):
    loss = train_step(batch)
    if step % 100 == 0:
        writer.add_scalar("loss", loss.item(), step)
```

## Fix
1. Write every hundredth step; keep values on the device until then.
2. Progress bars: `tqdm(loader, mininterval=5)`.
3. Checkpoints: less often, or from another thread (`torch.distributed.checkpoint.async_save`), whose copy takes memory and slows
   the steps beside it.

## Expected gain
At most the time of these calls in which nothing else runs, and of the idle time after them as much as they took while the device
was busy.

## When it is wrong
Recording stacks makes Python calls longer than they are: the share is an upper bound. The thresholds are reasoned, not
calibrated: no recording on a GPU has judged them.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.
- `min_steps_ratio`: share of the steps that write; of fewer, pauses of single steps speak (ID003).

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.idle.pausing import NEEDS_GLOO
from rules.place import line_of, location, named
from rules.purpose import by_purpose
from traces.trace import Capability

_RARELY = "Write every hundredth step; keep values on the device until then."
_LESS_OFTEN = Advice("python", "if step % 100 == 0:\n    writer.add_scalar('loss', loss.item(), step)", _RARELY)
_LESS_OFTEN_RUNNING = Advice(
    "python", "if number % 100 == 0:\n    writer.add_scalar('latency', latency, number)", _RARELY
)
_ADVICE = {
    "progress bar": Advice(
        "python", "for batch in tqdm(loader, mininterval=5):", "The bar is drawn every five seconds."
    ),
    "checkpoint": Advice(
        "python",
        "torch.distributed.checkpoint.async_save(state, checkpoint_id=path)",
        f"Less often, or from another thread; its copy takes memory, and the steps beside it may be slower. {NEEDS_GLOO}",
    ),
}

META = RuleMeta(
    code="ID005",
    name="output-in-steps",
    family="idle",
    title="Steps write output",
    needs=frozenset({Capability.STACKS}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),
        Threshold("min_steps_ratio", 0.5, "ratio", "what a minority of steps does are pauses (ID003)"),
    ),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    before=("ID001", "PY001"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when writing owns `min_ratio` of the steps, and `min_steps_ratio` of them write."""
    found = facts.host.output
    if facts.host.main_thread is None:
        yield cannot_tell("which thread runs the loop is not known")
        return
    owned = facts.time.waterfall.owned("python") & found.spans
    ratio = facts.steps.ratio(owned.total_ns)
    steps = facts.steps.count_with(owned)
    if ratio < limits["min_ratio"]:
        yield clear(f"writing holds up {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    if steps < limits["min_steps_ratio"] * facts.steps.count:
        yield clear(f"{steps} of {facts.steps.count} steps write: pauses of single steps")
        return
    kind, _ = next(iter(found.kinds.items()))
    line = line_of(facts, owned)
    yield Finding(
        why=f"The loop writes in {steps} of {facts.steps.count} steps, {duration(facts.steps.per_step(owned.total_ns))} a step "
        f"({share(ratio)}) in which nothing else goes on, mostly to: {kind}{named(line)}.",
        saving=Saving(
            claims=owned, behind=facts.sync.behind(found.spans), basis="Python's time inside calls that write"
        ),
        fix=(_ADVICE[kind],) if kind in _ADVICE else by_purpose(facts, (_LESS_OFTEN_RUNNING,), (_LESS_OFTEN,)),
        verify="Record again: the calls should be gone from most steps.",
        steps_seen=steps,
        confidence=Confidence.MEDIUM,
        location=location(line),
        evidence=(
            Bars(
                "writing, mean step", "ns", tuple(Bar(one, facts.steps.per_step(ns)) for one, ns in found.kinds.items())
            ),
        ),
        caveats=("Recording stacks makes Python calls longer than they are.",),
    )


RULE = Rule(META, check, __doc__)
