"""CO004 data-parallel: one process drives several devices through nn.DataParallel.

## What it finds
`torch.nn.DataParallel`: one Python process that splits each batch, copies the model to every device and collects the results.

## Why it costs time
One interpreter launches the kernels of all devices in turn. Every step copies the parameters to all devices and gathers outputs
and gradients on the first, which also does more work than the others.

## How it is measured
A range or call named `DataParallel.forward` (not `DistributedDataParallel.forward`) and work on more than one device. The
evidence is how busy each device is. The bound is what the device that stands for the trace spends in collectives with nothing
beside them, and idles outside of ops in that pass or while another device works: the interpreter then launches for that one.
Of that likely are the collectives that the pass itself launches: a process a device has the parameters already.

## Example
Slow:

```python
model = torch.nn.DataParallel(model)
```

Faster:

```python
torch.distributed.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local_rank])
```

## Fix
1. One process per device: `torchrun --nproc_per_node=N train.py` and `DistributedDataParallel`.

## Expected gain
At most the bound: gradients still travel, beside the backward pass where they can. What one interpreter costs all devices by
launching for each in turn is not counted. Compare the busy shares of the devices with that of a run on one device.

## When it is wrong
A module of another kind with this name. Several devices in one process without DataParallel (pipelines, model parallelism) do
not fire.

## Thresholds
- `min_devices`: devices with work from which the rule fires.

## References
- https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
- TensorBoard profiler plugin: recommends DistributedDataParallel
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.columns import present
from analyzer.spans.intervals import IntervalSet
from analyzer.units import duration, share
from rules.commands import run
from rules.purpose import by_purpose
from traces.trace import Capability

META = RuleMeta(
    code="CO004",
    name="data-parallel",
    family="communication",
    title="nn.DataParallel instead of DDP",
    needs=frozenset({Capability.DEVICE}),
    binds=("communication", "python"),
    before=("CO001", "PY001"),
    thresholds=(Threshold("min_devices", 2, "count", "on one device the wrapper does nothing"),),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when DataParallel runs over at least `min_devices` devices."""
    forward = facts.communication.replicated_passes
    if not forward:
        yield not_applicable("no DataParallel module in the trace")
        return
    devices = len(facts.device.all)
    if devices < limits["min_devices"]:
        yield clear(f"DataParallel runs on {devices} device: the wrapper does nothing there")
        return
    busy = [(item.device, facts.steps.ratio((item.busy & facts.steps.window).total_ns)) for item in facts.device.all]
    lowest, highest = min(ratio for _, ratio in busy), max(ratio for _, ratio in busy)
    launch = run(facts, program=f"torchrun --nproc_per_node={devices}")
    yield Finding(
        why=f"One process drives {devices} devices through `DataParallel`; "
        f"they are busy {share(lowest)} to {share(highest)} of the step.{_lost(facts, forward)}",
        saving=_saving(facts, forward),
        fix=by_purpose(facts, (_apart(launch),), (_distributed(launch, devices),)),
        verify="Record every process of the new run: each device should be busier, and the step shorter.",
        steps_seen=facts.steps.count_with(forward),
        evidence=(
            Bars(
                "busy share by device", "ratio", tuple(Bar(f"device {device}", ratio) for device, ratio in sorted(busy))
            ),
        ),
    )


def _lost(facts: Facts, forward: IntervalSet) -> str:
    """What the first device loses to it, as a sentence; empty where nothing shows."""
    collectives, outside = facts.communication.collectives.exposed, _outside_ops(facts, forward)
    parts = [
        f"{duration(facts.steps.per_step(time.total_ns))} ({share(facts.steps.ratio(time.total_ns))}) {words}"
        for time, words in (
            (collectives, "in collectives with nothing beside them"),
            (outside, "idle outside of ops, in that pass or while another device works"),
        )
        if time
    ]
    return f" Of {facts.steps.each} the first of them spends {' and '.join(parts)}." if parts else ""


def _outside_ops(facts: Facts, forward: IntervalSet) -> IntervalSet:
    main = facts.device.main
    others = IntervalSet.union(item.busy for item in facts.device.all if main is None or item.device != main.device)
    return facts.time.waterfall.owned("python") & (forward | others)


def _saving(facts: Facts, forward: IntervalSet) -> Saving:
    exposed = facts.communication.collectives.exposed
    named = facts.kernels.named
    launched = named.frame["launch_start_ns"]
    sent = named.spans(named.collective & present(launched) & forward.contains(launched.fillna(0).to_numpy()))
    claims = exposed | _outside_ops(facts, forward)
    if not claims:
        return Saving(basis="not to be read from this trace: a run with one process a device must be compared")
    return Saving(
        claims=claims,
        usual_claims=exposed & sent,
        basis="collectives with nothing beside them, and what the device idles for outside of ops, in the pass or while another "
        "device works; likely are the collectives that the pass launches, as a process a device has the parameters already",
    )


def _distributed(launch: str, devices: int) -> Advice:
    return Advice(
        "diff",
        '-model = torch.nn.DataParallel(model)\n+torch.distributed.init_process_group("nccl")\n'
        '+rank = int(os.environ["LOCAL_RANK"])\n+torch.cuda.set_device(rank)\n'
        "+model = torch.nn.parallel.DistributedDataParallel(model.to(rank), device_ids=[rank])",
        f"Start with `{launch}`; DistributedSampler gives each process its part. The loader's `batch_size` is then that of one "
        f"process: a part in {devices} of it gives updates of as many samples as before.",
    )


def _apart(launch: str) -> Advice:
    return Advice(
        "diff",
        '-model = torch.nn.DataParallel(model)\n+rank = int(os.environ["LOCAL_RANK"])\n+torch.cuda.set_device(rank)\n'
        "+model = model.to(rank)\n+samples = samples[rank::devices]",
        f"Start with `{launch}`: a model that only runs needs no talk between devices, each process takes its part of the data.",
    )


RULE = Rule(META, check, __doc__)
