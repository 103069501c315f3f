"""OP004 per-parameter-norms: the norm of every tensor of a list, gradients or weights, is computed by an op of its own.

## What it finds
Clipping, logging or a penalty that computes one norm per parameter, in a row, outside the optimizer.

## Why it costs time
Hundreds of tiny ops are dispatched for one number. The device waits for the host between them.

## How it is measured
Runs of at least four repetitions of a short sequence with `aten::linalg_vector_norm` or `aten::norm` in it, outside loader and
optimizer, without pauses of a millisecond or more between their ops, in which the program does something else (a log is written).
The cost is the device-idle time inside the runs; on a CPU-only trace their time. The saving is that times `1 - 1/n` for
n norms a step. Beside a busy device the cost is their kernels, where these take as much of the step and each less than 5 us: how
much of them stays in fewer, larger ones no trace tells, so nothing of it is likely. Unit: nanoseconds.

Norms of gradients and of weights are the same op. Gradients are named where as many tensors as have a norm are scaled behind them,
in front of the update. Weights are named where autograd records the norms (its sequence numbers go on behind them) and not the
backward pass, or where zero_grad ran since the last backward pass. Otherwise both are.

## Example
Slow:

```python
total = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
```

Faster:

```python
total = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, foreach=True)
```

## Fix
1. Clipping: `torch.nn.utils.clip_grad_norm_(parameters, max_norm, foreach=True)` without `error_if_nonfinite`; keep the result on
   the device.
2. For logging: `torch._foreach_norm(tensors)`, once every N steps; where each norm is read into Python, all in one read.
3. A penalty on the weights: `torch._foreach_norm` takes gradients as well.

## Expected gain
At most the idle time inside the runs and their kernels, and behind them as much as they took beside a busy device.

## When it is wrong
Norms of other tensors, such as activations. Those of weights with their layer behind each (spectral norm, weight norm) are left
out, and those of tensors that are reshaped before, as for a norm of each sample's gradient (differential privacy): one call on all
tensors gives one norm of each. `p.grad.view(-1).norm()` is left out with them. Several optimizers may each zero gradients of their
own: then zero_grad tells nothing.

## Thresholds
- `min_ratio`: share of the used steps that the runs cost from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.model.norm_rows import Norms
from analyzer.facts.time.host_loss import HostLoss, host_loss
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.batched import beside_busy, with_kernels
from rules.place import location
from traces.trace import Capability

META = RuleMeta(
    code="OP004",
    name="per-parameter-norms",
    family="optimizer",
    title="Norms computed one by one",
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(Threshold("min_ratio", 0.02, "ratio", "below 2 % of the step a finding goes on no card"),),
    explains=("ID001",),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html",),
)

_CLIPPED = Advice(
    "diff",
    "-for p in model.parameters():\n-    total += p.grad.norm() ** 2\n"
    "+total = torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm, foreach=True)",
    'Where gradients are clipped: it scales them, and with `max_norm=float("inf")` only tells their norm. Without '
    "`error_if_nonfinite`, and keeping the norm on the device: reading it stalls the step.",
)
_ALONE = Advice(
    "python",
    "norms = torch._foreach_norm([p.grad for p in model.parameters()])",
    "Only to log them, every N steps.",
)
_LOGGED = Advice(
    "diff",
    "-norms = [p.grad.norm().item() for p in model.parameters()]\n"
    "+grads = [p.grad for p in model.parameters() if p.grad is not None]\n"
    "+norms = torch.stack(torch._foreach_norm(grads)).tolist()      # all of them, and one read",
    "As for a log: only at the steps that are looked at. Of all together: `torch.stack(torch._foreach_norm(grads)).norm().item()`.",
)
_OF_WEIGHTS = Advice(
    "diff",
    "-norms = [p.norm() for p in model.parameters()]\n"
    "+norms = torch._foreach_norm([p.detach() for p in model.parameters()])",
    "As for a log: only at the steps that are looked at.",
)
_OF_WEIGHTS_READ = Advice(
    "diff",
    "-norms = [p.norm().item() for p in model.parameters()]\n"
    "+weights = [p.detach() for p in model.parameters()]\n"
    "+norms = torch.stack(torch._foreach_norm(weights)).tolist()      # all of them, and one read",
    "As for a log: only at the steps that are looked at.",
)
_IN_LOSS = Advice(
    "diff",
    "-penalty = sum(p.norm() for p in model.parameters())\n"
    "+penalty = torch.stack(torch._foreach_norm(list(model.parameters()))).sum()",
    "As for a penalty on the weights: gradients go back through it as before, in one node.",
)
_BY_ITS_OWN = (
    "Where each gradient is scaled by its own norm: `clip_grad_norm_` scales all by one, which trains differently."
)
# A line that takes a norm says so.
_WORDS = frozenset({"norm"})
# Norms of which fewer are read are joined before.
_MOST_READ = 0.5


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when runs of norms cost at least `min_ratio` of the used steps."""
    norms = facts.model.optimizing.norms
    if not norms.number:
        yield not_applicable("no row of norms of whole tensors in the used steps")
        return
    loss = host_loss(facts.device, facts.time.device_waits, facts.time.waterfall, norms.time)
    ratio = facts.steps.ratio(loss.total_ns)
    if ratio < limits["min_ratio"] and not (beside := beside_busy(facts, norms.time, limits["min_ratio"])):
        yield clear(f"rows of norms cost {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    yield _finding(facts, loss, "" if ratio >= limits["min_ratio"] else beside)


def _finding(facts: Facts, loss: HostLoss, beside: str) -> Finding:
    """What is told of them.

    Args:
        facts: The measurements.
        loss: What they cost of the host's time.
        beside: What they cost a busy device, as a sentence; empty where that is not what is told.
    """
    norms = facts.model.optimizing.norms
    per_step = max(1, round(facts.steps.per_step(norms.number)))
    saved = loss.scaled(1 - 1 / per_step)
    who = "The GPU idles" if facts.device.main is not None else "The step spends"
    spent = facts.steps.per_step(loss.total_ns)
    lost = f"{duration(spent)} of {facts.steps.each} ({share(facts.steps.ratio(loss.total_ns))})"
    main = facts.host.main_thread
    line = None if main is None else facts.host.stacks.loop([main] * len(norms.time), norms.time, main, _WORDS)
    read = _read_each(facts)
    return Finding(
        why=(
            f"{'' if beside else f'{who} {lost} while '}{count(per_step, 'norm')}, {_of_what(norms)}, are computed one by one"
            f"{', each read into Python by itself' if read else ''}.{beside}"
        ),
        saving=with_kernels(
            facts,
            Saving(claims=saved.claims, kernel_ns=saved.op_ns, basis="the cost of all norms but one"),
            norms.time,
            1 - 1 / per_step,
        ),
        fix=together(norms, read=read),
        verify="Record again: one `aten::_foreach_norm` instead of many norms.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("norms", facts.steps.per_step(norms.time.total_ns)),
                    Bar("rest", facts.steps.per_step(facts.steps.total_ns - norms.time.total_ns)),
                ),
            ),
        ),
        location=location(line),
        caveats=(_BY_ITS_OWN,) if norms.of_gradients else (),
    )


