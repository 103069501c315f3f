"""IN002 padded-replays: graphs that are replayed were captured for more tokens than are served.

## What it finds
Engines that replay a CUDA graph of a larger batch than they have to serve, and by how much.

## Why it costs time
A graph has fixed sizes. Engines capture one for some sizes of the batch and fill up what they have to the next size: the rows
that nobody asked for are computed all the same. Where weights are most of what is read this costs little, as they are read once
for all rows; of attention, of norms and of large batches it costs its share.

## How it is measured
How many tokens a graph was captured for shows in kernels that have a block for each token (the norm that adds the residual,
rotary embeddings, the writing into the cache); how many were served the ranges of the engine say. Only passes in which both are
known, and in which all such kernels agree, count.

## Example
Slow (33 requests run in the graph of 64):

```python
llm = LLM(model, compilation_config={"cudagraph_capture_sizes": [1, 2, 4, 8, 16, 32, 64]})
```

Faster:

```python
llm = LLM(model, compilation_config={"cudagraph_capture_sizes": [1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64]})
```

## Fix
1. Capture graphs for the sizes that occur; each costs memory and time at the start.
2. Admit as many requests as the next graph holds.

## Expected gain
None is claimed: how much of a padded row is computed at all, and how much of a pass depends on rows, the trace does not tell.

## When it is wrong
An engine that checks several guessed tokens of each text serves more tokens than texts; where its range counts texts, it looks
padded. The thresholds are reasoned: no recording on a GPU has judged them.

## Thresholds
- `min_padded_ratio`: share of computed tokens that nobody asked for, from which it is told.
- `min_ratio`: share of the step in replayed passes of which both sizes are known.

## References
- https://docs.vllm.ai/en/stable/design/cuda_graphs.html
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
from analyzer.units import count, share
from rules.framework_words import engine_setting
from traces.trace import Capability

META = RuleMeta(
    code="IN002",
    name="padded-replays",
    family="inference",
    title="Replayed graphs are padded",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "min_padded_ratio", 0.25, "ratio", "engines capture in steps of 8 or of powers of two: less is usual"
        ),
        Threshold("min_ratio", 0.2, "ratio", "from there on it is the run's character"),
    ),
    references=("https://docs.vllm.ai/en/stable/design/cuda_graphs.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when `min_padded_ratio` of the tokens that replayed graphs compute were asked for by nobody."""
    found = facts.generation.found
    if not found.known:
        yield not_applicable(found.reason)
        return
    padding = facts.generation.padding
    if not padding.replays:
        yield not_applicable("no pass of the model replays a graph")
        return
    if not len(padding.captured):
        yield cannot_tell(
            "of the replayed graphs the trace does not say both how many tokens were served and how many captured"
        )
        return
    ratio = facts.steps.ratio(padding.time.total_ns)
    if padding.padded_ratio < limits["min_padded_ratio"] or ratio < limits["min_ratio"]:
        yield clear(
            f"{share(padding.padded_ratio)} of the tokens that replayed graphs compute are padding, in {share(ratio)} of the "
            f"{facts.steps.noun}"
        )
        return
    pair = padding.commonest
    example = f", most often {pair[0]:,} in the graph of {pair[1]:,}" if pair is not None else ""
    replays = count(len(padding.captured), "replayed pass", "replayed passes")
    yield Finding(
        why=f"{replays} of {padding.replays:,} compute {int(padding.captured.sum()):,} tokens for "
        f"{int(padding.served.sum()):,} that are served: {share(padding.padded_ratio)} is padding{example}.",
        saving=Saving(basis="none is claimed: weights are read once for all rows, padded or not"),
        fix=_fix(facts, pair),
        verify="Record again under the same load: more of the captured tokens are served, or passes get shorter.",
        steps_seen=facts.steps.count_with(padding.time),
        confidence=Confidence.MEDIUM,
        severity_cap=Severity.INFO,
        evidence=(
            Bars(
                "tokens",
                "count",
                (Bar("captured", float(padding.captured.sum())), Bar("served", float(padding.served.sum()))),
            ),
        ),
        caveats=("Where weights are most of what a pass reads, padded rows cost next to nothing.",),
    )


def _fix(facts: Facts, pair: tuple[int, int] | None) -> tuple[Advice, ...]:
    wanted = pair[0] if pair is not None else 0
    said = engine_setting(
        facts,
        {
            "vllm": f'compilation_config={{"cudagraph_capture_sizes": [..., {wanted}]}}',
            "sglang": f"cuda_graph_bs_decode=[..., {wanted}]",
        },
    )
    more = Advice(
        "text", "Admit as many requests as the next graph holds, where memory and the time to an answer allow."
    )
    if said is None or pair is None:
        return (
            Advice("text", "Capture graphs for the sizes that occur; each costs memory and time at the start."),
            more,
        )
    return (Advice("diff", said, "The list of all sizes to capture; each costs memory and time at the start."), more)


RULE = Rule(META, check, __doc__)
