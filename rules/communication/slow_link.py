"""CO007 slow-link: one group, or one pair of ranks, moves the same data more slowly than its equals.

## What it finds
A process group whose collectives take longer, from the arrival of its last member on, than the same collectives of other groups
with as many members over as many hosts; of messages, two ranks. The ranks are not late: their link is slow.

## Why it costs time
All ranks go at the pace of the slowest group: whoever meets its members next waits for them.

## How it is measured
Needs the traces of all ranks (`advisor explain FOLDER`). Of each collective with all members here, the time from the last
arrival to the end is its transfer; bytes over that is its bandwidth. A group is slow below 70 % of the median of at least two
equal ones, in the median of at least three messages of a megabyte or more. The job is played again with that group as fast as
they are (what-if). Metric: (step - step with the link as fast as equal ones) / step.

## Example
Slow:

```python
os.environ["NCCL_IB_HCA"] = "mlx5_0"  # eight devices of one host behind one adapter
dist.init_process_group("nccl")
```

Faster:

```python
dist.init_process_group("nccl")  # NCCL takes the adapter nearest to each device
```

## Fix
1. Measure the link alone, between these ranks and between others, with nccl-tests.
2. Look for what differs: adapters that are down or slow, devices on other sockets, NVLinks that are off, `NCCL_*` variables of
   one host.
3. Until it is mended, place what sends most inside a machine: tensor parallelism over NVLink, data parallelism between
   machines.

## Expected gain
What the job's step is shorter by with the link as fast as equal ones. Each rank claims it in its exposed communication.

## When it is wrong
Groups of as many members over as many hosts may still differ on purpose, as pairs with and without NVLink do. With two groups
alone nobody says which of them is as it should be: then the job's verdict names both, and this rule is silent.

## Thresholds
- `min_ratio`: share of the step that the slow link has to cost the job.

## References
- nccl-tests, doc/PERFORMANCE.md: algorithm and bus bandwidth
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, in_collectives
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear
from analyzer.ranks.document import LateRank, Link
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.communication.seen import among_others

META = RuleMeta(
    code="CO007",
    name="slow-link",
    family="communication",
    title="One link is slower than its equals",
    thresholds=(
        Threshold(
            "min_ratio", 0.05, "ratio", "half of what TraceML warns of a late rank from: a link is one thing to mend"
        ),
    ),
    explains=("CO001", "CO002"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when a link that is slower than equal ones costs the job a large enough share of the step."""
    place = among_others(facts)
    if isinstance(place, Outcome):
        yield place
        return
    late = place.slow_link
    if late is None and not any(link.peers_bytes_per_s for link in place.job.links):
        yield cannot_tell("no transfer of one group can be held against two equal ones")
        return
    ratio = late.waited_ns_per_step / place.job.step_ns if late is not None else 0.0
    if late is None or ratio < limits["min_ratio"]:
        yield clear(f"no link that is slower than equal ones costs {share(limits['min_ratio'])} of the step")
        return
    yield _finding(facts, place, late, ratio)


def _finding(facts: Facts, place: JobPlace, late: LateRank, ratio: float) -> Finding:
    slow = tuple(link for link in place.job.links if link.slow and link.group == late.group)
    detail = late.cause_detail[:1].upper() + late.cause_detail[1:]
    ranks = ",".join(map(str, slow[0].ranks)) if slow else str(late.rank)
    return Finding(
        why=f"{detail}. The job loses {duration(late.waited_ns_per_step)} a step by it ({share(ratio)}).",
        saving=Saving(
            in_collectives(facts.steps, facts.time, late.waited_ns_per_step),
            0,
            "what the job's step is shorter by with the link as fast as equal ones",
        ),
        fix=(
            Advice(
                "shell",
                "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,GRAPH,NET all_reduce_perf -b 1M -e 256M -f 2 -g 1",
                f"Run nccl-tests on the hosts of ranks {ranks} and on others: the link alone, and the way NCCL takes over it.",
            ),
            Advice("shell", "nvidia-smi topo -m", "What lies between the devices, and which adapter is near which."),
        ),
        verify="Record all ranks again: the bandwidths of equal groups should be alike, and CO007 clear.",
        steps_seen=min(late.of, facts.steps.count),
        confidence=Confidence(late.confidence),
        evidence=tuple(_bars(place, link) for link in slow[:1]),
        caveats=("Groups of equal size may be joined by other links on purpose, as pairs with and without NVLink.",),
    )


def _bars(place: JobPlace, slow: Link) -> Bars:
    equal = [
        one
        for one in place.job.links
        if (one.kind, one.size_bytes, len(one.ranks)) == (slow.kind, slow.size_bytes, len(slow.ranks))
    ]
    return Bars(
        f"GB/s of {slow.kind}, {slow.size_bytes / 1e6:.0f} MB",
        "count",
        tuple(Bar(f"ranks {', '.join(map(str, one.ranks[:4]))}", one.bytes_per_s / 1e9) for one in equal[:_SHOWN]),
    )


_SHOWN = 8
RULE = Rule(META, check, __doc__)
