"""PY005 unsteady-steps: some steps take much longer than the others.

## What it finds
Steps of at least one and a half times the median, and which cause the difference lies in; steps that hold a whole other loop, such
as an evaluation.

## Why it costs time
The mean step, and with several ranks the slowest rank's, decides how long training takes. A steady loop would take the median.

## How it is measured
The longest of the used steps as a multiple of their median, the first step of the trace left out, with at least five steps. The
causes of slow steps (1.25 times the median or more) are compared with those of the others; the cause with the largest difference
is named. The saving is that difference, where the cause is idle time; pauses that PY004 or ID003 know are part of it, and these
findings then stand for this one. A step that draws five times as many batches as most, and takes three times the median, holds
another loop: it is left out of all other figures, and what it takes beyond the median counts here; where `advisor collect` timed
the steps around the recording, spread over those as well. Where it launches hardly more kernels than the others and copies many
tensors to the host, it saves a state. Unit: nanoseconds.

## Example
Slow:

```python
for step, batch in enumerate(loader):
    train_step(batch)
    if step % 5 == 0:
        print(evaluate(model))
```

Faster:

```python
for step, batch in enumerate(loader):
    train_step(batch)
print(evaluate(model))
```

## Fix
1. Whatever differs: the named cause has a rule of its own.
2. Compute that differs: inputs of changing size; sort or pad them into few sizes.

## Expected gain
At most what slow steps take beyond the others in that cause: mean less median.

## When it is wrong
Steps that update only every few micro-batches (gradient accumulation) differ by design: no saving is claimed then. Where all
steps wait for the loader, some wait longer: that is DL001's, and the rule is silent below five times the usual wait. Few steps:
five show an outlier, not how often it comes. The last step may hold the profiler's stop. On a machine shared with
others steps vary for reasons outside the program: where `advisor collect` saw that the thread had no core for as long, the rule
cannot tell, nor where the difference lies outside ops, ops stand still as often, and without such stretches no step would be slow.

## Thresholds
- `max_ratio`: longest step as a multiple of the median from which the rule fires.
- `min_steps`: steps below which nothing is said.

## References
- gpuprof (p99/p50 above 2); SageMaker Debugger, StepOutlier
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.cause_names import DEVICE_CAUSES
from analyzer.facts import Facts
from analyzer.facts.recording.run_course import RunCourse
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Series,
    Severity,
    cannot_tell,
    clear,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, size
from rules.idle.pausing import fixes

META = RuleMeta(
    code="PY005",
    name="unsteady-steps",
    family="python",
    title="Some steps take much longer",
    thresholds=(
        Threshold(
            "max_ratio",
            1.5,
            "count",
            "gpuprof uses p99/p50 above 2 on 20 steps; with 5 the maximum stands for the tail",
        ),
        Threshold("min_steps", 5, "count", "with fewer the median itself is uncertain"),
    ),
    references=("https://docs.aws.amazon.com/sagemaker/latest/dg/debugger-built-in-profiler-rules.html",),
    measured=True,
)

# As of bursts of waiting (DL004): below so many times the usual wait, slow steps are those of a loader that is always late.
_RARE = 5


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the longest step is at least `max_ratio` times the median."""
    steps = facts.time.unsteady
    number = len(steps.steps)
    if not facts.steps.marked:
        yield cannot_tell(
            "needs step marks (prof.step() after every iteration): where steps are guessed, so are their lengths"
        )
        return
    if len(steps.others) and number:
        yield _another_loop(facts)
        return
    if number < limits["min_steps"]:
        yield cannot_tell(f"needs at least {limits['min_steps']:.0f} steps after the first; {number} can be used")
        return
    if steps.worst_ratio < limits["max_ratio"] or steps.cause is None:
        yield clear(f"the longest step takes {steps.worst_ratio:.2f} times the median, below {limits['max_ratio']:.1f}")
        return
    if steps.cause == "input" and steps.excess_ns < (_RARE - 1) * steps.usual_ns * len(steps.slow):
        yield clear("steps differ by how long they wait for the loader, as most of them do: see DL001 and its children")
        return
    if steps.excess_ns <= facts.time.without_core_ns:
        yield cannot_tell(
            f"the thread {facts.time.core_words} of the steps, enough to explain it; record on a quiet machine"
        )
        return
    stalls = facts.time.stalls
    left_ns = steps.excess_ns - (stalls.without_core & steps.slow_time).total_ns
    # Without them no step would be as long.
    if steps.cause == "python" and left_ns < (limits["max_ratio"] - 1) * steps.median_ns:
        yield cannot_tell(
            f"the difference are {count(len(stalls.gaps), 'stretch', 'stretches')} outside ops longer than in other steps, as "
            f"{count(stalls.ops.count, 'op is', 'ops are')}: the thread may have had no core; record on a quiet machine"
        )
        return
    slow = ", ".join(f"#{step}" for step in steps.slow[:5])
    take = "takes" if len(steps.slow) == 1 else "take"
    yield Finding(
        why=(
            f"{count(len(steps.slow), 'step')} of {number} ({slow}) {take} up to {steps.worst_ratio:.1f} times the median of "
            f"{duration(steps.median_ns)}; {duration(steps.excess_ns)} of the difference is {_word(facts, steps.cause)}."
        ),
        saving=_saving(facts, steps.cause),
        fix=(_fix(facts, steps.cause),),
        verify="Record at least 5 steps again: the longest should stay below 1.5 times the median.",
        steps_seen=len(steps.slow),
        confidence=Confidence.MEDIUM,
        evidence=(
            Series("duration of each step", "ns", tuple(map(float, steps.durations_ns))),
            Bars("steps", "ns", (Bar("median", steps.median_ns), Bar("longest", float(max(steps.durations_ns))))),
        ),
        caveats=("A few recorded steps do not tell how often this happens.",),
    )


