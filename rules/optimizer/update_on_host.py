"""OP005 update-on-host: the optimizer updates the weights on the CPU while the device idles.

## What it finds
An optimizer whose step launches no kernel in a program that computes on a device: offloaded states (ZeRO-Offload, FSDP's CPU
offload), or parameters that were given to the optimizer before the model was moved to the device.

## Why it costs time
An update reads and writes every parameter and its states. A device does that at terabytes a second; a host's memory moves a
fiftieth of it, gradients and weights travel over PCIe each step, and the device waits for all of it.

## How it is measured
Time inside the innermost `Optimizer.step` spans, where no launch call is inside them: what of it the device idles (cause
`optimizer`), or only copies (causes `copy` and `transfer_call`). Unit: nanoseconds, shown as a share of the step.

## Example
Slow:

```python
policy = CPUOffloadPolicy()
fully_shard(model, offload_policy=policy)
```

Faster:

```python
fully_shard(model)
```

## Fix
1. Keep the states on the device where they fit: sharded over more ranks, in 8 bits, or with fewer trainable parameters.
2. An update made for the CPU: `DeepSpeedCPUAdam`, `fused=True` from torch 2.4 on, all cores of the rank's own socket.
3. Fewer updates: accumulate gradients over more passes.

## Expected gain
At most the idle time inside the spans. What an update takes on the device comes back: milliseconds for a billion parameters.

## When it is wrong
A trace that lost its launch calls looks alike; such a trace is not trusted (PG005, PG007).

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.

## References
- https://github.com/deepspeedai/DeepSpeed/pull/7474
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from traces.trace import Capability

META = RuleMeta(
    code="OP005",
    name="update-on-host",
    family="optimizer",
    title="Optimizer updates on the CPU",
    binds=("launch",),
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below 5 % of the step the update is not what limits it (OP001)"),
    ),
    explains=("ID001", "ID002"),
    before=("ID001",),
    references=("https://github.com/deepspeedai/DeepSpeed/pull/7474",),
    outside=("optimizer",),
)
_CAUSES = ("optimizer", "copy", "transfer_call")


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the device idles for at least `min_ratio` of the used steps inside an optimizer that launches nothing."""
    work = facts.model.optimizing
    if not len(work.spans):
        yield not_applicable("no Optimizer.step span in the used steps")
        return
    if not work.on_host:
        yield not_applicable(f"{work.class_name} updates on the device")
        return
    parts = {cause: facts.time.waterfall.owned(cause) & work.step_time for cause in _CAUSES}
    claims = parts["optimizer"] | parts["copy"] | parts["transfer_call"]
    ratio = facts.steps.ratio(claims.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"{work.class_name} launches nothing; the GPU idles for {share(ratio)} of the step in it, below "
            f"{share(limits['min_ratio'])}"
        )
        return
    copying = (parts["copy"] | parts["transfer_call"]).total_ns
    moved = f"; {duration(facts.steps.per_step(copying))} of that are copies to and from the host" if copying else ""
    yield Finding(
        why=(
            f"{work.class_name}.step launches no kernel: it updates the weights on the CPU. For "
            f"{duration(facts.steps.per_step(claims.total_ns))} of {facts.steps.each} ({share(ratio)}) the GPU computes nothing "
            f"meanwhile{moved}."
        ),
        saving=Saving(
            claims=claims,
            basis="time inside the optimizer's span in which the device computes nothing; there an update takes little of it",
        ),
        fix=_fix(facts),
        verify=f"Record again: kernels inside the optimizer's span, or a shorter span; the share of {META.code} should fall.",
        steps_seen=facts.steps.count_with(claims),
        evidence=(
            Bars(
                "mean step",
                "ns",
                (
                    Bar("inside optimizer.step()", facts.steps.per_step(work.step_time.total_ns)),
                    Bar("rest of the step", facts.steps.per_step(facts.steps.total_ns - work.step_time.total_ns)),
                ),
            ),
        ),
    )


def _fix(facts: Facts) -> tuple[Advice, ...]:
    work = facts.model.optimizing
    if "deepspeed" in work.class_name.lower():
        return _of_deepspeed()
    fixes = [_not_offloaded() if facts.communication.collectives.fsdp else _moved_first(work.class_name)]
    if work.style != "fused":
        fixes.append(_one_pass(work.class_name))
    fixes.append(
        Advice(
            "diff",
            " loss.backward()\n-optimizer.step()\n-optimizer.zero_grad()\n"
            "+if (index + 1) % 4 == 0:      # divide the loss by as many\n+    optimizer.step()\n+    optimizer.zero_grad()",
            "Fewer updates for the same samples. Scale the learning rate, and watch the validation score.",
        )
    )
    return tuple(fixes)


def _of_deepspeed() -> tuple[Advice, ...]:
    return (
        Advice(
            "diff",
            ' "zero_optimization": {\n     "stage": 2,\n-    "offload_optimizer": {"device": "cpu"}\n }',
            "Where the states fit into the device's memory: sharded over the ranks, or in 8 bits.",
        ),
        Advice(
            "shell",
            "deepspeed --bind_cores_to_rank train.py",
            "Each rank updates on cores and memory of its own; DeepSpeed measured a step 1.3 times as fast with two ranks.",
        ),
        Advice(
            "diff",
            '-"gradient_accumulation_steps": 1\n+"gradient_accumulation_steps": 4',
            "Fewer updates for the same samples. Scale the learning rate, and watch the validation score.",
        ),
    )


def _not_offloaded() -> Advice:
    return Advice(
        "diff",
        "-fully_shard(model, offload_policy=CPUOffloadPolicy())\n+fully_shard(model)",
        "Where the states fit into the device's memory once they are sharded. FSDP1: without `cpu_offload=CPUOffload(...)`.",
    )


def _moved_first(name: str) -> Advice:
    return Advice(
        "diff",
        f"+model.to(device)      # before the optimizer is made\n optimizer = torch.optim.{name}(model.parameters(), lr=lr)\n"
        "-model.to(device)",
        "Where the states fit into the device's memory, without offloading: parameters and states belong on the device before the "
        "first step.",
    )


def _one_pass(name: str) -> Advice:
    of_deepspeed = (
        " DeepSpeed's `deepspeed.ops.adam.DeepSpeedCPUAdam` is another, with the instructions of the CPU's vector units."
        if name in ("Adam", "AdamW")
        else ""
    )
    return Advice(
        "text",
        "Where it has to stay on the CPU: `fused=True` in the optimizer's arguments. There Adam, AdamW, SGD and Adagrad have it "
        "from torch 2.4 on.",
        f"One pass over the parameters on all cores, instead of one for each op.{of_deepspeed}",
    )


RULE = Rule(META, check, __doc__)
