"""GR002 graph-breaks: a compiled model falls apart into several regions with uncompiled code between them.

## What it finds
Steps that call two or more compiled regions with eager operators between them, or that spend noticeable time checking guards.

## Why it costs time
Where the compiler meets something it cannot trace (a print, `.item()`, an unsupported library), it ends a region, lets Python
run, and begins another. Between regions nothing is fused, every operator is launched by itself, and each region checks its
guards before it runs.

## How it is measured
Regions are ops named `Torch-Compiled Region: <frame>/<version>`; after a graph break the rest of a function is a region with a
number of its own, inside or after the one before. Per step, the time from the first to the last region that lies in neither a
region nor a guard (`TorchDynamo Cache Lookup`, `Pregraph bytecode`) nor the backward pass; and in a region that calls another
one, what its compiled code does not own. Fires with at least `min_regions` distinct frames a step, when eager ops own
`min_eager_ratio` of the steps there, or guards and the way from one region into the next `min_guard_ratio`. The bound is the
device-idle part of these, and of entering all but one of the compiled functions; on a CPU-only trace all but the ops.

## Example
Slow:

```python
@torch.compile
def forward(x):
    y = block1(x)
    print(y.mean().item())
    return block2(y)
```

Faster:

```python
@torch.compile(fullgraph=True)
def forward(x):
    return block2(block1(x))
```

## Fix
1. `TORCH_LOGS=graph_breaks python train.py` names every break with its line and reason.
2. Move prints, `.item()` and logging out of the model; `fullgraph=True` turns the next break into an error.

## Expected gain
About the idle time between the regions, in guards and in entering compiled code; what one graph fuses across the breaks comes on
top, and no trace of the broken one shows it.

## When it is wrong
Blocks that are compiled one by one (regional compilation) are meant to be several regions. Before torch 2.3 regions have no
numbers, and frames cannot be told apart. Where the whole training step is compiled, its graph ends at the backward pass and at the
update in any case: the rule cannot tell.

## Thresholds
- `min_regions`: distinct compiled frames per step.
- `min_eager_ratio`: share of the used steps that ops own between regions.
- `min_guard_ratio`: share of the used steps spent checking guards and going from one region into the next.

## References
- https://docs.pytorch.org/docs/stable/torch.compiler_profiling_torch_compile.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Figure,
    Finding,
    Outcome,
    Saving,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, share
from rules.commands import run
from rules.place import line_of, location
from traces.trace import Capability

META = RuleMeta(
    code="GR002",
    name="graph-breaks",
    family="graph",
    title="Compiled model breaks into regions",
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_regions", 2, "count", "one region has nothing between regions"),
        Threshold("min_eager_ratio", 0.05, "ratio", "rules.md GR002"),
        Threshold("min_guard_ratio", 0.02, "ratio", "rules.md GR002; guards of a healthy region take some 30 us"),
    ),
    references=("https://docs.pytorch.org/docs/stable/torch.compiler_profiling_torch_compile.html",),
    measured=True,
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a step calls several compiled frames with eager ops or guards of noticeable length between them."""
    found = facts.model.compiled
    if not found.regions:
        yield not_applicable("no compiled region in the used steps")
        return
    eager, guards = facts.steps.ratio(found.eager.total_ns), facts.steps.ratio((found.guards | found.passing).total_ns)
    broken = found.frames_per_step >= limits["min_regions"]
    if not broken or (eager < limits["min_eager_ratio"] and guards < limits["min_guard_ratio"]):
        yield clear(
            f"compiled frames a step: {found.frames_per_step}; eager ops between them {share(eager)} of it, "
            f"guards and the way between them {share(guards)}"
        )
        return
    if found.whole_steps:
        yield cannot_tell(
            "what is compiled runs the backward pass, at which a graph ends in any case: which of the "
            f"{found.frames_per_step} frames a step are the model's is not in the trace; `TORCH_LOGS=graph_breaks` names each "
            "break with its line"
        )
        return
    claims = _claims(facts)
    yield Finding(
        why=f"A step calls {found.frames_per_step} compiled frames; eager ops between them own {share(eager)} of it, guards and "
        f"the way from one to the next {share(guards)}.{_reading(facts)}",
        saving=Saving(
            claims=claims,
            behind=facts.sync.behind(found.eager | found.guards | found.passing),
            basis="idle time between compiled regions, in guards, and in entering each; one graph fuses more, which is not in it",
            kind=Figure.ESTIMATE,
        ),
        fix=_fix(facts),
        verify="Record again: one `Torch-Compiled Region` per pass over the model, and fewer ops between.",
        steps_seen=facts.steps.count_with(found.between | found.guards | found.passing),
        confidence=Confidence.MEDIUM,
        evidence=(_bars(facts),),
        location=location(line_of(facts, found.eager or found.between)),
        caveats=("Blocks that you compile one by one on purpose look the same.",),
    )


