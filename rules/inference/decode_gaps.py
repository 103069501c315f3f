"""IN001 decode-gaps: the device idles between one token and the next.

## What it finds
Programs that generate text token by token, and whose device stands still between two passes of the model that each add a token.

## Why it costs time
Every token is one short pass. What the host does between two of them (choosing the token, looking whether a text has ended,
scheduling, turning numbers into text) is added to each token of each text, unless it is done while the device works.

## How it is measured
Passes are told by the ranges of the engine (vLLM, SGLang, ATOM), by ranges or functions of the program that are called prefill
and decode, by shapes (one token asks a longer cache), or by kernels that only decoding has. A gap is idle time of the device
between the end of a pass that decodes and the start of the next one, with no prompt between: so there was a text to go on with.
Its causes are those of the waterfall.

## Example
Slow (the host reads each token before it asks for the next):

```python
for _ in range(max_tokens):
    logits = model(token, cache)
    token = logits[:, -1].argmax(-1, keepdim=True)
    if token.item() == end:
        break
```

Faster (tokens stay on the device; the end is looked for every 16 tokens):

```python
tokens = []
for place in range(max_tokens):
    token = model(token, cache)[:, -1].argmax(-1, keepdim=True)
    tokens.append(token)
    if place % 16 == 15 and (torch.cat(tokens, 1) == end).any():
        break
```

## Fix
1. Engines: let them schedule the next pass while this one runs.
2. An own loop: keep tokens on the device, and read them in blocks; what handles text goes into another thread or process.
3. One graph for the pass and the choice of the token, where shapes are static.

## Expected gain
At most the gaps. What the next pass really needs from the host stays.

## When it is wrong
A profiler with Python stacks makes the host slower, and with it the gaps. The last pass of one request and the first of another
look like neighbours where the prompt between them was not recorded. The thresholds are reasoned: no recording on a GPU has judged
them.

## Thresholds
- `min_ratio`: share of the step in gaps from which the rule fires.
- `min_pairs`: pairs of passes that follow one another.

## References
- https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Outcome, Saving, cannot_tell, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from rules.changes import replay_as_graph
from rules.inference.words import passes
from rules.python.advice import engine_ahead
from traces.trace import Capability

_SHOWN = 5
_OWN_LOOP = Advice(
    "diff",
    "-    if token.item() == end:\n-        break\n"
    "+    if place % 16 == 15 and (torch.cat(tokens, 1) == end).any():\n+        break",
    "Keep tokens on the device and look for the end in blocks: the host then launches ahead. What handles text goes elsewhere.",
)

META = RuleMeta(
    code="IN001",
    name="decode-gaps",
    family="inference",
    title="The device waits between tokens",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_ratio", 0.05, "ratio", "below, any rule would call it low"),
        Threshold("min_pairs", 3, "count", "two pairs are no habit"),
    ),
    references=("https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/index.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when gaps between passes that decode take `min_ratio` of the used steps."""
    found, gaps = facts.generation.found, facts.generation.gaps
    if not found.known:
        yield not_applicable(found.reason)
        return
    if gaps.pairs < limits["min_pairs"]:
        yield cannot_tell(f"{count(gaps.pairs, 'pair')} of passes that decode follow one another, too few for a habit")
        return
    ratio = facts.steps.ratio(gaps.time.total_ns)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"the device idles between tokens for {share(ratio)} of the {facts.steps.noun}, below {share(limits['min_ratio'])}"
        )
        return
    by_gloo = gaps.time & facts.communication.calls_of("gloo")
    if 2 * by_gloo.total_ns > gaps.time.total_ns:
        yield clear(
            f"{share(by_gloo.total_ns / gaps.time.total_ns)} of the gaps lie in gloo's collectives on the host (CO006)"
        )
        return
    pass_ns = found.median_ns("decode")
    ahead = engine_ahead(facts, gaps.time)
    gap = f"{duration(gaps.median_ns)} (median), beside {duration(pass_ns)} a pass"
    yield Finding(
        why=f"Between two passes that decode the device idles for {gap}: {share(ratio)} of the {facts.steps.noun} in "
        f"{count(gaps.pairs, 'gap')}. {passes(found)}",
        saving=Saving(
            claims=gaps.time, basis="idle time between passes that decode; what the next one needs from the host stays"
        ),
        fix=(
            *((ahead,) if ahead is not None else (_OWN_LOOP,)),
            *(() if facts.model.repetition.graphs else (replay_as_graph(facts),)),
        ),
        verify="Record again: less idle time between passes that decode, more tokens per second.",
        steps_seen=facts.steps.count_with(gaps.time),
        confidence=Confidence.MEDIUM if found.source != "kernels that only decoding has" else Confidence.LOW,
        evidence=(Bars("what the gaps are", "ns", tuple(Bar(cause, ns) for cause, ns in gaps.causes[:_SHOWN])),),
        caveats=("Python stacks slow the host down, and with it the gaps.",) if facts.recording.has_stacks else (),
    )


RULE = Rule(META, check, __doc__)
