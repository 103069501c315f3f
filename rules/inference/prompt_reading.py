"""IN004 prompt-reading: most of the time goes into reading prompts, which computing limits.

## What it finds
Programs that generate text, and spend most of the device's time in passes that read prompts (prefill), of hundreds of tokens
each.

## Why it costs time
A pass over hundreds of tokens does hundreds of operations for each weight that it reads: computing is the limit, not memory. A
larger batch makes such a pass longer by as much, and narrower weights help only where the device also computes in that format. It
is no fault.

## How it is measured
Passes that read prompts (see IN001) as a share of the used steps, and their tokens by the engine's ranges or by shapes.

## Example
Slow (the same instructions are read again for each question):

```python
for question in questions:
    model.generate(**tokenizer(instructions + question, return_tensors="pt"))
```

Faster (what is common is read once):

```python
llm = LLM(model, enable_prefix_caching=True)
llm.generate([instructions + question for question in questions])
```

## Fix
1. Read what prompts have in common once: a cache of prefixes.
2. Shorter prompts.
3. Computing in 8 bits where the device has units for it, after checking the answers.
4. Where texts wait for prompts of others: read them in chunks beside decoding, or on other devices.

## Expected gain
None is claimed: how much of the prompts is common the trace does not tell.

## When it is wrong
Where a recording begins with the start of a load, prompts are over-represented. The thresholds are reasoned: no recording on a
GPU has judged them.

## Thresholds
- `min_ratio`: share of the step in passes that read prompts.
- `min_tokens`: tokens of such a pass from which computing is the limit.

## References
- Agrawal et al.: Sarathi-Serve, arXiv:2403.02310
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
from analyzer.units import share
from rules.framework_words import engine_setting
from rules.inference.words import passes
from traces.trace import Capability

META = RuleMeta(
    code="IN004",
    name="prompt-reading",
    family="inference",
    title="Reading prompts takes most time",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_ratio", 0.5, "ratio", "else passes that decode are most of it"),
        Threshold(
            "min_tokens",
            512,
            "count",
            "more than any device of the datasheets read here needs in 16 bits: an MI300X, 1,307 TFLOP/s over 5.3 TB/s, has 245",
        ),
    ),
    references=("https://arxiv.org/abs/2403.02310",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when passes over long prompts take `min_ratio` of the step."""
    found = facts.generation.found
    if not found.known:
        yield not_applicable(found.reason)
        return
    reading, adding = (facts.steps.ratio(facts.generation.busy_ns(kind)) for kind in ("prefill", "decode"))
    if reading < limits["min_ratio"]:
        yield clear(
            f"passes that read prompts take {share(reading)} of the {facts.steps.noun}, below {share(limits['min_ratio'])}"
        )
        return
    tokens = found.prefill_tokens
    if tokens is None:
        yield cannot_tell("how many tokens a prompt has, neither a range nor a shape says")
        return
    if tokens < limits["min_tokens"]:
        yield clear(
            f"passes that read prompts have {round(tokens):,} tokens each, fewer than {limits['min_tokens']:,.0f}"
        )
        return
    yield Finding(
        why=f"Passes that read prompts take {share(reading)} of the {facts.steps.noun}, {round(tokens):,} tokens each (median): "
        f"computing is their limit. {passes(found)}",
        saving=Saving(basis="none is claimed: how much of the prompts is common the trace does not tell"),
        fix=_fix(facts),
        verify="Compare the time to the first token before and after.",
        steps_seen=facts.steps.count_with(found.spans("prefill")),
        confidence=Confidence.MEDIUM,
        severity_cap=Severity.INFO,
        evidence=(
            Bars(
                f"of the {facts.steps.noun}", "ratio", (Bar("reading prompts", reading), Bar("adding tokens", adding))
            ),
        ),
        caveats=("A recording of the start of a load holds more prompts than the load has.",),
    )


def _fix(facts: Facts) -> tuple[Advice, ...]:
    said = engine_setting(facts, {"vllm": "enable_prefix_caching=True", "sglang": "disable_radix_cache=False"})
    note = "Read what prompts have in common once: a cache of prefixes, with what is common first."
    return (
        Advice("diff", said, note) if said is not None else Advice("text", note),
        Advice(
            "text",
            "Shorter prompts; computing in 8 bits where the device has units for it, after checking the answers.",
        ),
        Advice(
            "text", "Where texts wait for prompts of others: read them in chunks beside decoding, or on other devices."
        ),
    )


RULE = Rule(META, check, __doc__)
