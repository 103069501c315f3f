"""OP001 per-parameter-updates: the optimizer updates one parameter after the other.

## What it finds
An `optimizer.step()` that runs its few ops once per parameter instead of once for all of them. Or one that takes eigenvalues, roots
or inverses of matrices for most of its time, as preconditioners of second order do.

## Why it costs time
A network with 160 parameters then needs some 500 launches for an update that one launch can do. Each op is tiny, so the time goes
to dispatching them, and the device waits for the host.

## How it is measured
Inside the innermost `Optimizer.step#...` spans: no `aten::_foreach_*`, no `aten::_fused_*` and no multi-tensor kernel, and the ops
directly inside repeat the same short sequence for at least four parameters and 60 % of all ops; or the spans of a step do, where
each parameter has an optimizer of its own (steps in hooks of the gradients, Pyro). The saving is the device-idle time
from the first op of each span to its end; on a CPU-only trace that time times `1 - 1 / ops per parameter`, less 60 us that one pass
takes however few parameters there are (more on a slow core). What comes before the first op is no update: Horovod's optimizer waits
there until gradients are reduced. Unit: nanoseconds.

## Example
Slow:

```python
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=False)
```

Faster:

```python
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
```

## Fix
1. `fused=True` (Adam, AdamW, SGD, Adagrad): one pass over all parameters, on the GPU (SGD from torch 2.3 on, Adagrad from 2.12)
   and on the CPU (from 2.4 on). `advisor collect` records which line makes the optimizer, and the fix changes that line; or names
   the library that makes it.
2. `foreach=True` for the others; the default on a GPU since torch 2.0. On the CPU it saves only what lies between the ops, and
   nothing of large parameters.
3. Where each parameter has an optimizer: `fused=True` for each, or one optimizer for all after the backward pass, where memory has
   room for their gradients.
4. An optimizer of your own: `torch._foreach_*` on lists of tensors; first without reading a value of each parameter.
5. Matrices that are decomposed: every so many steps (`precondition_frequency`), and all of one size at once.

## Expected gain
At most the idle time inside the spans and their kernels, and behind them as much as they took beside a busy device; likely is the
idle time. On two CPU cores the step of AdamW took 420 us for 6 small parameters and 120 us fused, of one 115 us and 80 us; SGD
gains nothing there, so on the CPU the rule speaks up only where an update takes at least `min_cpu_ops` ops.

## When it is wrong
Sparse gradients and `differentiable=True` need the loop; foreach needs memory of about the size of the parameters. A span of
another optimizer around this one is not counted twice. One flat parameter (FSDP1) has nothing to repeat. A compiled optimizer
cannot be told.

## Thresholds
- `min_ratio`: share of the used steps inside the spans from which the rule fires.
- `min_cpu_ops`: ops of one update from which fusing them helps on the CPU.

## References
- https://docs.pytorch.org/docs/stable/optim.html
- torch `_pattern_matcher.py`, OptimizerSingleTensorPattern
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.batched import with_kernels
from rules.optimizer.advice import FOREACH_CLASSES, FUSED_CLASSES, WITHOUT_LISTS, by_hand, foreach, fused, together
from rules.optimizer.decomposing import decomposes, decomposing
from rules.optimizer.made_where import others_class, own_line
from rules.optimizer.reading import ON_DEVICE, of_each_parameter
from rules.place import location
from traces.trace import Capability

META = RuleMeta(
    code="OP001",
    name="per-parameter-updates",
    family="optimizer",
    title="Optimizer updates one by one",
    binds=("launch",),
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below 5 % of the step the update is not what limits it"),
        Threshold(
            "min_cpu_ops", 4, "count", "fusing 9 ops of Adam gains a factor of 3 on two cores, fusing 2 of SGD nothing"
        ),
    ),
    explains=("ID001",),
    before=("ID001", "CP005"),
    references=("https://docs.pytorch.org/docs/stable/optim.html",),
    measured=True,
    outside=("optimizer",),
)
# Fused steps of Adam and AdamW on 1 to 100 parameters took 90 us and 8 us for each, 30 us of that before the first op (quiet core,
# torch 2.15).
_ONE_PASS_NS = 60_000
# On a quiet core under the profiler an op of an update takes 4 us on 2,000 numbers or fewer, and 8 us on 20,000: there lists save
# nothing, and cost up to 40 % (temporary tensors).
_SHORT_OP_NS = 6_000
# Of the time between such ops RMSprop, Adadelta, NAdam and Adamax saved 20 to 95 % for 10 to 50 small parameters.
_USUALLY = 0.5


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a for-loop optimizer takes at least `min_ratio` of the used steps."""
    work = facts.model.optimizing
    long = facts.steps.ratio(work.update_time.total_ns) >= limits["min_ratio"]
    if long and decomposes(facts) and work.class_name not in WITHOUT_LISTS:
        yield decomposing(facts)
        return
    quiet = _quiet(facts, limits)
    if quiet is not None:
        yield quiet
        return
    line, saving = facts.model.optimizer_line, _saving(facts)
    yield Finding(
        why=_why(facts, saving.claims.total_ns),
        saving=saving,
        fix=_fix(facts, work.class_name),
        verify="Record again: `aten::_fused_*` or `aten::_foreach_*` inside the optimizer's span, and a shorter span.",
        steps_seen=facts.steps.count_with(facts.model.optimizing.step_time),
        confidence=Confidence.HIGH if _is_torchs(facts, work.class_name) else Confidence.MEDIUM,
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("updating in optimizer.step()", facts.steps.per_step(work.update_time.total_ns)),
                    Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - work.update_time.total_ns)),
                ),
            ),
        ),
        location=location(line) or own_line(facts, work.class_name),
    )


