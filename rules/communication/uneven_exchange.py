"""CO009 uneven-exchange: one rank gets more of each all-to-all than the others, and they wait for it.

## What it finds
All-to-alls whose members do not get the same: experts that are chosen more often than others, sequences that are longer, shards
of embeddings that are asked for more. The rank with the most is late.

## Why it costs time
Whoever gets more computes longer, and the exchange that brings results back ends for all when that rank has come.

## How it is measured
Needs the traces of several ranks (`advisor explain FOLDER`). What each member of a group gets out of its all-to-alls, as torch
states it beside each kernel, over the mean of the group; and whether the rank with the most is the late one, by more or larger
kernels (CO003's what-if).

## Example
Slow:

```python
router_logits = gate(tokens)  # nothing keeps the experts alike
```

Faster:

```python
router_logits = gate(tokens)
loss = loss + 0.01 * load_balancing_loss(router_logits)
```

## Fix
1. Keep experts alike: an auxiliary loss, a bias on the router for those that are chosen too often, or a capacity for each.
2. Place experts by how often they are chosen: one that is, beside those that are not, or on several ranks.
3. Without experts: sort sequences by length over ranks, or shard what is asked for by how often it is.

## Expected gain
What the job's step is shorter by with what the group's members get shared evenly: of a group of n ranks (n - 1) / n of what the
others wait, as somebody has to do the work.

## When it is wrong
The window may hold batches that are uneven by chance; over many steps the rank with the most may change.

## Thresholds
- `min_uneven_ratio`: what the rank gets over the mean of its group.
- `min_ratio`: share of the step that it has to cost the job.

## References
- Fedus et al., Switch Transformers: auxiliary loss and capacity factor
- Wang et al., Auxiliary-Loss-Free Load Balancing Strategy for Mixture-of-Experts
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.communication.ranks import JobPlace, lateness, waiting_for_others
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, clear
from analyzer.ranks.document import LateRank, Uneven
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import duration, share
from rules.communication.ranks_read import UNEVEN_RATIO, shared_ratio
from rules.communication.seen import among_others

META = RuleMeta(
    code="CO009",
    name="uneven-exchange",
    family="communication",
    title="One rank gets more of each all-to-all",
    thresholds=(
        Threshold(
            "min_uneven_ratio",
            UNEVEN_RATIO,
            "ratio",
            "capacity factors of 1 to 1.25 are usual (Switch Transformers, table 1)",
        ),
        Threshold("min_ratio", 0.05, "ratio", "half of what TraceML warns of a late rank from: its cause is known"),
    ),
    explains=("CO001", "CO002", "CO003"),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the late rank is the one that gets most of its all-to-alls, and is late by more work."""
    place = among_others(facts)
    if isinstance(place, Outcome):
        yield place
        return
    late = place.late
    uneven = [one for one in place.job.uneven if one.ratio >= limits["min_uneven_ratio"]]
    if not uneven:
        yield clear("members of each all-to-all get about the same, or nothing says how much")
        return
    mine = next((one for one in uneven if late is not None and one.rank == late.rank), None)
    if late is None or mine is None or late.cause not in ("imbalance", "not clear"):
        waits = "no rank is late in most steps" if late is None else "nobody waits for it"
        yield clear(f"rank {uneven[0].rank} gets {uneven[0].ratio:.1f} times the mean, and {waits}")
        return
    ratio = late.waited_ns_per_step / place.job.step_ns if place.job.step_ns else 0.0
    if ratio < limits["min_ratio"]:
        yield clear(
            f"the rank that gets most costs the others {share(ratio)} of the step, below {share(limits['min_ratio'])}"
        )
        return
    yield _finding(facts, place, late, mine, ratio)


def _finding(facts: Facts, place: JobPlace, late: LateRank, uneven: Uneven, ratio: float) -> Finding:
    claims, kernel_ns = lateness(facts.device, facts.steps, facts.time, place) if place.is_late else (None, 0)
    waited = waiting_for_others(facts.steps, facts.time, place) if claims is None else claims
    shared = shared_ratio(place)
    return Finding(
        why=f"Rank {late.rank} gets {uneven.ratio:.1f} times the mean of its group in {uneven.count} all-to-alls, works longer for "
        f"it, and the others wait {duration(late.waited_ns_per_step)} a step ({share(ratio)}). Shared evenly what it gets more "
        f"goes to the others: about {duration(late.waited_ns_per_step * shared)} of that is gained.",
        saving=Saving(
            waited.scaled(shared),
            int(kernel_ns * shared),
            "what the job's step is shorter by with what the members of the group get shared evenly",
        ),
        fix=(
            Advice(
                "python",
                "loss = loss + 0.01 * load_balancing_loss(router_logits)",
                "Keep experts alike: an auxiliary loss, a bias on the router, or a capacity for each.",
            ),
            Advice(
                "text",
                "Place experts by how often they are chosen, or sort sequences by length over ranks.",
                "What one rank gets more, all others wait for.",
            ),
        ),
        verify="Record all ranks again: what members get of each all-to-all should be alike, and CO009 clear.",
        steps_seen=min(late.of, facts.steps.count),
        confidence=Confidence.MEDIUM if late.cause == "imbalance" else Confidence.LOW,
        caveats=("The batches of these steps may be uneven by chance.",),
    )


RULE = Rule(META, check, __doc__)
