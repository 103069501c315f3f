"""KE006 recomputed-activations: part of the forward pass is computed twice, to save memory.

## What it finds
Runs whose backward pass computes activations again (`torch.utils.checkpoint`), and how much of the step that takes.

## Why it costs time
Each wrapped layer's forward pass runs twice: a model that wraps all of its layers computes about a third more. That is no fault: it
buys memory, for a larger model, batch or sequence. It is told because the price shows in no other figure, and because it is worth
paying only while memory is short.

## How it is measured
Ops of a forward pass inside nodes of the backward pass that are recorded for gradients, which gradients themselves are not: device
time of their kernels, without a device the ops' own, as a share of the used steps. Where memory is known to have room (tensors take
less than `max_used_ratio` of the device's memory at the peak; without a device less of the machine's is in use), that time is the
bound; else no saving is claimed, and it stays a note.

## Example
Slow (all layers are computed twice):

```python
for layer in layers:
    x = checkpoint(layer, x, use_reentrant=False)
```

Faster (as many as memory asks for):

```python
for number, layer in enumerate(layers):
    x = checkpoint(layer, x, use_reentrant=False) if number % 2 else layer(x)
```

## Fix
1. Where memory has room: wrap fewer layers.
2. Keep what is dear to compute and small to keep: selective checkpointing (`create_selective_checkpoint_contexts`).

## Expected gain
At most what is computed again; all of it only where all activations fit.

## When it is wrong
A backward pass of your own that calls the functional API inside `torch.enable_grad` looks the same.

## Thresholds
- `min_ratio`: share of the step from which it is told.
- `max_used_ratio`: share of the memory in use below which there is room.

## References
- https://docs.pytorch.org/docs/stable/checkpoint.html
- https://pytorch.org/blog/activation-checkpointing-techniques/
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Severity,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share, size
from rules.evidence import kernel_saving
from traces.trace import Capability

META = RuleMeta(
    code="KE006",
    name="recomputed-activations",
    family="kernels",
    title="Activations computed twice",
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),
        Threshold("max_used_ratio", 0.5, "ratio", "twice the memory is free: what is kept may take as much again"),
    ),
    references=("https://docs.pytorch.org/docs/stable/checkpoint.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when `min_ratio` of the step is computed again."""
    found = facts.kernels.recomputation
    if not found.spans:
        if found.unclear:
            yield cannot_tell(
                "a backward pass of the user's own runs forward ops: perhaps recomputed, perhaps gradients"
            )
        elif facts.model.infers:
            yield not_applicable("the trace shows no backward pass")
        else:
            yield clear("nothing is computed again in the backward pass")
        return
    ratio = facts.steps.ratio(found.spans.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"what is computed again takes {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    used = _used(facts)
    room = used is not None and used < limits["max_used_ratio"]
    each = duration(facts.steps.per_step(found.spans.total_ns))
    yield Finding(
        why=f"The backward pass computes activations again for {each} a step ({share(ratio)}). That buys memory.{_memory(facts)}",
        saving=_saving(facts)
        if room
        else Saving(basis="recomputation is a choice: what it costs is told, and no saving is claimed"),
        fix=(
            *(() if room else (Advice("text", "While memory is short this is right: nothing to change."),)),
            Advice(
                "python",
                "x = checkpoint(layer, x, use_reentrant=False) if number % 2 else layer(x)",
                "Where memory has room: wrap fewer layers, as here every second one, or none. A Trainer's setting is "
                "`gradient_checkpointing=False`.",
            ),
        ),
        verify="Wrap fewer layers, record again, and compare step time and peak memory (`advisor collect train.py --memory`).",
        steps_seen=facts.steps.count_with(found.spans),
        # That tensors fit now does not say that all activations would.
        confidence=Confidence.LOW if room else Confidence.HIGH,
        severity_cap=Severity.MEDIUM if room else Severity.INFO,
        evidence=(Bars("of the step", "ratio", (Bar("computed again", ratio),)),),
        caveats=("All of it goes only if all activations fit into memory.",),
    )


def _used(facts: Facts) -> float | None:
    """Share of the memory that is in use at most; None where nobody recorded it."""
    if facts.device.main is not None:
        found = facts.memory.device
        if not found.peak_allocated_bytes or not found.capacity_bytes:
            return None
        return found.peak_allocated_bytes / found.capacity_bytes
    run = facts.recording.collected
    if not run.memory_bytes or run.memory_available_bytes is None:
        return None
    return 1 - run.memory_available_bytes / run.memory_bytes


def _saving(facts: Facts) -> Saving:
    spans = facts.kernels.recomputation.spans
    basis = "all that is computed again, where all activations fit"
    if facts.device.main is None:
        return Saving(spans & facts.time.waterfall.owned("compute"), basis=basis)
    return kernel_saving(facts, spans.total_ns, basis)


def _memory(facts: Facts) -> str:
    run = facts.recording.collected
    if facts.device.main is None and run.memory_bytes and run.memory_available_bytes is not None:
        return f" Of the machine's {size(run.memory_bytes)} of memory {size(run.memory_available_bytes)} are free."
    found = facts.memory.device
    if not found.peak_allocated_bytes or not found.capacity_bytes:
        how = " (profile_memory=True)" if facts.device.main is not None else ""
        return f" How much is free was not recorded{how}."
    ratio = found.peak_allocated_bytes / found.capacity_bytes
    return f" Tensors take {size(found.peak_allocated_bytes)} of {size(found.capacity_bytes)} at the peak ({share(ratio)})."


RULE = Rule(META, check, __doc__)