def _quiet(facts: Facts, limits: Limits) -> Outcome | None:
    work = facts.model.optimizing
    if not len(work.spans):
        return not_applicable("no Optimizer.step span in the used steps")
    if facts.device.main is not None and work.on_host:
        return not_applicable(f"{work.class_name} launches nothing: it updates on the CPU (OP005)")
    if work.style == "unknown":
        return cannot_tell(
            f"nothing inside {work.class_name}.step shows how it updates (compiled, or not from torch.optim): needs with_stack=True"
        )
    if work.style != "for-loop":
        return clear(f"{work.class_name} updates with {work.style} ops")
    if work.class_name in WITHOUT_LISTS:
        return clear(WITHOUT_LISTS[work.class_name])
    ratio = facts.steps.ratio(work.update_time.total_ns)
    if ratio < limits["min_ratio"]:
        return clear(f"{work.class_name}.step takes {share(ratio)} of the step, below {share(limits['min_ratio'])}")
    if facts.device.main is None and work.ops_per_parameter < limits["min_cpu_ops"]:
        return clear(
            f"{work.class_name} needs {work.ops_per_parameter:.0f} ops a parameter: fusing so few gains nothing on the CPU"
        )
    if _only_lists(facts) and work.op_time.total_ns >= _slowed(facts, _SHORT_OP_NS) * work.ops:
        each = duration(work.op_time.total_ns / work.ops)
        return clear(
            f"{work.class_name} has no fused update, and lists of tensors save the CPU none of the {each} that each op takes"
        )
    return None


def _only_lists(facts: Facts) -> bool:
    """Whether an update on the CPU can be made of ops on lists alone: such an op goes through its tensors one by one there."""
    return facts.device.main is None and facts.model.optimizing.class_name not in FUSED_CLASSES


def _why(facts: Facts, idle_ns: int) -> str:
    work = facts.model.optimizing
    takes = duration(facts.steps.per_step(work.update_time.total_ns))
    each = f"{work.class_name}.step updates {count(work.parameters, 'parameter')} one by one"
    if facts.device.main is None:
        ratio = share(facts.steps.ratio(work.update_time.total_ns))
        return f"{each} ({work.ops_per_parameter:.0f} ops each), which takes {takes} of {facts.steps.each} ({ratio})."
    launched = f"{facts.steps.per_step(work.launches):,.0f} launches and " if work.launches else ""
    idles = (
        f"for {duration(facts.steps.per_step(idle_ns))} of which ({share(facts.steps.ratio(idle_ns))}) the GPU idles"
    )
    if not idle_ns:
        idles = "for none of which the GPU idles"
    return f"{each}: {launched}{takes} on the host in {facts.steps.each}, {idles}."


def _saving(facts: Facts) -> Saving:
    work = facts.model.optimizing
    owned = facts.time.waterfall.owned("optimizer") & work.update_time
    if facts.device.main is not None:
        saving = Saving(
            claims=owned,
            basis="device-idle time inside the optimizer's span, and its kernels; a fused update still needs a launch or two",
        )
        return with_kernels(facts, saving, work.update_time)
    if _only_lists(facts):
        return Saving(
            claims=owned - work.op_time,
            usual_claims=(owned - work.op_time).scaled(_USUALLY),
            basis="time between the ops of an update: on the CPU an op on lists goes through its tensors one by one as well; "
            "likely is half of it",
        )
    freed_ns = owned.total_ns * (1 - 1 / work.ops_per_parameter) - _slowed(facts, _ONE_PASS_NS) * len(work.spans)
    return Saving(
        claims=owned.scaled(max(0.0, freed_ns) / owned.total_ns) if owned else owned,
        basis="time inside the optimizer's span, if one pass replaces all ops of an update, less what that pass takes however few "
        "parameters there are",
    )


def _slowed(facts: Facts, quiet_ns: float) -> float:
    """What takes some time on a quiet core, on a core as slow as this one was."""
    return quiet_ns * max(1.0, facts.recording.collected.core_slowness or 1.0)


def _is_torchs(facts: Facts, name: str) -> bool:
    """Whether the class is one of torch's: by its name, unless the recording says whose it is."""
    return name in FOREACH_CLASSES and others_class(facts, name) is None


def _fix(facts: Facts, name: str) -> tuple[Advice, ...]:
    if not _is_torchs(facts, name):
        own = (ON_DEVICE, by_hand()) if of_each_parameter(facts) else (by_hand(),)
        return (fused(facts, name), *own) if name in FUSED_CLASSES else own
    if facts.model.optimizing.apart:
        return (fused(facts, name), together(name)) if name in FUSED_CLASSES else (together(name),)
    if name in FUSED_CLASSES:
        return (fused(facts, name),) if facts.device.main is None else (fused(facts, name), foreach(name))
    return (foreach(name),)


RULE = Rule(META, check, __doc__)
