"""ID004 work-between-steps: much of the run is not in its steps.

## What it finds
What a program does between bursts of steps: rollouts, evaluations, checkpoints, ends of epochs. A trace of some steps does not show
it, however much of the run it takes. And evaluations, checkpoints, plots in most steps, or that make one little longer.

## Why it costs time
Training stands still meanwhile. Where updates are a tenth of a run, making them twice as fast saves a twentieth of it.

## How it is measured
`advisor collect` counts every step of the run, from the end of one to the end of the next, and samples the training thread's stack
20 times a second while a step already takes three times as long as usual; where the garbage collector kept the interpreter's lock
meanwhile, once, where it began, for all of the time. Counted is by how much steps of at least three medians,
and 10 ms, exceed the median, as a share of all steps together. Time in the training's own loader is left out: DL001 and its kin
tell of it. So is what a rank waits in a collective: rules of communication tell of that, and the other ranks' files what they did
meanwhile. So is time in which the thread had no core because other programs had them, and what usual steps do as well, at which
the stack is looked at too: such a step is longer, and does nothing else. What it is, names of functions and files
tell that are not torch's own; a method of a class with `step`, `reset` and a space to act in is an environment's, and its time a
rollout's. The figures are of the run without the profiler, and of the whole of it, not of the recorded steps.
Usual steps are looked at as well: what `evaluate`, `save` and their kin take of these looks is told without a device, where half as
much of the recorded steps or more lies between an update and the next forward pass, and claimed is no more than that.
Of an evaluation in the recorded steps it is told where autograd records half of its layers or more: such an op takes a sequence
number, and no backward pass follows before the next update.
Steps that are less than three times as long, and longer than the others at regular distances, are told beside, of runs of up to 256
steps: nobody looks at what is done in them.

## Example
Slow:

```python
for step, batch in enumerate(loader):
    train_step(batch)
    if step % 50 == 0:
        evaluate(model, valid_loader)
        torch.save(model.state_dict(), "checkpoint.pt")
```

Faster:

```python
for step, batch in enumerate(loader):
    train_step(batch)
    if step % 500 == 0:
        evaluate(model, valid_loader)
        torch.save(model.state_dict(), "checkpoint.pt")
```

## Fix
1. Do it less often, or less of it: fewer validation batches, fewer checkpoints.
2. `torch.inference_mode()` around an evaluation that autograd records: it keeps the activations of all layers for nothing.
3. Do it faster: an evaluation is a loop of its own, with its own loader and batch size; rollouts run in many environments at once.
4. Checkpoints beside training (`torch.distributed.checkpoint.async_save`): the writing takes cores, memory and disk from the steps
   after it, which may get slower. Compare whole runs.
5. Workers that each pass through a loader starts and ends: `persistent_workers=True`, or none where batches are made in no time.
6. Collections of garbage that the program or its framework asks for: `gc.collect(); gc.freeze()` before the loop, so that they pass
   over what was imported; or fewer of them.

## Expected gain
At most what lies between the steps. How much of it can go is yours to say: evaluations and rollouts are part of the work.

## When it is wrong
Steps that differ by design (gradient accumulation over very different numbers of batches, sequences of any length) look like work
between steps; the function that was seen tells. Where the system does not tell how long a thread had no core (Linux does), steps
are long on a shared machine for no reason of their own.
Where neither a name tells what long steps do, nor usual ones were looked at often enough to compare, nothing is said.
A run that was ended early (`--stop`) may not have come to its evaluation yet.

## Thresholds
- `min_ratio`: share of all steps of the run that lies between usual ones from which the rule fires.

## References
- TraceML, RESIDUAL_HEAVY; https://docs.python.org/3/library/sys.html#sys._current_frames
- https://docs.pytorch.org/docs/stable/distributed.checkpoint.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.recording.place_kinds import COLLECTING
from analyzer.facts.recording.run_course import RunCourse
from analyzer.facts.recording.run_places import Place
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Column,
    Confidence,
    Finding,
    Location,
    Outcome,
    Saving,
    Table,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.idle.pausing import PAGES, fixes, recorded
from rules.idle.within_steps import within_steps

META = RuleMeta(
    code="ID004",
    name="work-between-steps",
    family="idle",
    title="Work between the steps",
    thresholds=(
        Threshold("min_ratio", 0.10, "ratio", "from a tenth of the run on a finding is of medium severity (rules.md)"),
    ),
    # Of a whole run it tells what PY005 sees in a few steps.
    explains=("PY005",),
    references=("https://docs.python.org/3/library/sys.html#sys._current_frames",),
)
# Named are functions with this share of what lies between, the first three.
_NAMED_RATIO, _NAMED = 0.1, 3
# A part of the run that is worth a word.
_WORTH_A_WORD = 0.05
# From this part on it is called by what most of it is.
_MOSTLY = 0.5
# More than these and nobody reads the first.
_MOST_FIXES = 4
_ANY = Advice(
    "text",
    "Do less often, or less of, what is named above.",
    "Making steps faster gains only on their share of the run.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when at least `min_ratio` of the run lies between usual steps."""
    run = facts.recording.run_course
    if run is None:
        yield not_applicable("the trace does not say how its run went on: `advisor collect` records that of a script")
        return
    if not run.judged:
        yield cannot_tell(f"needs at least 20 steps without the profiler; the run had {run.steps}")
        return
    inside = tuple(within_steps(facts, run, limits["min_ratio"]))
    yield from inside
    if run.work_ratio >= limits["min_ratio"] and run.told_apart:
        yield _between(facts, run)
    elif not inside:
        yield _nothing(run, limits["min_ratio"])