def _claims(facts: Facts) -> IntervalSet:
    found, owned = facts.model.compiled, facts.time.waterfall.owned
    # A whole graph is entered once.
    entering = found.wrappers.scaled(1 - 1 / found.frames_per_step)
    if facts.device.main is None:
        return ((found.guards | found.passing | entering) & facts.steps.window) | (found.between & owned("python"))
    host = owned("framework") | owned("launch") | owned("python") | owned("sync")
    return (found.between | found.eager | found.guards | found.passing | entering) & host


def _fix(facts: Facts) -> tuple[Advice, ...]:
    read = (_CAPTURED,) if any(name in _VALUES for name, _ in _reads(facts)) else ()
    return (
        *read,
        Advice("shell", run(facts, "TORCH_LOGS=graph_breaks"), "Names every break with file, line and reason."),
        Advice(
            "python",
            "model = torch.compile(model, fullgraph=True)",
            "Turns the next break into an error at its line: take prints, `.item()` and logging out of the model.",
        ),
    )


# What torch.compile breaks a graph at unless it is told to capture it (torch/_dynamo/config.py).
_VALUES = frozenset({"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"})
_SIZES = frozenset({"aten::nonzero", "aten::masked_select", "aten::unique", "aten::_unique2", "aten::unique_dim"})
_CAPTURED = Advice(
    "python",
    "torch._dynamo.config.capture_scalar_outputs = True   # before compiling",
    "Where `.item()` breaks the graph, and Python does not decide by what it reads. Better is to keep the value a tensor.",
)


def _reads(facts: Facts) -> list[tuple[str, int]]:
    """Ops between compiled code that read values or sizes off the device, with how often, the most frequent first."""
    spans, between = facts.host.outermost, facts.model.compiled
    code = spans.code[(between.eager | between.between).contains(spans.start_ns)]
    counted = Counter(spans.names[one] for one in code.tolist())
    return [(name, number) for name, number in counted.most_common() if name in _VALUES or name in _SIZES]


def _reading(facts: Facts) -> str:
    """Which of the ops between break a graph, as a sentence; empty where none does by itself."""
    found = _reads(facts)
    if not found:
        return ""
    name, number = found[0]
    what = "value" if name in _VALUES else "size"
    often = count(max(round(facts.steps.per_step(number)), 1), "time")
    return f" Among them is `{name}`, {often} a step: reading a {what} breaks a graph."


def _bars(facts: Facts) -> Bars:
    found = facts.model.compiled
    return Bars(
        "mean step, host time",
        "ns",
        (
            Bar("eager ops between regions", facts.steps.per_step(found.eager.total_ns)),
            Bar(
                "Python between regions", facts.steps.per_step(((found.between | found.passing) - found.eager).total_ns)
            ),
            Bar("guards", facts.steps.per_step(found.guards.total_ns)),
        ),
    )


RULE = Rule(META, check, __doc__)
