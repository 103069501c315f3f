"""PY003 repeated-small-ops: the same few small ops run once per tensor of a list.

## What it finds
A sequence of two or more small ops that repeats ten times or more in a row without going through one tensor: a moving average of
the weights, a penalty per parameter, statistics per head. Experts called one by one: rows taken by index, layers, and the result
written back by index, ten times or more in a row. Ten or more backward passes for one update, as gradients per sample take them.
Ten or more passes through the model, each with its loss, for one backward pass. Elements of a tensor that go through the same
layers one by one, as frames of a video. Four or more heads of attention, one after another. Tensors made of Python values or
arrays one by one, as for a batch of a replay memory. Products, of which no one can be made of another, as for each sample, head or
pair.

## Why it costs time
Each op costs some microseconds of dispatch, however little it computes. On many tensors at once that is paid once.

## How it is measured
As PY002, for sequences that take no elements: units of 2 to 16 ops under one parent, outside loader and optimizer, none of which
makes up a layer; of experts, which are made of layers, the products are no part of the cost. Backward passes are counted by the
gradient that each makes first, between two steps of the optimizer; their cost is all turns but the first. Where no parameter
receives a gradient in most, they are calls of `torch.autograd.grad`: without a layer between them, one graph gone through again,
for which the time between ops is likely and the turns' own work the most. Samples one by one are turns with a layer and a loss,
none of which runs backward by itself or is a step of a cell (PY006); a recurrent layer has to begin from zeros in each, and nothing
is joined with `cat`, as a state would be. Elements one by one are turns that begin with `select` or a slice and hold layers and ops
of one activation only, where fewer tensors receive a gradient than layers are called; recorded shapes have to show that the first
layer takes the element, and without shapes confidence is low. Heads are turns of the same ops directly before a `cat` or
`stack`, each with one softmax between products, or one fused attention, and nothing added behind it; shapes have to show that a
turn gives less than it takes, and without shapes confidence is low. On a device the rule speaks
up where launches limit the step, and the cost is the idle time in the loop; or, of a loop over a list, where its kernels take as
much of the step, each less than 5 us. On a CPU-only trace it is the loop's time, as of
PY002. Where a turn pauses for a millisecond between two ops, as to decode an image, the pause is no part of it. The saving is the
cost times `1 - 1/n`. Matrix products alone, again and again, count where recorded shapes show that what any of them gives has the
shape of nothing that one takes: of equal shapes each may need the one before. Unit: nanoseconds.

## Example
Slow:

```python
for average, weight in zip(averages, weights):
    average.mul_(decay).add_(weight, alpha=1 - decay)
```

Faster:

```python
torch._foreach_lerp_(averages, weights, 1 - decay)
```

## Fix
1. Lists of tensors: `torch._foreach_*`; for moving averages `torch._foreach_lerp_`, or `AveragedModel`.
2. Tensors of one shape: stack them once, then one batched op (`bmm`, `einsum`); one factor for all: put the others side by side.
3. Experts: rows sorted by expert, then one grouped or batched product.
4. Gradients per sample: `torch.func.vmap(torch.func.grad(...))`; where only their sum is used, one pass for the batch; those of
   inputs: `torch.autograd.grad` of the sum; of several outputs: `is_grads_batched=True`.
5. Samples one by one: put together to one batch; sequences of several lengths packed. Frames: into the batch for the layers.
6. Heads: one projection for all, `scaled_dot_product_attention` with heads as a dimension.
7. Tensors made one by one: one array of all rows, made a tensor once. Copied one by one: `torch._foreach_copy_`.

## Expected gain
At most what all repetitions but one cost.

## When it is wrong
Identical layers repeat as well: sequences with an op of a layer (matrix product, convolution, normalisation, attention) are not
reported unless rows are taken and written back around them, or they are products alone whose shapes show that none needs another:
experts whose turns are not alike are missed, and heads that normalise or add what they give.
Large groups fill the processor by themselves. Passes that need the result of the one before (inner steps of meta-learning) stay,
and so do LBFGS's turns through its history. Turns with a layer and a loss may be steps in time or heads: without a recurrent layer
that begins anew, confidence is low. Norms per parameter belong to OP004. Where no step is marked and the trace is nothing but the
loop, its turns may be the steps.

## Thresholds
- `min_ratio`: share of the used steps that the loop takes on the host from which the rule fires.

## References
- HolisticTraceAnalysis, frequent kernel sequences; msprof-analyze, fusible ops
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
- https://docs.pytorch.org/docs/stable/generated/torch.optim.swa_utils.AveragedModel.html
- https://docs.pytorch.org/tutorials/intermediate/per_sample_grads.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from analyzer.facts import Facts
from analyzer.facts.loops.find import Loop, may_be_the_steps
from analyzer.finding import Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.batched import beside_busy
from rules.experts import AT_ONCE
from rules.place import location, named
from rules.python import prepared
from rules.python.copied import copies_tensors
from rules.python.elements import elements_finding
from rules.python.heads import heads_finding
from rules.python.judging import LIST_RATIO, evidence, experts_saving, line_of, saving_of, what
from rules.python.made import makes_tensors
from rules.python.over_lists import at_once, pages, penalises
from rules.python.passes import passes_finding
from rules.python.samples import samples_finding
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="PY003",
    name="repeated-small-ops",
    family="python",
    title="Same small ops, tensor by tensor",
    binds=("launch", "python"),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "min_ratio",
            LIST_RATIO,
            "ratio",
            "an inferred pattern: worth a word only where it is a low finding at least",
        ),
    ),
    explains=("ID001", "PY001", "CP005"),
    before=("ID001", "PY001", "CP005"),
    topics=frozenset({"queue", "sequences"}),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html",),
    measured=True,
    outside=("compile",),
)
_MAX_FINDINGS = 3
# Optimizers that make their direction of the last differences of gradients, turn by turn of the one before.
_WITH_HISTORY = Pattern("LBFGS", re.IGNORECASE)
_SMALL_OP_NS = 1_000_000
_ONE_MADE = "Record again: one tensor is made for a batch instead of one for each row; results must be the same."


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires for each repeated sequence that takes at least `min_ratio` of the used steps."""
    loops = [
        loop for loop in facts.loops.found
        if (loop.over_list or loop.calls_experts) and not _of_history(facts, loop) and not _multiplies(facts, loop)
        and not _is_told(facts, loop)
    ]  # fmt: skip
    costly = [loop for loop in loops if facts.steps.ratio(loop.calling.total_ns) >= limits["min_ratio"]]
    steps = [loop for loop in costly if loop.over_list and may_be_the_steps(facts.steps, loop)]
    if steps:
        unit = ", ".join(name.removeprefix("aten::") for name in steps[0].unit)
        yield cannot_tell(f"the whole trace repeats `{unit}`, which may be the steps themselves: none is marked")
        return
    passes = facts.steps.ratio(facts.loops.backward_passes.spans.total_ns)
    samples = [
        one for one in facts.loops.sample_loops
        if facts.steps.ratio(one.loop.spans.total_ns) >= limits["min_ratio"] and not may_be_the_steps(facts.steps, one.loop)
    ]  # fmt: skip
    elements = [
        one for one in facts.loops.element_loops
        if facts.steps.ratio(one.loop.spans.total_ns) >= limits["min_ratio"] and not may_be_the_steps(facts.steps, one.loop)
    ]  # fmt: skip
    heads = [
        one for one in facts.loops.head_loops
        if facts.steps.ratio(one.loop.spans.total_ns) >= limits["min_ratio"] and not may_be_the_steps(facts.steps, one.loop)
    ]  # fmt: skip
    if not (costly or samples or elements or heads) and passes < limits["min_ratio"]:
        longest = max((facts.steps.ratio(loop.calling.total_ns) for loop in loops), default=0.0)
        yield clear(f"repeated small ops take at most {share(longest)} of the step, below {share(limits['min_ratio'])}")
        return
    everywhere = facts.device.main is None or facts.time.launch_bound
    queued = [loop for loop in costly if loop.over_list and not makes_tensors(loop)]
    if not everywhere:
        # Launches may limit the step in these loops and nowhere else; ops that take a millisecond each are no small ones.
        costly = [loop for loop in costly if loop.usual_op_ns < _SMALL_OP_NS]
        costly = [
            loop for loop in costly if facts.steps.ratio(_saving(facts, loop).claims.total_ns) >= limits["min_ratio"]
        ]
    if not everywhere and not costly:
        yield from _beside_busy(facts, queued, limits["min_ratio"])
        return
    if everywhere and passes >= limits["min_ratio"]:
        yield passes_finding(facts)
    for one in samples[:_MAX_FINDINGS]:
        yield samples_finding(facts, one)
    for element in elements[:_MAX_FINDINGS]:
        yield elements_finding(facts, element)
    for head in heads[:_MAX_FINDINGS] if everywhere else ():
        yield heads_finding(facts, head)
    for loop in costly[:_MAX_FINDINGS]:
        yield _finding(facts, loop)


