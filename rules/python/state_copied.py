"""PY007 state-copied-in-steps: all weights of the model, or as many other tensors, are copied into new ones step after step.

## What it finds
`copy.deepcopy(model)`, `copy.deepcopy(model.state_dict())`, and lists of clones, in the training loop: to keep the best weights, to
go back to, to compare with.

## Why it costs time
Each copy asks for new memory, which the system has to clear, and passes over all weights; a deep copy runs tens of microseconds of
Python for each tensor besides.

## How it is measured
Rows of ops on the training thread that make, take or copy tensors, and compute nothing: `aten::clone`, or `aten::copy_` into a
storage just made (`aten::set_` before it). At least as many copies in a row as tensors receive a gradient in a backward pass, and
at least four; clones that autograd records are part of the model. The cost is the rows' time, without pauses of a millisecond or
more; on a device the idle time in them. Unit: nanoseconds.

## Example
Slow:

```python
for step, batch in enumerate(loader):
    loss = train_step(batch)
    before = copy.deepcopy(model.state_dict())
```

Faster:

```python
for step, batch in enumerate(loader):
    loss = train_step(batch)
    if step % 100 == 0:
        before = copy.deepcopy(model.state_dict())
```

## Fix
1. Copy less often: where an evaluation says that the weights are the best, or every N steps.
2. Copy into tensors that are made once: `torch._foreach_copy_(kept, weights)`.

## Expected gain
At most what the rows take, where no copy is made any more. Into tensors that are made once the copying itself stays.

## When it is wrong
A copy that is trained on, as meta-learning makes one for each task, has to be made. Gradients that are cloned, and the optimizer's
state, are as many tensors as the weights are: the trace does not tell which of them a row copies.

## Thresholds
- `min_ratio`: share of the used steps that the rows cost from which the rule fires.

## References
- https://docs.python.org/3/library/copy.html
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.time.host_loss import host_loss
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.batched import with_kernels
from rules.place import line_of, location, named
from rules.python.judging import LIST_RATIO
from traces.trace import Capability

META = RuleMeta(
    code="PY007",
    name="state-copied-in-steps",
    family="python",
    title="State copied in the steps",
    binds=("python",),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", LIST_RATIO, "ratio", "as PY003: worth a word only where it is a low finding at least"),
    ),
    explains=("ID001", "PY001", "CP005"),
    before=("ID001", "PY001", "CP005"),
    references=(
        "https://docs.python.org/3/library/copy.html",
        "https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",
    ),
)
_SELDOM = Advice(
    "diff",
    "-    kept = copy.deepcopy(model.state_dict())\n"
    "+    if step % 100 == 0:         # or where an evaluation says that it is the best\n"
    "+        kept = copy.deepcopy(model.state_dict())",
    "Copy less often: as often as the copy is used.",
)
COPIED_IN_PLACE = Advice(
    "python",
    "kept = [weight.detach().clone() for weight in model.parameters()]                 # once, before the loop\n"
    "torch._foreach_copy_(kept, [weight.detach() for weight in model.parameters()])    # in the loop",
    "Where each step needs it: into tensors that are made once, without new memory and without Python between the copies. Buffers, "
    "as of batch norm, likewise.",
)
_OTHERS = (
    "It may be gradients or the optimizer's state that are copied: they are as many tensors. A copy that is trained on, as in "
    "meta-learning, has to be made."
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when rows of copies cost at least `min_ratio` of the used steps."""
    found = facts.host.copied_rows
    if not found.rows:
        yield not_applicable("no row of as many copies as tensors receive a gradient in the used steps")
        return
    loss = host_loss(facts.device, facts.time.device_waits, facts.time.waterfall, found.time)
    ratio = facts.steps.ratio(loss.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"rows of copies cost {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    line, steps = line_of(facts, found.time), facts.steps.count_with(found.time)
    copies = count(round(found.copies / found.rows), "tensor is", "tensors are")
    who = "the GPU idles" if facts.device.main is not None else "that takes"
    how = "by `copy.deepcopy`" if found.deep else "as for a copy of the weights"
    yield Finding(
        why=f"{copies} copied in a row{named(line)}, at least as many as receive a gradient, in {steps} of "
        f"{count(facts.steps.count, 'step')}, {how}: {who} {duration(facts.steps.per_step(loss.total_ns))} of "
        f"{facts.steps.each} ({share(ratio)}).",
        saving=with_kernels(
            facts,
            Saving(
                claims=loss.claims,
                kernel_ns=loss.op_ns,
                basis="what the copies take, where none is made; into tensors that are made once the copying itself stays",
            ),
            found.time,
        ),
        fix=(_SELDOM, COPIED_IN_PLACE),
        verify="Record again: the row of copies should be gone from most steps.",
        steps_seen=steps,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step, host",
                "ns",
                (
                    Bar("copies", facts.steps.per_step(found.time.total_ns)),
                    Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - found.time.total_ns)),
                ),
            ),
        ),
        location=location(line),
        caveats=(_OTHERS,),
    )


RULE = Rule(META, check, __doc__)
