"""CO006 wrong-backend: gloo moves tensors although there are GPUs, or DDP searches for unused parameters in every step.

## What it finds
Collectives of the gloo backend in a run on CUDA or ROCm devices while the device idles; and the search that
`find_unused_parameters=True` makes after every forward pass.

## Why it costs time
gloo sends from host memory: tensors of the device are copied out and in, and the host waits. NCCL (RCCL) sends from device to
device. The search walks the whole autograd graph on the host before the backward pass may begin.

## How it is measured
Device-idle time inside ranges named `gloo:*`, and inside ranges of `search_unused_parameters`, as shares of the used steps.
Collectives on CPU tensors that cost no device time do not count.

## Example
Slow:

```python
torch.distributed.init_process_group("gloo")
model = DistributedDataParallel(model, find_unused_parameters=True)
```

Faster:

```python
torch.distributed.init_process_group("nccl")
model = DistributedDataParallel(model, find_unused_parameters=False)
```

## Fix
1. `init_process_group("nccl")`; `"cpu:gloo,cuda:nccl"` where CPU tensors are sent as well.
2. `find_unused_parameters=False`, or `static_graph=True` where the same ones are unused in each step.

## Expected gain
At most the device-idle time inside these ranges.

## When it is wrong
gloo for metrics and barriers on CPU tensors is fine. The search is seen by its name, as torch 2.15
writes it.

## Thresholds
- `min_ratio`: share of the used steps from which the rule fires.

## References
- TensorBoard profiler plugin: recommends NCCL; https://docs.pytorch.org/docs/stable/notes/ddp.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from traces.trace import Capability

META = RuleMeta(
    code="CO006",
    name="wrong-backend",
    family="communication",
    title="gloo or a search holds the GPU up",
    binds=("communication", "python"),
    needs=frozenset({Capability.DEVICE}),
    thresholds=(Threshold("min_ratio", 0.02, "ratio", "findings below 2 % of the window are not worth a change"),),
    before=("ID001", "PY001"),
    references=("https://docs.pytorch.org/docs/stable/notes/ddp.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires for gloo and for the search, each by the idle time it owns."""
    gloo = facts.communication.calls_of("gloo") & facts.steps.window
    search = facts.communication.unused_parameter_search
    if not gloo and not search:
        yield not_applicable("no gloo collective and no search for unused parameters in the used steps")
        return
    owned = facts.time.waterfall.owned
    host = owned("framework") | owned("python") | owned("sync") | owned("launch") | owned("transfer_call")
    found = False
    for spans, build in ((gloo, _gloo), (search, _search)):
        claims = spans & host
        if claims and facts.steps.ratio(claims.total_ns) >= limits["min_ratio"]:
            found = True
            yield build(facts, spans, claims)
    if not found:
        ratio = facts.steps.ratio(((gloo | search) & host).total_ns)
        yield clear(f"the device idles {share(ratio)} of the step inside them, below {share(limits['min_ratio'])}")


_BY_ENGINE = Advice(
    "text",
    "What ranks agree on before each pass, as how many tokens each has: an engine's settings, or a newer version, let the "
    "device do "
    "that, leave it out where all ranks know, or do it beside the pass before. Over several machines each such call takes longest.",
    "Tensors of the CPU go by gloo.",
)


def _gloo(facts: Facts, spans: IntervalSet, claims: IntervalSet) -> Finding:
    return Finding(
        why=f"The GPU idles {share(facts.steps.ratio(claims.total_ns))} of the step while gloo moves tensors through host memory.",
        saving=Saving(claims=claims, basis="device-idle time inside gloo's collectives"),
        fix=(_BY_ENGINE,)
        if facts.recording.serving_engine is not None
        else (
            Advice(
                "diff",
                '-torch.distributed.init_process_group("gloo")\n+torch.distributed.init_process_group("cpu:gloo,cuda:nccl")',
                "NCCL for the device's tensors, gloo for those of the CPU.",
            ),
        ),
        verify="Record again: `nccl:*` ranges and kernels instead of `gloo:*`.",
        steps_seen=facts.steps.count_with(claims),
        confidence=Confidence.MEDIUM,
        evidence=(_bars(facts, "gloo", spans, claims),),
        caveats=("Collectives on CPU tensors (metrics, barriers) belong on gloo; then make them rarer.",),
        title="gloo while the GPU waits",
    )


def _search(facts: Facts, spans: IntervalSet, claims: IntervalSet) -> Finding:
    return Finding(
        why=f"The GPU idles {share(facts.steps.ratio(claims.total_ns))} of the step while DDP searches for unused parameters.",
        saving=Saving(claims=claims, basis="device-idle time inside the search"),
        fix=(
            Advice(
                "diff",
                "-model = DistributedDataParallel(model, find_unused_parameters=True)\n"
                "+model = DistributedDataParallel(model, static_graph=True)",
                "Where every parameter is used, drop the option. static_graph=True remembers which ones are not: they must be the "
                "same in each step, or it fails.",
            ),
        ),
        verify="Record again: no range named `search_unused_parameters`.",
        steps_seen=facts.steps.count_with(claims),
        confidence=Confidence.MEDIUM,
        evidence=(_bars(facts, "the search", spans, claims),),
        title="DDP searches unused parameters",
    )


def _bars(facts: Facts, what: str, spans: IntervalSet, claims: IntervalSet) -> Bars:
    bars = (
        Bar(f"in {what}", facts.steps.per_step(spans.total_ns)),
        Bar("while the device idles", facts.steps.per_step(claims.total_ns)),
    )
    return Bars("mean step", "ns", bars)


RULE = Rule(META, check, __doc__)
