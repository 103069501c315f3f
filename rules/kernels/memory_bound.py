"""KE009 memory-bound: much of the step moves bytes as fast as the device's memory can.

## What it finds
Runs in which operators that are limited by memory, and run near its peak, take a large part of the step.

## Why it costs time
It is no loss by itself: these operators are as fast as the memory lets them. A better kernel for the same bytes does not exist,
and neither a higher clock nor tensor cores would help. Only fewer bytes do, or a faster memory.

## How it is measured
Operators whose recorded shapes give more time for their bytes than for their operations, at the device's peaks, and that reach at
least `min_peak_ratio` of the memory's peak: their share of the used steps. Without shapes, the counter of the memory's activity
(torch 2.15 with cupti-python), where it was recorded.

## Example
Slow (three passes over the data, in 32 bits):

```python
y = torch.relu(x * scale + bias)
```

Faster (one pass, in 16 bits):

```python
@torch.compile
def activation(x, scale, bias):
    return torch.relu(x * scale + bias)
```

## Fix
1. Fewer passes: `torch.compile`, fused kernels (GR001 says what that gives here).
2. Narrower numbers: 16 bits for activations (PR001), 8 bits for weights that are only read.
3. Fewer bytes: no copies of layouts, in-place where nothing needs the old value, recomputing what is cheap.
4. More work for each byte: a larger batch where weights are most of what is read.

## Expected gain
None is claimed: what fusing and narrower numbers give is the matter of the rules named above.

## When it is wrong
Bytes count once for each input and output: data that stayed in a cache make an operator look faster than the memory. Above 100 %
of the peak nothing is told. The thresholds are reasoned, not calibrated: no recording on a GPU has judged them.

## Thresholds
- `min_peak_ratio`: share of the memory's peak from which an operator counts as limited by it.
- `min_ratio`: share of the step in such operators from which it is told.

## References
- Williams, Waterman, Patterson: Roofline, CACM 52(4), 2009
- https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, Severity, cannot_tell, clear
from analyzer.hardware.at_memory import at_memory, memory_activity
from analyzer.hardware.work import PRODUCTS
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, share
from rules.changes import compiled
from traces.trace import Capability

_SHOWN = 6

META = RuleMeta(
    code="KE009",
    name="memory-bound",
    family="kernels",
    title="Memory is the limit of much work",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_peak_ratio", 0.6, "ratio", "copies reach some 80 to 90 % of a datasheet's figure, good kernels 60 %"
        ),
        Threshold("min_ratio", 0.2, "ratio", "from there on it is the run's character"),
    ),
    references=("https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when operators at the memory's peak take `min_ratio` of the step."""
    activity = memory_activity(facts)
    found = at_memory(facts, limits["min_peak_ratio"])
    if not found.known:
        if activity is not None:
            yield from _by_counter(facts, activity, limits)
            return
        yield cannot_tell("neither shapes with known peaks of the device nor its memory's counter were recorded")
        return
    ratio = facts.steps.ratio(found.time_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"operators near the memory's peak take {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    counted = f" The memory's counter shows {share(activity)} while the device is busy." if activity is not None else ""
    longest, reached = found.rows[0]
    yield _finding(
        facts,
        f"{count(len(found.rows), 'operator')} limited by memory reach at least {share(limits['min_peak_ratio'])} of its peak and "
        f"take {share(ratio)} of the step; the longest, `{longest.op}`, reaches {share(reached)}.{counted} Only fewer bytes help.",
        tuple(Bar(one.op, facts.steps.ratio(one.device_ns)) for one, _ in found.rows[:_SHOWN]),
        Confidence.MEDIUM,
        products=2 * sum(one.device_ns for one, _ in found.rows if one.op in PRODUCTS) > found.time_ns,
    )


_NARROWER = Advice("text", "Narrower numbers: 16 bits for activations, 8 bits for weights that are only read.")
_MORE = Advice("text", "More work for each byte: a larger batch where weights are most of what is read.")


def _by_counter(facts: Facts, activity: float, limits: Limits) -> Iterator[Finding | Outcome]:
    if activity < limits["min_peak_ratio"]:
        yield clear(
            f"the memory is {share(activity)} active while the device is busy, below {share(limits['min_peak_ratio'])}"
        )
        return
    yield _finding(
        facts,
        f"The memory is {share(activity)} active while the device is busy (median): it is the limit. Only fewer bytes help.",
        (Bar("memory active", activity),),
        Confidence.MEDIUM,
    )


def _finding(
    facts: Facts, why: str, bars: tuple[Bar, ...], confidence: Confidence, *, products: bool = False
) -> Finding:
    """A finding on work at the memory's peak; most of it may be products, of which a compiler makes no fewer passes."""
    return Finding(
        why=why,
        saving=Saving(
            basis="at their peak already: what fewer bytes give is told by the rules on fusing and number formats"
        ),
        fix=(_MORE, _NARROWER) if products else (compiled(facts, "Fewer passes over the same data."), _NARROWER, _MORE),
        verify="Record again with shapes: fewer bytes in these operators, and a shorter step.",
        steps_seen=facts.steps.count,
        confidence=confidence,
        severity_cap=Severity.INFO,
        evidence=(Bars("of the step", "ratio", bars),),
        caveats=("Data that stayed in a cache make an operator look faster than the memory.",),
    )


RULE = Rule(META, check, __doc__)
