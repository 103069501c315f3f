"""PY002 element-loop: a Python loop goes through a tensor element by element.

## What it finds
A short sequence of ops that begins with taking or writing an element (`t[i]`, a slice, `unbind`) and repeats ten times or more in
a row. Between the model's last layer and the backward pass it is named for what it usually is, a loss computed in a Python loop,
unless no gradient comes back to it: then it measures, as a metric does, or prepares targets.

## Why it costs time
Each op costs some microseconds of Python and dispatch, however little it computes. A loop over 64 samples with four ops each pays
that 256 times, and once more for every op in the backward pass; one op on the whole tensor pays it once.

## How it is measured
Run lengths of repeated op names (units of up to 48 ops) under one parent, outside loader and optimizer. Turns that begin with
`select` or `eq` may differ by a branch, where twenty or more are of few kinds. The backward pass is added by the ops' sequence
numbers, with what the engine does from one of its nodes to the next. The cost is the device-idle time in the loop; on a CPU-only
trace its whole time, where an op usually takes less than 20 us (the mean, without the few that stood still), on a slow core as
much more as the median round of the collector's empty loop took. Longer ones compute something that a batched op has to compute as
well: of their time only that of the shorter ops in them counts, each without what it calls, by medians. The saving is the cost
times `1 - 1/n` for n repetitions. Unit: nanoseconds.

## Example
Slow:

```python
loss = 0
for i in range(len(output)):
    loss = loss + F.cross_entropy(output[i : i + 1], target[i : i + 1])
loss = loss / len(output)
```

Faster:

```python
loss = F.cross_entropy(output, target)
```

## Fix
1. Call the op once on the whole tensor: losses and most functions take a batch.
2. Index with a tensor instead of a loop: `t[index] = values`, `gather`, `scatter_`, `torch.where`.
3. Functions without a batched form: `torch.vmap`.
4. Turns that need the one before: `torch.compile` for the function that holds the loop.
5. Turns that need the one before, and through which no gradient goes: the same loop on arrays of NumPy.
6. Turns that read numbers to know what to write: a mask, or places as tensors; else all numbers in one read before the loop.
7. Turns that each copy off the GPU: all values in one copy, then the loop on the host.
8. A metric: once in so many steps, or once an epoch of counts that are kept.

## Expected gain
At most what all repetitions but one cost.

## When it is wrong
Recurrent networks and decoding need the previous step's result: sequences that hold a layer's op (matrix product, convolution, RNN
cell, attention, normalisation) are left to PY006, which knows recurrent cells, or not reported. The product of two vectors (a
matmul that calls `aten::dot`) is one element, and no layer. A recursion without layers (a sum over paths, a filter) looks like a
loop over samples, and stays a loop: compile it. Loops inside one op or inside a compiled function are not the program's.

## Thresholds
- `min_ratio`: share of the used steps that the loop takes on the host from which the rule fires.

## References
- torch `_pattern_matcher.py`, ForLoopIndexingPattern (10 repetitions)
- https://docs.pytorch.org/docs/stable/generated/torch.vmap.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice, Confidence, Finding, Outcome, clear
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.place import location, named
from rules.python import grouped, read_values
from rules.python.boxes import OVERLAPS, may_be_of_boxes, of_boxes
from rules.python.drawn import FOR_ALL, draws, on_numbers
from rules.python.judging import evidence, line_of, saving_of, what
from rules.python.measuring import measured_seldom, measures, without_gradient
from rules.python.pairs import of_pairs
from rules.python.parts_copied import PUT_TOGETHER, TAKEN_APART, of_parts
from rules.python.read_values import reads
from rules.python.summed_exponentials import LOG_SUMS, sums_exponentials
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="PY002",
    name="element-loop",
    family="python",
    title="Python loop over tensor elements",
    binds=("launch", "python"),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(Threshold("min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card"),),
    explains=("ID001", "PY001", "CP005"),
    before=("ID001", "PY001", "CP005"),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.vmap.html",),
    measured=True,
)
_MAX_FINDINGS = 3
_RECURSION = Advice(
    "python",
    "recursion = torch.compile(recursion)",
    "Where each turn needs the one before (a recursion over time, a sum over paths): the function that holds the loop, compiled.",
)
_MAY_DEPEND = (
    "The trace does not tell whether a turn needs the one before it: then the loop stays, and compiling it saves less."
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires for each loop over elements that takes at least `min_ratio` of the used steps."""
    loops = [loop for loop in facts.loops.found if loop.indexed and not loop.of_layers]
    costly = [loop for loop in loops if facts.steps.ratio(loop.spans.total_ns) >= limits["min_ratio"]]
    if not costly:
        longest = max((facts.steps.ratio(loop.spans.total_ns) for loop in loops), default=0.0)
        inherent = any(loop.of_layers for loop in facts.loops.found)
        layers = "; repeated layers and steps in time are the model's own" if inherent else ""
        yield clear(
            f"loops over elements outside the loader take at most {share(longest)} of the step, "
            f"below {share(limits['min_ratio'])}{layers}"
        )
        return
    for loop in costly[:_MAX_FINDINGS]:
        line = line_of(facts, loop)
        yield Finding(
            why=f"A Python loop{named(line)} goes through a tensor: {what(facts, loop)}.{_waiting(facts, loop)}"
            f"{measures(loop)}",
            saving=saving_of(facts, loop),
            fix=_fix(facts, loop),
            verify="Record again: the repeated sequence should be gone; compare "
            + (
                "the loss, it"
                if _is_loss(loop) or not (facts.model.infers or without_gradient(loop))
                else "the results, they"
            )
            + " must be the same.",
            steps_seen=loop.steps_seen,
            confidence=Confidence.MEDIUM if loop.varies else Confidence.HIGH,
            evidence=evidence(facts, loop),
            location=location(line),
            caveats=() if _of_samples(loop) else (_MAY_DEPEND,),
            title="Loss computed in a Python loop" if _is_loss(loop) else None,
        )