def _beside_busy(facts: Facts, loops: list[Loop], min_ratio: float) -> Iterator[Finding | Outcome]:
    """What loops over lists cost where launches do not limit the step: their kernels, or nothing."""
    said = [(loop, beside_busy(facts, loop.calling, min_ratio)) for loop in loops]
    costly = [_finding(facts, loop, words) for loop, words in said if words]
    if not costly:
        yield clear("small ops repeat, but the GPU has enough queued work meanwhile: launches do not limit the step")
    yield from costly[:_MAX_FINDINGS]


def _finding(facts: Facts, loop: Loop, beside: str = "") -> Finding:
    """What is told of a loop; `beside` is what it costs a busy device, as a sentence."""
    line = line_of(facts, loop)
    experts = loop.calls_experts
    kind = (
        "takes rows by index, sends them through layers and writes them back, group by group, as experts are called"
        if experts
        else "makes tensors of Python values or arrays, one by one"
        if makes_tensors(loop)
        else "copies tensors one by one"
        if copies_tensors(loop)
        else "goes through a list of tensors"
    )
    return Finding(
        why=f"A loop{named(line)} {kind}: {what(facts, loop)}.{beside}{prepared.sentence(facts, loop.calling)}",
        saving=_saving(facts, loop),
        fix=AT_ONCE if experts else (*prepared.remedies(facts, loop.calling), *at_once(loop)),
        verify=_ONE_MADE
        if makes_tensors(loop)
        else "Record again: one `aten::_foreach_*` or batched op instead of the sequence; results must be the same.",
        steps_seen=loop.steps_seen,
        confidence=Confidence.MEDIUM,
        evidence=evidence(facts, loop),
        location=location(line),
        caveats=("Groups so large that each fills the processor by itself gain little.",) if experts else (),
        title="Experts called one by one" if experts else _title(loop),
        references=pages(loop),
    )