def _nothing(run: RunCourse, least: float) -> Outcome:
    """Why there is no finding."""
    if run.regular is not None and run.regular_ratio >= least:
        return cannot_tell(
            f"{_regular(run)}; what it does in these nobody looked at, as no step takes three times the median: look for what the "
            "loop does then alone, on this rank or on one that it waits for"
        )
    if run.work_ratio < least:
        return clear(
            f"usual steps are {share(1 - run.work_ratio)} of the run's {count(run.steps, 'step')}: {share(run.work_ratio)} lies "
            f"between them, below {share(least)}{_as_usual(run)}"
            f"{_also(_regular(run))}{_outside(run)}"
        )
    return cannot_tell(
        f"{share(run.work_ratio)} of the run lies in {count(run.long_steps, 'step')} of three times the median and more, and "
        "too few looks at the stack tell whether they do something else or more of the same: needs a longer run"
    )


def _between(facts: Facts, run: RunCourse) -> Finding:
    """The finding on what lies between the steps."""
    each = duration(run.between_ns / run.long_steps)
    return Finding(
        why=(
            f"The recorded steps stand for {share(1 - run.work_ratio)} of the run: {duration(run.work_ns)} of "
            f"{duration(run.loop_ns)} lie between usual steps of {duration(run.median_ns)}, {run.rhythm}, {each} each."
            f"{_seen(run)}{''.join(recorded(facts, kind) for kind in run.kinds)}"
        ),
        saving=Saving(
            between_ns=run.work_ns // run.steps,
            between_ratio=run.work_ratio,
            basis="what lies between usual steps, over all steps of the run and spread over them; it is in no recorded step",
        ),
        fix=(*(advice for kind in run.kinds for advice in fixes(facts, kind)), _ANY)[:_MOST_FIXES],
        verify="Run `advisor collect` again: a larger share of the run should be usual steps.",
        steps_seen=0,
        confidence=Confidence.HIGH if run.kinds else Confidence.MEDIUM,
        evidence=_evidence(run),
        location=_location(run),
        caveats=_caveats(run),
        title=_title(run),
        references=tuple(PAGES[kind] for kind in run.kinds if kind in PAGES),
    )