def _is_loss(loop: Loop) -> bool:
    """Whether a gradient comes back to it: returns, targets, counts and metrics stand where a loss does, and get none."""
    return loop.phase == "loss" and bool(loop.backward)


def _of_samples(loop: Loop) -> bool:
    """Whether each turn takes the loss of one sample, which no other turn needs."""
    return any("cross_entropy" in name or "nll_loss" in name for name in loop.unit + loop.in_some_turns)


_ONE_COPY = Advice(
    "diff",
    "-for part in parts:\n-    found.append(choose(f(part).cpu()))\n"
    "+values = torch.stack([f(part) for part in parts]).cpu()   # one copy for all, and one wait\n"
    "+found = [choose(value) for value in values]",
    "Each turn copies off the GPU and waits for it. What the host decides (an assignment, a choice) goes back in one copy as well.",
)


def _waiting(facts: Facts, loop: Loop) -> str:
    """A sentence on the waits of the loop's turns; empty where they are few."""
    waits = _waits(facts, loop)
    return (
        f" They wait {facts.steps.per_step(waits):,.0f} times {facts.steps.a_unit} for values off the GPU."
        if waits
        else ""
    )


def _waits(facts: Facts, loop: Loop) -> int:
    """How often the loop's turns wait for values off the device, where it is once a turn or more; else 0."""
    waits = facts.sync.waits.of("scalar", "copy_out").inside(loop.forward).waits
    return waits if waits >= loop.repeats else 0


def _fix(facts: Facts, loop: Loop) -> tuple[Advice, ...]:
    waiting = (*((_ONE_COPY,) if _waits(facts, loop) else ()), *measured_seldom(loop))
    pairs = of_pairs(loop)
    if pairs is not None:
        return (*waiting, pairs, _whole_tensor(loop))
    if sums_exponentials(loop):
        return (*waiting, LOG_SUMS, _whole_tensor(loop))
    if of_boxes(loop):
        return (*waiting, *OVERLAPS)
    if draws(loop) and not loop.backward:
        return (FOR_ALL, *waiting, _whole_tensor(loop))
    return (*waiting, *(OVERLAPS[:1] if may_be_of_boxes(loop) else ()), *_at_once(facts, loop))


def _at_once(facts: Facts, loop: Loop) -> tuple[Advice, ...]:
    names = " ".join(loop.unit)
    masks = grouped.takes_equal(loop)
    if _of_samples(loop):
        if masks:
            return (grouped.CLASSES,)
        return (
            Advice(
                "diff",
                "-loss = 0\n"
                "-for i in range(len(output)):\n-    loss = loss + F.cross_entropy(output[i : i + 1], target[i : i + 1])\n"
                "-loss = loss / len(output)\n+loss = F.cross_entropy(output, target)",
                'The mean over the batch is the default; `reduction="none"` gives one loss per sample, to weight or to sort.',
            ),
        )
    if masks:
        return (grouped.GROUPS, _whole_tensor(loop))
    if grouped.adds_rows_up(loop):
        return (grouped.NEIGHBOURS, _whole_tensor(loop))
    if reads(loop):
        # What Python decides with a value that it has read is nothing that vmap takes, or that a compiled function holds.
        return read_values.at_once(loop)
    if of_parts(loop):
        return (TAKEN_APART, PUT_TOGETHER)
    if any(name in names for name in ("copy_", "fill_", "index_put_")):
        return (
            Advice(
                "diff",
                "-for i in range(n):\n-    t[i] = f(x[i])\n+t[:n] = f(x[:n])",
                "`f` on the whole tensor, one write.",
            ),
            Advice(
                "python",
                "t[index] = values            # or t.scatter_(0, index, values)",
                "Where only some elements are written.",
            ),
            *on_numbers(facts, loop),
        )
    if any(name.endswith("::nms") for name in loop.unit):
        return (_ALL_CLASSES,)
    if any(_NOT_BATCHED.match(name) for name in loop.unit):
        return (_whole_tensor(loop),)
    return (
        _whole_tensor(loop),
        Advice("python", "y = torch.vmap(f)(x)", "Where `f` is written for one sample and cannot be rewritten."),
        *on_numbers(facts, loop),
        _RECURSION,
    )


# What vmap has no rule for, and a compiled function breaks at: ops of an extension's own, and results whose size depends on values.
_NOT_BATCHED = Pattern(r"(?!aten::)|aten::(?:nonzero|masked_select|_?unique|unique_dim|is_nonzero|equal|bincount)")
_ALL_CLASSES = Advice(
    "python",
    "keep = torchvision.ops.batched_nms(boxes, scores, group, threshold)   # group: the class, or the image, of each box",
    "Boxes of different groups never suppress one another: one call for all instead of one for each.",
)


def _whole_tensor(loop: Loop) -> Advice:
    if _is_loss(loop):
        return Advice(
            "diff",
            "-loss = 0\n-for i in range(n):\n-    loss = loss + f(output[i], target[i])\n+loss = f(output, target).sum()",
            "Write `f` with operations on whole tensors; `output.gather(1, target[:, None])` takes one element of each row.",
        )
    return Advice(
        "diff",
        "-for i in range(n):\n-    y.append(f(x[i]))\n+y = f(x)",
        "Write `f` with operations on the whole tensor.",
    )


RULE = Rule(META, check, __doc__)
