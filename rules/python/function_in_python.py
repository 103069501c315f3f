"""PY008 function-in-python: a `torch.autograd.Function` of the program's spends its time in no op.

## What it finds
A function with a forward and a backward pass written by hand, as for a dynamic program, an alignment or a sparse pattern, in which
a tenth of the step is neither an op of torch nor one of a library registered with torch.

## Why it costs time
What such a function does there is a loop in Python or numpy, or a call of an extension. A loop over the elements of an array takes
a microsecond and more for each, a thousand times what compiled code does.

## How it is measured
Time of the training thread in the function's call and in its node of the backward pass, less the ops that they call. CPU-only
traces: on a device what it idles for one op is told by ID001. Where the thread had no core for as long that the rest is below the
limit, the rule cannot tell. Unit: nanoseconds.

## Example
Slow:

```python
class SoftDTW(torch.autograd.Function):
    @staticmethod
    def forward(ctx, distances):
        d = distances.detach().numpy()
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                r[i, j] = d[i - 1, j - 1] + softmin(r[i - 1, j - 1], r[i - 1, j], r[i, j - 1])
```

Faster:

```python
for k in range(2, n + m + 1):  # the cells of a diagonal need only those of the two before
    row = distances_by_diagonal[:, k] + softmin(before, before.roll(1, -1), last.roll(1, -1))
```

## Fix
1. Ops of torch over whole rows, diagonals or batches: then autograd needs no backward pass written by hand, and `torch.compile` can
   fuse what is left.
2. Compile the loop: `numba.njit`, or C++ through `torch.utils.cpp_extension.load`.

## Expected gain
Not known: a loop in Python may become hundreds of times as fast, and an extension may be as fast as it gets.

## When it is wrong
Calls of an extension that is not registered with torch look the same, and may compute as fast as the processor can. Stacks tell
which of them it is.

## Thresholds
- `min_ratio`: share of the used steps in the function, and in no op, from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/notes/extending.html
- https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.place import location, named
from rules.python.advice import look
from rules.python.called import sentence
from traces.trace import Capability

META = RuleMeta(
    code="PY008",
    name="function-in-python",
    family="python",
    title="Autograd function works in no op",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold(
            "min_ratio", 0.1, "ratio", "no saving is claimed: worth a word where any other rule would call it medium"
        ),
    ),
    references=(
        "https://docs.pytorch.org/docs/stable/notes/extending.html",
        "https://docs.pytorch.org/tutorials/advanced/cpp_custom_ops.html",
    ),
)
_NAME_LENGTH = 60
_WITH_OPS = Advice(
    "text",
    "Where it loops in Python or numpy: ops of torch over whole rows, diagonals or batches instead.",
    "Then autograd needs no backward pass written by hand, and `torch.compile` can fuse what is left.",
)
_COMPILED = Advice(
    "text",
    "Or compile the loop: `numba.njit` on the arrays, or C++ by `torch.utils.cpp_extension.load`.",
    "Results must be the same: compare the gradients by `torch.autograd.gradcheck`.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a function is at least `min_ratio` of the used steps without the ops that it calls."""
    if facts.device.main is not None:
        yield not_applicable("on a device: what it idles for one op is told by ID001")
        return
    found = facts.kernels.written_function
    if found is None:
        yield not_applicable("no `torch.autograd.Function` of the program's in the used steps")
        return
    time = facts.kernels.written_time
    name, ratio = found.name[:_NAME_LENGTH], facts.steps.ratio(time.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"`{name}` takes {share(ratio)} of the step outside the ops that it calls, below {share(limits['min_ratio'])}"
        )
        return
    if facts.steps.ratio(time.total_ns - facts.time.without_core_ns) < limits["min_ratio"]:
        yield cannot_tell(
            f"`{name}` takes {share(ratio)} of the step outside the ops that it calls, but the thread {facts.time.core_words} "
            "of it; record on a quiet machine"
        )
        return
    main = facts.host.main_thread
    places = facts.host.stacks.inside(main, time) if main is not None else []
    line: CodeLine | None = places[0][0] if places else None
    most = "most of it" if places and 2 * places[0][1] > time.total_ns else "the largest part"
    inside = f", {most}{named(line)}{sentence(facts, time, line)}" if line is not None else ""
    known = line is not None
    yield Finding(
        why=f"`{name}`, a `torch.autograd.Function`, and its backward pass take {duration(facts.steps.per_step(time.total_ns))} of "
        f"{facts.steps.each} ({share(ratio)}) in no op that they call{inside}: in Python, numpy or an extension"
        f"{'' if known else ', which the trace does not tell apart'}.",
        saving=Saving(
            basis="not known: a loop in Python may become hundreds of times as fast, an extension may be fast"
        ),
        fix=(_WITH_OPS, _COMPILED) if known else (look(facts), _WITH_OPS, _COMPILED),
        verify="Record again: the function's own time should fall, and the gradients must be the same.",
        steps_seen=facts.steps.count_with(time),
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar(f"{name}, in no op", facts.steps.per_step(time.total_ns)),
                    Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - time.total_ns)),
                ),
            ),
        ),
        location=location(line),
        caveats=("Recording stacks slows Python down: without them the share is smaller.",) if known else (),
    )


RULE = Rule(META, check, __doc__)
