"""IN003 weights-per-token: passes that add a token read all weights for a few tokens: memory is the limit.

## What it finds
Programs that generate text, and spend much of their time in passes of few tokens, most of it in products with weights or in
attention over the cache of keys and values.

## Why it costs time
Each pass reads every weight that it uses once, whether for one token or for fifty. With 16-bit weights a pass does two operations
for each weight and token, and reads two bytes for each weight: as many operations a byte as it has tokens. Devices need hundreds of
them before computing is the limit. So neither faster tensor cores nor a higher clock helps: only fewer bytes a token do. It is no
fault.

## How it is measured
Passes that decode (see IN001) as a share of the used steps; in them, the share of products and attention of the device's time;
tokens of a pass, by the engine's ranges or by shapes, or products with a single vector by their kernels' names.

## Example
Slow (one text at a time, weights of 16 bits):

```python
for prompt in prompts:
    model.generate(**tokenizer(prompt, return_tensors="pt"))
```

Faster (many texts share each reading of the weights):

```python
batch = tokenizer(prompts, padding=True, padding_side="left", return_tensors="pt")
model.generate(**batch)
```

## Fix
1. More texts in a pass, as far as the cache fits and the time to an answer allows.
2. Narrower weights: 8 or 4 bits, after checking the answers.
3. Speculative decoding: one pass checks several guessed tokens.
4. Where attention is most of it: fewer heads of keys and values, a cache of 8 bits, shorter texts.

## Expected gain
None is claimed: what a larger batch brings are more tokens a second, not a shorter pass; what narrower weights bring depends on
kernels.

## When it is wrong
A pass that waits for its launches (ID001) or a device that idles between passes (IN001) has another limit first. Experts of which
each token uses a few read more than their share. The thresholds are reasoned: no recording on a GPU has judged them.

## Thresholds
- `min_ratio`: share of the step in passes that decode.
- `min_reading_ratio`: share of products and attention of the device's time in them.
- `max_tokens`: tokens of a pass up to which reading weights is the limit.

## References
- https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html
- Pope et al.: Efficiently Scaling Transformer Inference, arXiv:2211.05102
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
from traces.patterns import Pattern
from traces.trace import Capability

# From this part on a kind of work is most of it.
_MOST = 0.5
_PRODUCTS = ("gemm", "gemv")

META = RuleMeta(
    code="IN003",
    name="weights-per-token",
    family="inference",
    title="Few tokens for each read of weights",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_ratio", 0.3, "ratio", "from there on it is the run's character"),
        Threshold("min_reading_ratio", 0.5, "ratio", "else kernels around them are worth a look first (GR001)"),
        Threshold(
            "max_tokens",
            46,
            "count",
            "half of what an RTX 2080 Ti needs in 16 bits, 56.9 TFLOP/s over 616 GB/s; other tensor cores read of here need more",
        ),
    ),
    explains=("KE009",),
    references=("https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Tells when passes of few tokens take `min_ratio` of the step and read most of the time."""
    generation = facts.generation
    found = generation.found
    if not found.known:
        yield not_applicable(found.reason)
        return
    busy = generation.busy_ns("decode")
    ratio = facts.steps.ratio(busy)
    if ratio < limits["min_ratio"]:
        yield clear(
            f"passes that decode take {share(ratio)} of the {facts.steps.noun}, below {share(limits['min_ratio'])}"
        )
        return
    products = generation.family_ns("decode", *_PRODUCTS) / busy
    attention = generation.family_ns("decode", "attention") / busy
    if products + attention < limits["min_reading_ratio"]:
        yield clear(
            f"in passes that decode products and attention take {share(products + attention)} of the device's time"
        )
        return
    tokens = found.decode_tokens
    vectors = generation.family_ns("decode", "gemv") > _MOST * max(generation.family_ns("decode", *_PRODUCTS), 1)
    if tokens is None and not vectors:
        yield cannot_tell("how many tokens a pass has, neither a range nor a shape says")
        return
    if tokens is not None and tokens > limits["max_tokens"]:
        yield clear(f"passes that decode have {round(tokens):,} tokens each, more than {limits['max_tokens']:,.0f}")
        return
    cache = attention > products
    what, reads = (
        ("attention over the cache", "the cache of a text is read for each of its tokens")
        if cache
        else ("products with weights", f"each weight that a pass uses is read once for {_few(tokens)}")
    )
    yield Finding(
        why=f"Passes that decode take {share(ratio)} of the {facts.steps.noun}, {share(attention if cache else products)} of "
        f"that in {what}: memory is the limit, as {reads}. {passes(found)}",
        saving=Saving(basis="none is claimed: a larger batch gives more tokens a second, not a shorter pass"),
        fix=_fix(facts, cache=cache),
        verify="Compare tokens per second, and the time to an answer, before and after.",
        steps_seen=facts.steps.count_with(found.spans("decode")),
        confidence=Confidence.MEDIUM,
        severity_cap=Severity.INFO,
        evidence=(
            Bars(
                "of the device's time in passes that decode",
                "ratio",
                (Bar("products", products), Bar("attention", attention)),
            ),
        ),
        caveats=("That memory is the limit follows from the tokens of a pass: no counter was asked.",),
    )


# casper-hansen/AutoAWQ's kernel, as vLLM has it (csrc/quantization/awq): made for one token, and slower than Marlin's for
# the same weights.
_OF_AWQ = Pattern(r"awq::gemm_forward_4bit")
_LEFT_TO_ENGINE = Advice(
    "diff",
    '-llm = LLM(model, quantization="awq")\n+llm = LLM(model)',
    "Most of it is AWQ's own kernel, which the engine takes where the argument asks for it. Left alone it takes Marlin's for "
    "the same "
    "weights, on Ampere and newer: several times as fast, and how much of the limit is memory's shows then.",
)


def _asked_for_awq(facts: Facts) -> bool:
    found = facts.kernels.named
    return facts.recording.serving_engine == "vllm" and found.busy_ratio(found.like(_OF_AWQ)) >= _MOST


def _few(tokens: float | None) -> str:
    if tokens is None:
        return "a single token"
    return "1 token" if round(tokens) == 1 else f"{round(tokens):,} tokens"


def _fix(facts: Facts, *, cache: bool) -> tuple[Advice, ...]:
    more = engine_setting(facts, {"vllm": "max_num_seqs=more", "sglang": "max_running_requests=more"})
    batch = "More texts in a pass, as far as the cache fits and the time to an answer allows; requests that come one by one cannot."
    said = [_LEFT_TO_ENGINE] if _asked_for_awq(facts) else []
    said.append(Advice("diff", more, batch) if more is not None else Advice("text", batch))
    if cache:
        narrow = engine_setting(facts, {"vllm": 'kv_cache_dtype="fp8"', "sglang": 'kv_cache_dtype="fp8_e4m3"'})
        words = "A cache of 8 bits, fewer heads of keys and values, shorter texts: attention reads the cache. Check the answers."
        said.append(Advice("diff", narrow, words) if narrow is not None else Advice("text", words))
    elif facts.generation.narrow_weights_ratio("decode") < _MOST:
        said.append(Advice("text", "Weights of 8 or 4 bits: fewer bytes a pass. Check the answers."))
    said.append(Advice("text", "Speculative decoding: one pass checks several guessed tokens of a text."))
    return tuple(said)


RULE = Rule(META, check, __doc__)
