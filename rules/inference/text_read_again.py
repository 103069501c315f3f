"""IN006 text-read-again: each new token has the whole text computed again.

## What it finds
Text that is generated token by token, where every run of the model reads all tokens so far: nothing keeps keys and values.

## Why it costs time
The keys and values of a token do not depend on those behind it. Kept, a run reads one new token; else a text of 500 tokens is
computed some 250 times over.

## How it is measured
Lookups of tokens tell how many a run reads (`record_shapes=True`): eight runs or more in a row, of one table, each with one token
more and as many texts, whose products have a row for each of them. The bound is the share of the tokens read before, of the time in
which the runs compute. What usually comes true is how much longer a run takes for a token more, the median over runs half a text
apart, times the tokens read before: what a run costs whatever it reads stays. Where the text grows by less than half, noise is as
large as what tokens add, and no more than half of the bound is called likely; where runs differ by more than tokens add, so that
two standard errors of the slope decide, the rule cannot tell. Unit: nanoseconds.

## Example
Slow:

```python
for _ in range(200):
    logits = model(ids).logits
    ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
```

Faster:

```python
past, new = None, ids
for _ in range(200):
    out = model(new, past_key_values=past, use_cache=True)
    past, new = out.past_key_values, out.logits[:, -1:].argmax(-1)
    ids = torch.cat([ids, new], dim=1)
```

## Fix
1. Transformers: `use_cache=True`, in `generate` and in the model's configuration. Activation checkpointing switches it off.
2. A model of your own: keep each layer's keys and values, and hand it the new token alone.

## Expected gain
It grows with the text: a token of a text of 1,000 reads 1,000 times what it has to. Short texts on a fast device are bound by
launches, and gain nothing.

## When it is wrong
A model whose tokens look at those behind them (encoders, diffusion of text) has nothing to keep. Scoring prefixes of a text is no
generation, but its tokens are computed again as well.

## Thresholds
- `min_ratio`: share of the step that tokens take which were read before.

## References
- https://huggingface.co/docs/transformers/main/en/kv_cache
- https://docs.pytorch.org/blog/accelerating-generative-ai-2/
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.generation.growing import Growing
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Finding,
    Outcome,
    Saving,
    cannot_tell,
    clear,
    not_applicable,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from traces.trace import Capability

META = RuleMeta(
    code="IN006",
    name="text-read-again",
    family="inference",
    title="Whole text computed for each token",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(Threshold("min_ratio", 0.05, "ratio", "as a finding of low severity: the change is in one place"),),
    references=(
        "https://huggingface.co/docs/transformers/main/en/kv_cache",
        "https://docs.pytorch.org/blog/accelerating-generative-ai-2/",
    ),
)
# From this growth of the text on the slope is more than what noise makes of neighbours.
_GROWN = 1.5
# Else so much of the bound is called likely.
_UNSURE = 0.5

_GENERATE = Advice(
    "diff",
    "-model.generate(**inputs, use_cache=False)\n+model.config.use_cache = True\n+model.generate(**inputs)",
    "Where transformers generates. Activation checkpointing, and recipes for fine-tuning, switch the cache off: on again "
    "before text is generated.",
)
_LOOP = Advice(
    "diff",
    "-    logits = model(ids).logits\n-    ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)\n"
    "+    out = model(new, past_key_values=past, use_cache=True)\n"
    "+    past, new = out.past_key_values, out.logits[:, -1:].argmax(-1)\n+    ids = torch.cat([ids, new], dim=1)",
    "In a loop of your own, which begins with `past, new = None, ids`. A model without a cache has to keep each layer's keys and "
    "values, and take the new token's position.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when tokens that were read before take `min_ratio` of the step."""
    if not facts.model.infers:
        yield not_applicable("the model is trained here: no text is generated")
        return
    found = facts.generation.growing
    if not found.lookups:
        yield not_applicable("no tokens are looked up in the used steps")
        return
    if not found.shapes:
        yield cannot_tell("needs record_shapes=True: how many tokens a run reads is not known")
        return
    if not len(found.tokens):
        yield clear("no runs in a row read one token more each")
        return
    working = facts.time.waterfall.owned("compute") if facts.device.main is None else facts.kernels.named.busy
    most_ns = (working & found.spans).total_ns
    ratio = facts.steps.ratio(min(found.again_ns, most_ns))
    if ratio < limits["min_ratio"]:
        if facts.steps.ratio(min(found.again_most_ns, most_ns)) >= limits["min_ratio"]:
            yield cannot_tell(
                f"{_read(found)} in each run, and runs differ by more than tokens add: how much of one falls to those read before "
                "is not known; record on a quiet machine, or a text that grows by more"
            )
            return
        yield clear(
            f"{_read(found)} in each run, but what was read before takes {share(ratio)} of {facts.steps.each}, below "
            f"{share(limits['min_ratio'])}: most of a run is what any run costs"
        )
        return
    uses = facts.recording.frameworks.uses("transformers")
    grown = bool(found.tokens.max() >= _GROWN * found.tokens.min())
    yield Finding(
        why=f"{_read(found)} in each of {count(len(found.tokens), 'run')} of the model, where one is new: {_again(found)} were "
        f"computed before. A run takes {duration(found.token_ns)} longer for each token more.",
        saving=Saving(
            kernel_ns=int(most_ns * found.again_ratio),
            usual_kernel_ns=min(found.again_ns, int(most_ns * found.again_ratio * (1.0 if grown else _UNSURE))),
            basis="the part of the runs' work that is done for tokens that were read before, if one token took its share of a run",
        ),
        fix=(_GENERATE, _LOOP) if uses else (_LOOP, _GENERATE),
        verify="Record again with record_shapes=True: after the first run `aten::embedding` looks up one token a text.",
        steps_seen=facts.steps.count_with(found.spans),
        confidence=Confidence.MEDIUM if grown else Confidence.LOW,
        evidence=(
            Bars(
                "tokens of a text that a run reads, on average",
                "count",
                (Bar("new", 1), Bar("read before", round(found.tokens.mean() - 1))),
            ),
        ),
        caveats=("Tokens that look at those behind them, as in an encoder, have no keys and values to keep.",),
    )


def _read(found: Growing) -> str:
    return f"{int(found.tokens.min()):,} to {int(found.tokens.max()):,} tokens of a text are read"


def _again(found: Growing) -> str:
    return share(1 - len(found.tokens) / int(found.tokens.sum()))


RULE = Rule(META, check, __doc__)