# A loop inside a step, by what was seen between the steps of the whole run.
_SAID = {"evaluation": "an evaluation", "rollouts": "a rollout"}
_EITHER = Advice(
    "text",
    "Do it less often, or less of it. An evaluation: on fewer batches. A rollout: step many environments at once.",
    "The recording does not tell which it is; the timeline shows the ops.",
)


def _seen_between(facts: Facts, *, draws: bool) -> str | None:
    """Which of those loops the run is seen in most; of one that nobody saw only that it evaluates where it draws batches."""
    run = facts.recording.run_course
    seen = run.kinds if run is not None else {}
    return next((kind for kind in seen if kind in _SAID), "evaluation" if draws else None)


def _another_loop(facts: Facts) -> Finding:
    """The finding on steps that hold a loop of their own."""
    steps = facts.time.unsteady
    others = steps.with_another_loop
    longest, taken = float(max(one.dur_ns for one in others)), sum(one.dur_ns for one in others)
    excess = int(taken - len(others) * steps.median_ns)
    seen = facts.steps.count + len(others)
    run = facts.recording.run_course
    # One evaluation among six steps is one in many where the steps around the recording hold none.
    beside = (run.steps, run.loop_ns, run.work_ns) if run is not None else (0, 0, 0)
    number, spent, lost = (
        one + more for one, more in zip((seen, facts.steps.total_ns + taken, excess), beside, strict=True)
    )
    named = ", ".join(f"#{one.number}" for one in others[:5])
    what = others[0].what
    state = facts.transfer.state_beside_bytes([one.number for one in others])
    kind = "saving" if state is not None else _seen_between(facts, draws=all(one.draws for one in others))
    brief = "another loop" if state is None else "a checkpoint"
    return Finding(
        why=(
            f"{count(len(others), 'step')} of {seen} ({named}) "
            f"{_held(kind, state, alone=len(others) == 1)}: {what}. "
            f"{duration(longest)} are {longest / steps.median_ns:.0f} times the median of {duration(steps.median_ns)}, and in no "
            f"other figure of this report.{_beside(run)}"
        ),
        saving=Saving(
            basis=(
                "what these steps take beyond the median, spread over all recorded steps; a run holds them as often as it may"
                if run is None
                else "what these steps and long ones of the run take beyond the median, spread over the recorded steps and those "
                "that ran without the profiler"
            ),
            between_ns=lost // number,
            between_ratio=lost / spent,
        ),
        fix=(_EITHER,) if kind is None else fixes(facts, kind),
        verify=f"Record again: steps should be alike, and {brief} come less often or take less.",
        steps_seen=len(others),
        confidence=Confidence.MEDIUM,
        evidence=(Bars("steps", "ns", (Bar("median", steps.median_ns), Bar(f"with {brief}", longest))),),
        caveats=("A few recorded steps do not tell how often this happens.",) if run is None else (),
        severity_cap=Severity.MEDIUM,
        title="Some steps hold another loop" if state is None else "Some steps save a state",
    )


def _held(kind: str | None, state: int | None, *, alone: bool) -> str:
    """What such a step does, or several of them do, as the rest of a sentence."""
    if state is None:
        loop = "an evaluation or a rollout" if kind is None else _SAID[kind]
        return f"{'holds' if alone else 'hold'} another loop, such as {loop}"
    copy, launch = ("copies", "launches") if alone else ("copy", "launch")
    return f"{copy} {size(state)} to the host, as before a checkpoint is written, and {launch} hardly more kernels than the others"


def _beside(run: RunCourse | None) -> str:
    """How many steps around the recording are long as well, where they were timed."""
    if run is None:
        return ""
    number = run.long_steps or "none"
    return f" Of {count(run.steps, 'step')} that ran without the profiler {number} took three times their median."


def _word(facts: Facts, cause: str) -> str:
    if facts.time.unsteady.updates_seldom:
        return "the optimizer, which does not run in the others: gradients are accumulated"
    if cause == "compute":
        return "work of the model itself" if facts.device.main is None else "GPU work"
    return f"`{cause}`"


def _saving(facts: Facts, cause: str) -> Saving:
    if cause in DEVICE_CAUSES or facts.time.unsteady.updates_seldom:
        return Saving(basis="none of its own: slow steps do more work")
    if cause == "compile" and not facts.model.compiled.goes_on:
        return Saving(basis="none of its own: only the first half of the steps compiles, as at each start (GR003)")
    owned = facts.time.waterfall.owned(cause) & facts.time.unsteady.slow_time
    excess = facts.time.unsteady.excess_ns / owned.total_ns if owned else 0.0
    return Saving(
        claims=owned.scaled(min(excess, 1.0)),
        basis="what slow steps lose beyond the others in this cause",
    )


def _fix(facts: Facts, cause: str) -> Advice:
    if facts.time.unsteady.updates_seldom:
        return Advice(
            "text", "Nothing: steps differ by design.", "Call prof.step() once an update to compare whole ones."
        )
    if cause == "compute":
        if facts.device.main is None:
            note = "Or another process takes the CPU: record on a quiet machine."
        else:
            note = "Changing input sizes also make cuDNN and the allocator start anew."
        return Advice("text", "Look for inputs of changing size: sort or pad them into few sizes.", note)
    return Advice(
        "text", f"Compare slow and usual steps in the timeline: the difference is `{cause}`, see the finding on it.", ""
    )


RULE = Rule(META, check, __doc__)
