"""ID001 launch-bound: the host cannot launch kernels as fast as the device finishes them.

## What it finds
Steps made of many short kernels, where the device waits for each launch.

## Why it costs time
Every kernel costs the host 5 to 50 us of Python, dispatch and launch. Where the kernels are shorter than that, the queue is always
empty and the host sets the pace; a faster GPU changes nothing.

## How it is measured
Launch lead: start of a kernel less the end of its launch call, median over the used steps. A queue keeps it above 100 us; waiting
for each launch brings it to 2-5 us on CUDA and 10-18 us on ROCm. The rule fires where the lead is small, the device idles, and
most of the idle time, waiting for data aside, belongs to dispatch (causes `launch`, `framework`, `optimizer`, `python`, and of
`device_wait` what launched work takes to start on an idle device): a loader empties the queue once a step and has rules of its
own; it does not keep it empty. The saving is the idle time of `launch`, `framework` and `optimizer`, and what launched work takes
to start, as fewer launches start less often; without start-up calls (PG002) and without what more specific rules claim where they
fire: optimizers (OP001, OP002, OP003, OP005), fills (KE013), gloo or DDP's search (CO006), loops (PY002, PY003, PY006, PY007) and
pauses (ID003, ID005, PY004). Where more than half of it lies inside one op, the op is named, and so is another that holds at
least half as much; where its calls take a millisecond or more each, and for each launch in them, it is its own work on the host,
and the advice is about that, beside advice about launches where another op makes them. Such an op is told also where kernels are
queued after it, or too few are launched to tell, from the same idle share on: the saving is then the idle time inside its calls.
Kernels that seem to start before their launch show by how much the clocks differ; where that is little beside the gaps, it is
added to the lead; where it is not, only an op is told whose calls are ten times as long. Where kernels are queued in the median,
gaps of up to 1 ms that end with a kernel just launched are counted by themselves, from the same idle share and number on: the
device waits for launches in a part of the step. Unit: nanoseconds.

## Example
Slow:

```python
for batch, target in loader:
    loss = criterion(model(batch), target)
```

Faster:

```python
model = torch.compile(model, mode="reduce-overhead")
for batch, target in loader:
    loss = criterion(model(batch), target)
```

## Fix
1. A larger batch, where memory allows: as many launches for more work.
2. `torch.compile(model, mode="reduce-overhead")`: CUDA graphs launch a whole step at once.
3. A fused optimizer (OP001), fewer Python loops (PY002, PY003).
4. One op that works on the host for milliseconds: do that work on the GPU, less often, or in the loader's workers. Guards of a
   compiled model: fewer of them, block by block. Convolutions and products: a library that chooses or builds kernels. An op that
   computes nothing, as `aten::empty`: its thread stood still. A launch that takes so long itself: the driver, or the profiler.
5. With DistributedDataParallel and batch normalisation `broadcast_buffers=False`: before each forward pass DDP else copies the
   running statistics from rank 0, layer by layer.
6. Weight norm of a model that is only run: fold it once (`remove_parametrizations`), its weights never change.

## Expected gain
At most the idle time in dispatch, and other idle time as much as dispatch took beside a busy device. CUDA graphs come near to it;
a larger batch saves per sample, not per step.

## When it is wrong
Stacks and memory recording slow the host down exactly here: such a trace is never "high". Waiting launches (SY005) look alike and
are excluded. "Many kernels below 10 us" alone means nothing: 61 % of the kernels of a healthy ResNet on a V100 are.

## Thresholds
- `max_lead_cuda_ns`: launch lead below which the device waits for launches, on CUDA.
- `max_lead_rocm_ns`: the same on ROCm, where a launch takes longer to arrive.
- `min_idle_ratio`: share of the used steps that the device idles.
- `min_dispatch_part`: part of the idle time, waiting for data aside, that belongs to dispatch.
- `min_launches`: kernels launched one by one below which their lead says nothing.
- `min_ratio`: share of the used steps that launching and dispatching own.

## References
- HolisticTraceAnalysis, launch statistics and idle breakdown; TraceLens, cpu_idle analysis; XProf, kernel launch 3 and 15 %
- https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.device.launches import BLOCKING_RATIO
from analyzer.facts.host.dispatch_owner import DispatchOwner
from analyzer.facts.time.launch_bound import IDLE_RATIO, LEAD_NS, LEAD_ROCM_NS
from analyzer.finding import (
    Advice,
    Confidence,
    Finding,
    Outcome,
    Saving,
    Severity,
    cannot_tell,
    clear,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, listed, share
from rules.idle import after_waits
from rules.idle.advice import feed_faster
from rules.idle.launching import after_launch, at_work, evidence, owned, skew, within
from rules.idle.own_work import own_work
from rules.idle.sent_too import sent_too
from traces.trace import Capability

META = RuleMeta(
    code="ID001",
    name="launch-bound",
    family="idle",
    title="CPU cannot feed the GPU",
    binds=("launch",),
    measures=("launch",),
    needs=frozenset({Capability.HOST_OPS, Capability.DEVICE, Capability.LAUNCHES}),
    thresholds=(
        Threshold(
            "max_lead_cuda_ns",
            LEAD_NS,
            "ns",
            "46 traces: 2-5 us where launches limit, 71 us and more where they do not",
        ),
        Threshold(
            "max_lead_rocm_ns",
            LEAD_ROCM_NS,
            "ns",
            "46 traces: 10-18 us where launches limit, 170 us and more where they do not",
        ),
        Threshold("min_idle_ratio", IDLE_RATIO, "ratio", "TraceLens warns from 15 % idle"),
        Threshold(
            "min_dispatch_part", 0.6, "ratio", "below, waiting of another kind is the main cause and has its own rule"
        ),
        Threshold("min_launches", 20, "count", "a median of fewer launches is chance, and so few cannot fill a queue"),
        Threshold("min_ratio", 0.05, "ratio", "XProf and this catalogue call 5 % of the step for launches low"),
    ),
    explains=("ID002",),
    topics=frozenset({"queue"}),
    references=("https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",),
    outside=("compile",),
)
# Between two clocks a tenth of a call may lie wrong; which call the device idles in stays certain.
_FAR_BEYOND = 10
_DISPATCH = ("launch", "framework", "optimizer", "python")


def check(facts: Facts, limits: Limits, claimed: IntervalSet) -> Iterator[Finding | Outcome]:
    """Fires when the launch lead is small and dispatch owns most of a large idle share."""
    quiet = _quiet(facts, limits)
    if quiet is not None:
        yield _held_up(facts, limits, claimed) or _in_part(facts, limits, claimed) or quiet
        return
    claims = _claims(facts) - claimed
    owner = facts.host.dispatch_owner(claims)
    ratio = facts.steps.ratio(claims.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"launching and dispatching own {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    kernels = facts.time.usual_launch.kernels
    heavy = facts.health.heavy_options
    yield Finding(
        why=(
            f"The GPU idles {duration(facts.steps.per_step(claims.total_ns))} of {facts.steps.each} "
            f"({share(ratio)}) while the host dispatches {count(round(facts.steps.per_step(kernels)), 'kernel')}: the median "
            f"one starts {after_launch(facts.time.lead_ns)}, so hardly any waits in a queue.{owned(facts, owner)}"
            f"{within(facts, claims)}"
            f"{after_waits.sentence(facts, claims)}"
        ),
        saving=Saving(
            claims=claims,
            behind=facts.sync.behind(facts.host.dispatching),
            basis="device-idle time in launch calls, on the way to one, and until the work starts",
        ),
        fix=_fixes(facts, owner, claims),
        verify="Record again: the median launch lead should exceed 100 us, and the GPU's idle share fall below 10 %.",
        steps_seen=facts.steps.count,
        evidence=evidence(facts),
        caveats=(
            *(f"The trace was recorded with {option}, which slows the host down just here." for option in heavy),
            *skew(facts),
        ),
        severity_cap=Severity.MEDIUM if heavy else Severity.HIGH,
        capped_because="what was recorded slows launching down",
    )


def _fixes(facts: Facts, owner: DispatchOwner | None, claims: IntervalSet) -> tuple[Advice, ...]:
    """What fits each op that is named: launches made faster, work of its own taken away, that first which holds more."""
    of_ops = own_work(facts, owner.at_work) if owner is not None else ()
    if owner is not None and owner.works and not owner.dispatches:
        return of_ops
    faster = (*after_waits.wait_later(facts, claims), *feed_faster(facts))
    return (*of_ops, *faster) if owner is not None and owner.works else (*faster, *of_ops)


def _held_up(facts: Facts, limits: Limits, claimed: IntervalSet) -> Finding | None:
    """Ops whose own work keeps the device waiting, where launches do not: a queue that is filled later says nothing of it."""
    idle = _claims(facts) - claimed
    owner = facts.host.dispatch_owner(idle)
    if owner is None or not owner.works:
        return None
    apart_ns = _FAR_BEYOND * facts.time.skew_ns if facts.time.clocks_apart else 0
    ops = [op for op in owner.at_work if op.idle_each_ns >= apart_ns]
    spans = IntervalSet.union(op.spans for op in ops)
    claims = idle & spans
    ratio = facts.steps.ratio(claims.total_ns)
    if not ops or ratio < limits["min_idle_ratio"]:
        return None
    names = listed([f"`{op.name}`" for op in ops])
    return Finding(
        why=(
            f"The GPU idles {duration(facts.steps.per_step(claims.total_ns))} of {facts.steps.each} ({share(ratio)}) while the "
            f"host is at work {at_work(facts, ops)}{'' if any(op.launched_by for op in ops) else ', not launching'}."
            f"{within(facts, claims)}"
        ),
        saving=Saving(
            claims=claims,
            behind=facts.sync.behind(spans) | sent_too(facts, ops),
            basis=f"device-idle time inside the calls of {names}",
        ),
        fix=own_work(facts, ops),
        verify=f"Record again: {names} should take less time, and the GPU's idle share should fall with it.",
        steps_seen=facts.steps.count_with(claims),
    )


def _in_part(facts: Facts, limits: Limits, claimed: IntervalSet) -> Finding | None:
    """Launches that the device waits for in one part of the step, with a full queue in another: the median says nothing then."""
    limit = limits["max_lead_rocm_ns" if facts.device.kind == "rocm" else "max_lead_cuda_ns"]
    queued = facts.time.lead_ns is not None and facts.time.lead_ns >= limit
    if not queued or facts.time.blocking_launches.ratio >= BLOCKING_RATIO:
        return None
    gaps = facts.time.starved(limit)
    claims = (_claims(facts) & gaps) - claimed
    ratio = facts.steps.ratio(claims.total_ns)
    waits = facts.steps.per_step(len(gaps & facts.steps.window))
    if ratio < limits["min_idle_ratio"] or waits < limits["min_launches"]:
        return None
    owner = facts.host.dispatch_owner(claims)
    return Finding(
        why=(
            f"In a part of the step the GPU waits for each launch: {waits:,.0f} times {facts.steps.a_unit} it idles until the next "
            f"kernel is launched, for {duration(facts.steps.per_step(claims.total_ns))} of {facts.steps.each} ({share(ratio)}) in "
            f"all; elsewhere kernels are queued.{owned(facts, owner)}{after_waits.sentence(facts, claims)}"
        ),
        saving=Saving(
            claims=claims,
            behind=facts.sync.behind(facts.host.dispatching),
            basis="device-idle time before kernels that start as soon as they are launched",
        ),
        fix=_fixes(facts, owner, claims),
        verify="Record again: the GPU's idle share should fall.",
        steps_seen=facts.steps.count_with(claims),
        confidence=Confidence.MEDIUM,
        evidence=evidence(facts),
        caveats=skew(facts),
        title="CPU feeds the GPU too slowly in part",
    )


def _quiet(facts: Facts, limits: Limits) -> Outcome | None:
    if facts.time.clocks_apart:
        return cannot_tell(
            f"the clocks of host and device differ by {duration(facts.time.skew_ns)} or more (PG008), too much beside the gaps"
        )
    lead = facts.time.lead_ns
    blocking = facts.time.blocking_launches
    if lead is None or blocking.launches < limits["min_launches"]:
        return cannot_tell(
            f"needs at least {limits['min_launches']:.0f} kernels launched one by one in the used steps; "
            "graph launches say nothing here"
        )
    if blocking.ratio >= BLOCKING_RATIO:
        return cannot_tell("launches wait for their kernels (SY005): record again without CUDA_LAUNCH_BLOCKING")
    limit = limits["max_lead_rocm_ns" if facts.device.kind == "rocm" else "max_lead_cuda_ns"]
    if lead >= limit:
        return clear(f"kernels are queued: the median launch lead is {duration(lead)}, not below {duration(limit)}")
    idle = facts.time.idle - facts.health.warmup[0]
    ratio = facts.steps.ratio(idle.total_ns)
    if ratio < limits["min_idle_ratio"]:
        return clear(f"the device idles {share(ratio)} of the step, below {share(limits['min_idle_ratio'])}")
    # A loader empties the queue once a step; a lead this short in spite of the rest of the step is not its doing.
    idle -= facts.time.waterfall.owned("input")
    # Launched work that starts at once is on its way; what waits for longer does not wait for the host.
    dispatch = facts.time.device_waits.starting | facts.time.waterfall.owned(*_DISPATCH)
    part = (dispatch & idle).total_ns / max(idle.total_ns, 1)
    if part < limits["min_dispatch_part"]:
        return clear(
            f"{share(part)} of the idle time, waiting for data aside, belongs to dispatch, below "
            f"{share(limits['min_dispatch_part'])}"
        )
    return None


def _claims(facts: Facts) -> IntervalSet:
    """Device-idle time in which the host dispatches; start-up work, which steady training does not repeat, is none."""
    spent = facts.time.device_waits.starting | facts.time.waterfall.owned("launch", "framework", "optimizer")
    return spent - facts.health.warmup[0]


RULE = Rule(META, check, __doc__)
