"""DL004 bursty-waits: a few batches keep training waiting, the others come at once.

## What it finds
A loader whose waiting is concentrated in a few calls: every so many batches, or now and then.

## Why it costs time
A queue of prefetched batches evens out slow samples only as far as it is deep. A rare slow file, or all workers finishing
at the same moment, empties it, and training stands still until the next batch is made.

## How it is measured
Durations of the loader's `__next__`: 95th percentile at least 5 times the median, and the longest quarter of the calls holds at
least 80 % of all waiting, while waiting owns at least 5 % of the step. Equal distances between the long calls mean that the
prefetch queue is too shallow; unequal ones slow samples or storage. Of a loader without workers what the training thread could
run and had no core for does not count, and workers whose cores others had are not judged. Calls that wait for workers to start, and
until each has made its first batches, do not count: DL005 tells of them.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=4)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64, num_workers=4, prefetch_factor=8, persistent_workers=True)
```

## Fix
1. `prefetch_factor=4` to `8`: a deeper queue bridges longer pauses. Without workers there is no queue: a worker first.
2. Where samples differ in cost: convert or remove the slow ones.
3. `in_order=False` (torch 2.6 and newer) where the order of batches does not matter, and there are workers.

## Expected gain
At most the waiting beyond the median call: the burst goes, the usual wait stays.

## When it is wrong
A recording of six steps holds one burst or none: the rule needs at least twice as many calls as workers and at least ten.
The start of an epoch is one long wait as well (DL005).

## Thresholds
- `min_ratio`: share of the used steps that waiting owns from which the rule looks at all.
- `min_spread`: 95th percentile as a multiple of the median.
- `min_top_ratio`: share of all waiting in the longest quarter of the calls.
- `min_calls`: fewer calls cannot show a pattern.

## References
- gpuprof, prefetch_queue_starved
- https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, Series, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.intervals import IntervalSet
from analyzer.units import count, duration, share
from rules.data_loading import place, words
from rules.data_loading.advice import more_workers
from rules.data_loading.bursts import MIN_SPREAD, MIN_TOP_RATIO
from rules.data_loading.workers import suggested_workers

META = RuleMeta(
    code="DL004",
    name="bursty-waits",
    family="data_loading",
    title="A few batches come very late",
    binds=("input",),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "as DL001: below, the loader is not what limits the step"),
        Threshold("min_spread", MIN_SPREAD, "count", "rules.md DL004; a steady loader stays below 2"),
        Threshold("min_top_ratio", MIN_TOP_RATIO, "ratio", "rules.md DL004: nearly all waiting is in few calls"),
        Threshold(
            "min_calls", 10, "count", "a quarter of the calls has to be more than two, or one accident is a pattern"
        ),
    ),
    explains=("DL001",),
    references=("https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader",),
    measured=True,
    outside=("prefetch", "workers"),
)
_FIND_SLOW = Advice(
    "python",
    "for index in range(len(dataset)):\n    begin = time.perf_counter()\n    dataset[index]\n"
    "    spent = time.perf_counter() - begin\n    if spent > 10 * usual:\n        print(index, spent)",
    "Find the samples that take long, and convert or drop them.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires where the longest quarter of the loader's calls holds nearly all waiting."""
    # What is late behind a start of the workers is no burst, and would come again each epoch (DL005).
    wait, pattern = facts.input.wait, facts.input.settled
    if not len(wait):
        yield not_applicable("no DataLoader call in the used steps")
        return
    ratio = facts.steps.ratio(wait.owned.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(f"waiting for data owns {share(ratio)} of the step, below {share(limits['min_ratio'])}")
        return
    workers = facts.recording.collected.num_workers or 0
    needed = int(max(limits["min_calls"], 2 * workers))
    if not len(pattern.dur_ns):
        yield cannot_tell(
            f"{count(len(wait), 'call')} of the loader, all at the end of an epoch or while workers start (DL005); bursts "
            f"need {needed} batches: `active={needed}`"
        )
        return
    longest = float(pattern.dur_ns.max()) / max(pattern.median_ns, 1.0)
    if longest >= limits["min_spread"] and len(pattern.dur_ns) < needed:
        yield cannot_tell(
            f"{count(len(pattern.dur_ns), 'batch', 'batches')} recorded; bursts need {needed}: `active={needed}`"
        )
        return
    if pattern.spread < limits["min_spread"] or pattern.top_ratio < limits["min_top_ratio"]:
        yield clear(
            f"the longest of {count(len(pattern.dur_ns), 'call')} is {longest:.1f} times the median, the longest quarter "
            f"holds {share(pattern.top_ratio)} of the waiting: no bursts"
        )
        return
    late = pattern.at_least(limits["min_spread"])
    period = pattern.period(late)
    claims = wait.owned & pattern.beyond(late, pattern.median_ns)
    crowded = _crowded_out(facts, limits, claims)
    if crowded is not None:
        yield crowded
        return
    rhythm = f"every {period} batches" if period else "at no regular distance"
    idle = "the device idles" if facts.device.main is not None else "training waits"
    yield Finding(
        why=f"{count(len(late), 'batch', 'batches')} of {len(pattern.dur_ns)} come late, {rhythm}: a wait of "
        f"{duration(float(pattern.dur_ns[late].mean()))} against a median of {duration(pattern.median_ns)}; "
        f"{idle} for {share(facts.steps.ratio(claims.total_ns))} of the steps in them.{place.sentence(facts)}",
        saving=Saving(
            claims,
            behind=facts.sync.behind(wait.inside & pattern.beyond(late, pattern.median_ns)),
            basis="idle time in the late calls beyond a median call",
        ),
        fix=_fix(facts, period, workers),
        verify="Record at least as many steps again: the 95th percentile of `__next__` should come near its median.",
        steps_seen=len(late),
        confidence=Confidence.HIGH if period else Confidence.MEDIUM,
        evidence=(
            Series("each call of the loader", "ns", tuple(pattern.dur_ns.tolist())),
            *place.evidence(facts),
        ),
        location=place.place(facts),
    )


def _crowded_out(facts: Facts, limits: Limits, late: IntervalSet) -> Outcome | None:
    """That other programs had the cores while batches were late; None where they were the program's own."""
    wait, without, owned = facts.input.wait, facts.time.without_core_ns, share(facts.steps.ratio(late.total_ns))
    if not wait.multi_process and without and facts.steps.ratio(late.total_ns - without) < limits["min_ratio"]:
        return cannot_tell(
            f"late batches own {owned} of the step, but the thread that makes them {facts.time.core_words} "
            "of it; record on a quiet machine"
        )
    crowded = facts.recording.collected.workers_crowded_ratio
    if wait.multi_process and crowded is not None:
        return cannot_tell(
            f"late batches own {owned} of the step, but the workers could run and had no core for "
            f"{share(crowded)} of the time: other programs had them; record on a quiet machine"
        )
    return None


def _fix(facts: Facts, period: int | None, workers: int) -> tuple[Advice, ...]:
    if facts.input.wait.single_process and not facts.input.wait.multi_process:
        # A loader without workers refuses `prefetch_factor` and `persistent_workers`, and makes each batch when it is asked for.
        return (_FIND_SLOW, *((more_workers(facts),) if suggested_workers(facts) else ()))
    deeper = words.loader(
        facts,
        {"prefetch_factor": 8, "persistent_workers": True},
        "A deeper queue bridges longer pauses; it costs memory: workers x prefetch_factor batches.",
    )
    unordered = words.loader(
        facts,
        {"in_order": False},
        "A slow batch no longer holds up the ones behind it; their order then changes from run to run.",
    )
    return (
        (deeper, _FIND_SLOW, unordered) if period is not None and period == workers else (_FIND_SLOW, deeper, unordered)
    )


RULE = Rule(META, check, __doc__)