def _of_what(norms: Norms) -> str:
    if norms.of_gradients is None:
        return "of gradients or of weights, which the trace does not tell apart"
    if norms.of_gradients:
        return "of gradients, which are scaled behind them"
    return "of weights, as part of a loss" if norms.in_loss else "as of weights, not of gradients"


def together(norms: Norms, *, read: bool) -> tuple[Advice, ...]:
    """What computes them at once: by what they are of, and by whether they may be there to clip."""
    of_weights = _IN_LOSS if norms.in_loss else _OF_WEIGHTS_READ if read else _OF_WEIGHTS
    if norms.of_gradients is False:
        return (of_weights,)
    logged = _LOGGED if read else _ALONE
    if not norms.may_clip:
        return (logged, of_weights)
    if norms.of_gradients:
        return (_LOGGED, _CLIPPED) if read else (_CLIPPED,)
    return (logged, _CLIPPED, of_weights) if read else (_CLIPPED, logged, of_weights)


def _read_each(facts: Facts) -> bool:
    """Whether about each norm is read into Python by itself."""
    norms, ops = facts.model.optimizing.norms, facts.host.ops.ops
    read = ops["start_ns"].to_numpy()[(ops["name"] == "aten::item").to_numpy()]
    return int(norms.time.contains(read).sum()) >= _MOST_READ * norms.number


RULE = Rule(META, check, __doc__)
