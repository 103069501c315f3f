"""GR003 compilation-in-steps: the model is compiled while it should be training.

## What it finds
Compiling inside the recorded steps, and whether it is the first time or happens again and again.

## Why it costs time
Compiling one graph takes seconds. Once, that is the price of `torch.compile`; but every input shape, flag or Python value that
differs from what the compiled code was specialised for starts it again, and training stands still meanwhile.

## How it is measured
Ranges of the compiler, such as `... (dynamo_timed)`, as a share of the used steps. It is a recompilation where more than one
used step holds such a range, or where several versions of one frame (`Torch-Compiled Region: 0/0`, `0/1`) were called; only
then, and where the second half of the steps holds one, there is something to save: the time the waterfall gives to the cause
`compile`. A single compilation, or several in the first steps alone, only spoil the recording (PG002). Calls that capture, make or
destroy CUDA graphs count as well, where each graph is replayed at most about twice (issue 171672 of pytorch: 12 times slower than
without).

## Example
Slow:

```python
model = torch.compile(model)
for batch in loader:  # every batch has another length
    model(batch)
```

Faster:

```python
model = torch.compile(model, dynamic=True)
for batch in loader:
    model(batch)
```

## Fix
1. Once: start recording later, `schedule(wait=5, warmup=2, active=6, repeat=1)`; Triton's own kernels: call each once beforehand.
2. Again and again: `TORCH_LOGS=recompiles python train.py` names the guard that failed.
3. Sizes that change: `dynamic=True`, `torch._dynamo.mark_dynamic`, or pad to a few fixed lengths.
4. Inside the optimizer's step: its learning rate as a tensor; as a number each value of a schedule is compiled anew.

## Expected gain
At most the time that compiling owns in the steps, and idle time behind as much as it took beside a busy device.

## When it is wrong
Capturing CUDA graphs (`mode="reduce-overhead"`) happens in the second and third call and looks like compiling. Captures count only
where graphs are made all through the recording and replayed about once each.

## Thresholds
- `min_ratio`: share of the used steps spent compiling.

## References
- https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html
- https://docs.pytorch.org/tutorials/recipes/compiling_optimizer_lr_scheduler.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.commands import run
from rules.optimizer.advice import FOREACH_CLASSES

META = RuleMeta(
    code="GR003",
    name="compilation-in-steps",
    family="graph",
    title="Compiling inside the steps",
    binds=("compile",),
    thresholds=(Threshold("min_ratio", 0.01, "ratio", "rules.md GR003: steady training compiles nothing at all"),),
    references=(
        "https://docs.pytorch.org/docs/stable/torch.compiler_troubleshooting.html",
        "https://docs.pytorch.org/tutorials/recipes/compiling_optimizer_lr_scheduler.html",
    ),
    measured=True,
)

_PAID_ONCE = "a single compilation is paid once: it spoils the recording, not the training"
_PAID_AT_FIRST = (
    "compiling ends in the first half of the steps: what each new size costs once spoils the recording, not the training, unless "
    "sizes come later that none of these had"
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when compiling takes `min_ratio` of the used steps."""
    found = facts.model.compiled
    captured = facts.steps.ratio(found.capturing.total_ns)
    if captured >= limits["min_ratio"] and found.capturing.total_ns > found.compiling.total_ns:
        yield _captured(facts, captured)
        return
    if not found.compiling and not found.regions:
        yield not_applicable("nothing is compiled in the used steps")
        return
    ratio = facts.steps.ratio(found.compiling.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"compiling takes {share(ratio)} of the steps, below {share(limits['min_ratio'])}")
        return
    several = found.compiling_steps > 1 or found.versions > 1
    again = several and found.goes_on
    owned = facts.time.waterfall.owned("compile")
    versions = f"; one frame has {found.versions} versions" if found.versions > 1 else ""
    by_triton = 2 * found.kernels.total_ns > found.compiling.total_ns
    what = (
        "Compiling kernels, which Triton does at the first call with new types, sizes or constants,"
        if by_triton
        else "Compiling"
    )
    yield Finding(
        why=f"{what} takes {duration(facts.steps.per_step(found.compiling.total_ns))} of {_where(facts, ratio)}{versions}.",
        saving=Saving(
            claims=owned, behind=facts.sync.behind(found.compiling), basis="time that compiling owns in the steps"
        )
        if again
        else Saving(basis=_PAID_AT_FIRST if several else _PAID_ONCE),
        fix=_before_the_first(facts) if by_triton else _fix(facts, several=several, again=again),
        verify="Record again after the warm-up: no step should hold a range that ends in `(dynamo_timed)`"
        f"{', and no frame of `triton/compiler`' if by_triton else ''}.",
        steps_seen=found.compiling_steps,
        confidence=Confidence.HIGH if again else Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                _bars(facts, "compiling", found.compiling, owned),
            ),
        ),
        title="Compiled again and again" if again else None,
    )