def _title(run: RunCourse) -> str | None:
    """`Rollouts between the steps` where one kind is most of it."""
    kind, ratio = next(iter(run.kinds.items()), ("", 0.0))
    return f"{kind.capitalize()} between the steps" if ratio >= _MOSTLY else None


def _seen(run: RunCourse) -> str:
    named = [place for place in run.work if place.ratio >= _NAMED_RATIO][:_NAMED]
    if not named:
        return ""
    return f" Seen there: {', '.join(f'{_named(place)} {share(place.ratio)}' for place in named)}."


def _as_usual(run: RunCourse) -> str:
    """What long steps hold beside it, where that is much."""
    part = run.between_ns / run.loop_ns
    parts = [
        (
            run.as_usual_ratio,
            "lies in steps that take longer over what every step does: larger inputs, or other programs on the cores",
        ),
        (run.ranks_ratio, "lies in steps that wait for other ranks"),
    ]
    return "".join(f"; {share(ratio * part)} {what}" for ratio, what in parts if ratio * part >= _WORTH_A_WORD)


def _regular(run: RunCourse) -> str:
    """That steps take longer every so often, as a checkpoint or a log makes them; empty where they do not."""
    if run.regular is None:
        return ""
    return (
        f"one of every {count(run.regular.every, 'step')} takes {duration(run.regular.more_ns)} longer than the others, "
        f"{share(run.regular_ratio)} of the run, as where a checkpoint or a log is written"
    )


def _also(text: str) -> str:
    return f"; {text}" if text else ""


def _outside(run: RunCourse) -> str:
    """What of the run is in no step at all, where that is much: preparing data, or a last evaluation."""
    parts = [f"{share(ratio)} is {where}" for where, ratio in run.outside.items() if ratio >= _WORTH_A_WORD]
    return f"; of the whole run {' and '.join(parts)}" if parts else ""


def _named(place: Place) -> str:
    """`` `evaluate` (train.py), from line 40 of train.py ``."""
    line = f", from line {place.own_line} of {place.own_file}" if place.own_line else ""
    return f"`{place.function}` ({place.file}{line})"


def _location(run: RunCourse) -> Location | None:
    """The program's own line that leads to most of it."""
    found = next((place for place in run.work if place.own_file), None)
    return None if found is None else Location(found.own_file or "", found.own_line, found.own_function)


def _evidence(run: RunCourse) -> tuple[Bars | Table, ...]:
    usual = run.loop_ns - run.between_ns
    bars = [
        Bar("before the first step", run.before_ns),
        Bar("usual steps", usual),
        Bar("between them", run.between_ns),
        Bar("after the last step", run.after_ns),
        *([Bar("without a core", run.waited_ns)] if run.waited_ns else []),
    ]
    table = Table(
        "what was seen between the steps",
        (Column("function", "text"), Column("file", "text"), Column("from", "text"), Column("share", "ratio")),
        tuple(
            (place.function, place.file, f"{place.own_file}:{place.own_line}" if place.own_file else "", place.ratio)
            for place in run.places[:8]
        ),
    )
    return (Bars("the run", "ns", tuple(bars)), *((table,) if run.places else ()))


def _caveats(run: RunCourse) -> tuple[str, ...]:
    # A pass of the collector over what was imported is no part of the work.
    collecting = run.kinds.get(COLLECTING, 0.0) >= _MOSTLY
    found = (
        [] if collecting else ["Evaluations and rollouts are part of the work: only what is more than you need can go."]
    )
    if run.stopped:
        found.append("The run was ended once its steps were recorded: a whole one may differ.")
    if not run.kinds:
        found.append(
            "No name tells what it is: it may also be steps that differ"
            + ("." if run.waited_ns else ", or other programs that took the cores.")
        )
    return tuple(found)


RULE = Rule(META, check, __doc__)
