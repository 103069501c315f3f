"""Updates that read values off the device on their way, and how they keep them there.

An optimizer of one's own, or of a library, whose step asks for a number of each parameter (`.item()`, or a tensor given as
`alpha=`) waits for the device as often. Lists of tensors are no remedy before those reads are gone.
"""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice
from rules.optimizer.advice import FOREACH_CLASSES, FUSED_CLASSES, WITHOUT_LISTS, fused

# Of the reads, or of the parameters: a read or two for a group of parameters, as a search for the learning rate takes, is no habit.
_MOST = 0.5

ON_DEVICE = Advice(
    "diff",
    "-scale = momentum.dot(grad).item()\n-p.sub_(grad, alpha=scale)\n"
    "+scale = momentum.dot(grad)      # stays on the device\n"
    "+p.sub_(grad * scale)            # a tensor as `alpha=` would be read",
    "Inside the optimizer's step, where each read waits for all that was launched before it. Where others wrote the optimizer: "
    "look for a newer version, or one without these reads.",
)


def counters(facts: Facts) -> tuple[Advice, ...]:
    """Fixes where torch's own optimizer reads values of the device for most single reads; empty elsewhere."""
    work = facts.model.optimizing
    if work.class_name not in FOREACH_CLASSES or work.style == "fused":
        return ()
    if _inside(facts) <= _MOST * facts.sync.waits.of("scalar").waits:
        return ()
    kept = Advice(
        "diff",
        " for state in optimizer.state.values():\n     for name, value in state.items():\n-        state[name] = value.to(device)\n"
        '+        if name != "step":            # its counter stays on the CPU\n+            state[name] = value.to(device)',
        f"`{work.class_name}.step` counts the steps of each parameter on the CPU. Where counters were moved to the GPU with the "
        "other states, as by an offload or a checkpoint, or the learning rate lies there, each parameter's is read back.",
    )
    return (kept, fused(facts, work.class_name)) if work.class_name in FUSED_CLASSES else (kept,)


def where(facts: Facts) -> str:
    """Where most single values are read inside an optimizer's step: which, to put behind `reading values`; else empty."""
    inside = _inside(facts) > _MOST * facts.sync.waits.of("scalar").waits
    return f" inside `{facts.model.optimizing.class_name}.step`" if inside else ""


def mostly_in_updates(facts: Facts) -> bool:
    """Whether most single values are read inside the step of an optimizer that torch does not bring."""
    calls = facts.sync.waits.of("scalar")
    return _of_others(facts) and _inside(facts) > _MOST * calls.waits


def of_each_parameter(facts: Facts) -> bool:
    """Whether such a step reads about as many values as it updates parameters."""
    work = facts.model.optimizing
    return (
        bool(work.parameters) and _of_others(facts) and facts.steps.per_step(_inside(facts)) > _MOST * work.parameters
    )


def _inside(facts: Facts) -> int:
    return facts.sync.waits.of("scalar").inside(facts.model.optimizing.step_time).waits


def _of_others(facts: Facts) -> bool:
    name = facts.model.optimizing.class_name
    return bool(len(facts.model.optimizing.spans)) and name not in FOREACH_CLASSES and name not in WITHOUT_LISTS