def _title(loop: Loop) -> str | None:
    if makes_tensors(loop):
        return "Tensors made one by one"
    return "Tensors copied one by one" if copies_tensors(loop) else None


def _is_told(facts: Facts, loop: Loop) -> bool:
    """Whether most of the loop is a row of copies of as many tensors as the model has: of that another rule tells."""
    return 2 * (loop.spans & facts.host.copied_rows.time).total_ns > loop.spans.total_ns


def _multiplies(facts: Facts, loop: Loop) -> bool:
    """Whether the loop is products that take long to compute, which one product for all of them would as well."""
    return loop.independent and facts.device.main is None and loop.usual_op_ns >= facts.time.dispatch_bound_op_ns


def _of_history(facts: Facts, loop: Loop) -> bool:
    """Whether the loop is that of an optimizer through its history: products of flat vectors, no part of a forward pass."""
    keeps = _WITH_HISTORY.search(facts.model.optimizing.class_name) is not None
    return keeps and loop.phase in ("after", "step") and "aten::dot" in loop.unit


def _saving(facts: Facts, loop: Loop) -> Saving:
    if loop.calls_experts:
        return experts_saving(facts, loop)
    saving = saving_of(facts, loop, whole=penalises(loop))
    # Workers that prepare the batch take the code around the loop with them, and its last turn.
    return replace(saving, behind=saving.behind | prepared.goes_with(facts, loop.calling))


RULE = Rule(META, check, __doc__)
