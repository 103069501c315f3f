"""SY006 anomaly-mode: every node of the backward pass is checked for NaN.

## What it finds
`torch.autograd.set_detect_anomaly(True)` (or Lightning's `detect_anomaly=True`) left on.

## Why it costs time
After every node of the backward pass each gradient is tested for NaN and the answer is read by the host: three more ops per
gradient, and on a device one wait for each. The forward pass records a Python stack for every op as well.

## How it is measured
Nodes of the backward pass (`autograd::engine::evaluate_function`) with `aten::isnan`, `aten::_is_any_true`, `aten::any` or
`aten::item` directly below them, as a share of all nodes in the used steps: only anomaly mode puts them there. A stack is
recorded between the start of a forward op and the op it calls first. The saving is the device-idle time in both and in the waits
that the checks cause; on a CPU-only trace the time of both. Unit: nanoseconds.

## Example
Slow:

```python
torch.autograd.set_detect_anomaly(True)
for batch in loader:
    train_step(batch)
```

Faster:

```python
torch.autograd.set_detect_anomaly(False)
for batch in loader:
    train_step(batch)
```

## Fix
1. Switch it off; switch it on again only to find a NaN that is there.
2. To watch for NaN cheaply, look at the loss every N steps.

## Expected gain
At most the checks and the stacks: with deep Python stacks and small layers most of the step.

## When it is wrong
A hook on every gradient that tests for NaN by itself would look alike where it runs directly below the nodes.

## Thresholds
- `min_ratio`: share of the backward nodes with a check from which the rule fires.

## References
- https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-debugging-apis
- https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.sync.anomaly import AnomalyChecks
from analyzer.finding import Advice, Bar, Bars, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from traces.trace import Capability

META = RuleMeta(
    code="SY006",
    name="anomaly-mode",
    family="sync",
    title="Autograd anomaly mode is on",
    needs=frozenset({Capability.HOST_OPS}),
    clear_needs=frozenset({Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "min_ratio", 0.5, "ratio", "with torch 2.13 every node that makes a gradient has the check, else none has"
        ),
    ),
    explains=("ID002",),
    references=("https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html#disable-debugging-apis",),
    measured=True,
    outside=("anomaly",),
)


# What anomaly mode calls to test a gradient (torch/csrc/autograd/engine.cpp).
_LIGHTNING = ("lightning", "pytorch_lightning")


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when at least `min_ratio` of the backward nodes are followed by a NaN check."""
    checks = facts.sync.anomaly
    if not checks.nodes:
        yield _without_nodes(facts)
        return
    if checks.ratio < limits["min_ratio"]:
        yield clear(f"{share(checks.ratio)} of the backward nodes check for NaN, below {share(limits['min_ratio'])}")
        return
    checking = duration(facts.steps.per_step(checks.host.total_ns))
    yield Finding(
        why=(
            f"{checks.checked:,} of {count(checks.nodes, 'backward node')} test their gradients for NaN, "
            f"which takes {checking} of {facts.steps.each} on the host: anomaly mode is on."
        ),
        saving=_saving(facts, checks),
        fix=(
            Advice(
                "diff",
                "-torch.autograd.set_detect_anomaly(True)\n+torch.autograd.set_detect_anomaly(False)",
                _where(facts) + "Switch it on only while looking for a NaN.",
            ),
        ),
        verify="Record again: no `aten::isnan` directly below a backward node.",
        steps_seen=checks.steps_seen,
        evidence=(
            Bars(
                "backward nodes in the used steps",
                "count",
                (Bar("with a NaN check", checks.checked), Bar("without", checks.nodes - checks.checked)),
            ),
        ),
    )


def _where(facts: Facts) -> str:
    return "In Lightning: `Trainer(detect_anomaly=False)`. " if facts.recording.frameworks.may_use(*_LIGHTNING) else ""


def _without_nodes(facts: Facts) -> Outcome:
    """Torch 1.x may record a backward pass without the engine's functions around its nodes, below which the checks would be."""
    eager = facts.sync.eager_checks
    if not eager.backward:
        return not_applicable("no backward pass in the used steps")
    if eager.tests:
        return cannot_tell(
            "this torch records no functions of the engine around the backward nodes: ops test for NaN, but not whose they are"
        )
    return clear("no op tests for NaN, beside the backward pass or elsewhere")


def _saving(facts: Facts, checks: AnomalyChecks) -> Saving:
    both = checks.host | checks.stacks
    if facts.device.main is None:
        inside = (both & facts.time.waterfall.owned("compute")).total_ns
        return Saving(kernel_ns=inside, basis="time of the checks and of recording stacks on the step's thread")
    idle = (both & facts.time.idle) | facts.sync.waits.owned("anomaly")
    return Saving(
        claims=idle, basis="device-idle time inside the checks, the waits they cause, and the recording of stacks"
    )


RULE = Rule(META, check, __doc__)