def _bars(facts: Facts, what: str, spans: IntervalSet, owned: IntervalSet) -> tuple[Bar, ...]:
    """How long it takes, and how long a device, if there is one, idles for it."""
    taken = Bar(what, facts.steps.per_step(spans.total_ns))
    if facts.device.main is None:
        return (taken, Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - spans.total_ns)))
    return (taken, Bar("while the device idles", facts.steps.per_step(owned.total_ns)))


def _where(facts: Facts, ratio: float) -> str:
    """Of which steps compiling is how much."""
    if facts.steps.count == 1:
        return f"{facts.steps.each} ({share(ratio)})"
    steps = count(facts.model.compiled.compiling_steps, "step")
    return f"each step on average ({share(ratio)}), in {steps} of {facts.steps.count}"


def _captured(facts: Facts, ratio: float) -> Finding:
    """Graphs that are captured for one replay."""
    found, spans = facts.model.compiled, facts.model.compiled.capturing
    owned = facts.time.waterfall.owned("compile")
    region = found.regions > 0
    mode = Advice(
        "diff",
        '-model = torch.compile(model, mode="reduce-overhead")\n+model = torch.compile(model)',
        "Without graphs: as fast as they would be where kernels are long. `max-autotune-no-cudagraphs` is max-autotune without.",
    )
    why_again = Advice(
        "shell",
        run(facts, "TORCH_LOGS=cudagraphs,recompiles"),
        "Says why a graph is recorded anew: other addresses or sizes of inputs, a pending backward pass, an output still in use.",
    )
    once = Advice(
        "text",
        "Capture once, before the loop, with inputs in tensors that stay (`static.copy_(batch)`), and only `graph.replay()` in it.",
        "Where the program captures by itself.",
    )
    return Finding(
        why=f"{found.captures:,} graphs are captured and made in the steps, and each is replayed about once: "
        f"that takes {duration(facts.steps.per_step(spans.total_ns))} of {facts.steps.each} ({share(ratio)}). "
        "A graph pays when it is replayed many times.",
        saving=Saving(
            claims=owned, behind=facts.sync.behind(spans), basis="time that capturing and compiling own in the steps"
        ),
        fix=(mode, why_again) if region else (once,),
        verify="Record again: `cudaGraphLaunch` in each step, and no `cudaGraphInstantiate`.",
        steps_seen=facts.steps.count_with(found.capturing),
        confidence=Confidence.HIGH if facts.steps.marked else Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                _bars(facts, "capturing", found.capturing, owned),
            ),
        ),
        caveats=()
        if facts.steps.marked
        else ("Where only first calls were recorded, these are the captures that belong at the start: record later.",),
        title="Graphs captured again and again",
    )


def _tensor_rate(name: str) -> Advice:
    """An update has no sizes that change: what does is its learning rate, which as a number of Python is compiled in."""
    return Advice(
        "diff",
        f"-optimizer = torch.optim.{name}(model.parameters(), lr=lr)\n"
        f"+optimizer = torch.optim.{name}(model.parameters(), lr=torch.tensor(lr))",
        "What is compiled is the optimizer's step. A scheduler changes its learning rate, a number that the compiler takes for "
        "fixed: as a tensor it may change.",
    )


def _of_update(facts: Facts) -> bool:
    """Whether most of the compiling is done inside the optimizer's step."""
    compiling = facts.model.compiled.compiling
    return 2 * (compiling & facts.model.optimizing.step_time).total_ns > compiling.total_ns


def _before_the_first(facts: Facts) -> tuple[Advice, ...]:
    """Triton's kernels are compiled where nobody waits for them."""
    return (
        Advice(
            "text",
            "Call each kernel once with the types and sizes that come, before what is timed"
            + (" and before the first request is answered." if facts.model.infers else "."),
            "An engine has a warm-up for it; what that leaves out its log says, where it watches for compiling.",
        ),
        Advice(
            "shell",
            run(facts, "TRITON_CACHE_DIR=a_folder_that_stays TRITON_CACHE_AUTOTUNING=1"),
            "Compiled kernels, and what tuning chose, are there at the next start. In a container the folder has to outlive it.",
        ),
    )


def _fix(facts: Facts, *, several: bool, again: bool) -> tuple[Advice, ...]:
    """What to do about compiling.

    Args:
        facts: The measurements.
        several: Whether it happens more than once.
        again: Whether it goes on.
    """
    later = Advice(
        "python",
        "prof_schedule = torch.profiler.schedule(wait=5, warmup=2, active=6, repeat=1)",
        "Let the steps before the recording compile.",
    )
    if not several:
        return (later,)
    names = Advice(
        "shell",
        run(facts, "TORCH_LOGS=recompiles"),
        "Names the guard that failed: which input changed, and how.",
    )
    if not again:
        return (later, names)
    if _of_update(facts):
        known = facts.model.optimizing.class_name in FOREACH_CLASSES
        return (_tensor_rate(facts.model.optimizing.class_name), names) if known else (names,)
    return (
        names,
        Advice(
            "python",
            "model = torch.compile(model, dynamic=True)",
            "Where sizes change; or pad them to a few fixed lengths.",
        ),
        later,
    )


RULE = Rule(META, check, __doc__)
