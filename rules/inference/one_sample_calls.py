"""IN005 one-sample-calls: the model is called with one sample at a time.

## What it finds
A program that only runs its model, and hands it a batch of one in each call: embeddings of texts one by one, images in a loop.

## Why it costs time
Each call pays for its Python and for dispatching every op, however little it computes, and products of one row read all weights for
that row. A batch pays it once.

## How it is measured
`advisor collect` looks at the first size of the tensors that the outermost module gets, in the recorded steps: 1 in nearly all
calls. The saving is what calls of eight samples would do without: seven eighths of the time outside ops, and inside those that
take less than 20 us without what they call (PY002 says more); on a device of the idle time in which the host prepares work. Unit:
nanoseconds.

## Example
Slow:

```python
for text in texts:
    index.append(model(**tokenizer(text, return_tensors="pt"))[0])
```

Faster:

```python
for first in range(0, len(texts), 32):
    index.append(model(**tokenizer(texts[first : first + 32], padding=True, return_tensors="pt"))[0])
```

## Fix
1. Several samples in a call, those of unlike length padded, with a mask.
2. Text that is generated token by token: several prompts in one `generate`.

## Expected gain
About what is paid for each call. Where ops are long a batch computes as much as its samples one by one, and nothing is claimed.

## When it is wrong
Requests that come one by one have no second sample to wait for. Samples of very different length compute padding in a batch.
A first size of 1 may be a length, not a number of samples.

## Thresholds
- `min_single_ratio`: share of the calls with one sample.
- `min_ratio`: share of the used steps that a batch of eight would do without.

## References
- https://huggingface.co/docs/transformers/main_classes/pipelines#pipeline-batching
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.loops.samples import usual_leaf_ns
from analyzer.facts.time.host_loss import host_loss
from analyzer.finding import Advice, Bar, Bars, Confidence, Finding, Location, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, duration, share
from traces.trace import Capability

META = RuleMeta(
    code="IN005",
    name="one-sample-calls",
    family="inference",
    title="One sample in each call of the model",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_single_ratio", 0.9, "ratio", "a last batch of one is none"),
        Threshold("min_ratio", 0.10, "ratio", "as a finding of medium severity: batching changes the program"),
    ),
    explains=("PY001", "ID001", "CP005"),
    before=("CP005",),
    references=("https://huggingface.co/docs/transformers/main_classes/pipelines#pipeline-batching",),
)
# A small batch, which any of these programs has room for.
_BATCH = 8
_FIX = Advice(
    "diff",
    "-for sample in samples:\n-    found.append(model(sample[None])[0])\n"
    "+for first in range(0, len(samples), 32):\n+    batch = torch.stack(samples[first : first + 32])\n"
    "+    found.extend(model(batch))",
    "Samples of unlike length: `pad_sequence(..., batch_first=True)` and a mask, those of similar length together.",
)
_PIPELINE = Advice(
    "diff",
    "-for text in texts:\n-    found.append(pipe(text)[0])\n+found = pipe(texts, batch_size=32)      # the list, not text by text",
    "Where a pipeline is called; texts are padded to the longest of a batch, which takes a `pad_token`: sort them by length.",
)
_ENCODE = Advice(
    "diff",
    "-for text in texts:\n-    vectors.append(model.encode(text))\n"
    "+vectors = model.encode(texts, batch_size=32)   # the list, not text by text",
    "It sorts the texts by length and pads each batch to its longest.",
)
_GENERATE = Advice(
    "python",
    'batch = tokenizer(prompts, padding=True, padding_side="left", return_tensors="pt")\nmodel.generate(**batch)',
    "Where each call needs the one before, as text that is generated token by token: several prompts at once.",
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when nearly all calls have one sample, and a batch would save at least `min_ratio` of the used steps."""
    seen = facts.recording.forward_inputs
    if seen is None or not facts.model.infers:
        yield not_applicable(
            "no calls of a model that is only run: `advisor collect` looks at what such a one is given"
        )
        return
    ratio = seen.single / seen.calls
    if ratio < limits["min_single_ratio"]:
        yield clear(f"{share(ratio)} of {count(seen.calls, 'call')} have one sample")
        return
    op_ns = usual_leaf_ns(facts.host.tree, facts.steps.host_window)
    paid = host_loss(
        facts.device,
        facts.time.device_waits,
        facts.time.waterfall,
        facts.steps.window,
        # Of long ops a batch computes as much, however many short ones there are beside them.
        dispatch_ratio=facts.time.dispatch_ratio(facts.steps.host_window),
    )
    saved = paid.scaled(1 - 1 / _BATCH)
    if facts.steps.ratio(saved.total_ns) < limits["min_ratio"]:
        yield clear(
            f"calls have one sample each, but ops of {duration(op_ns)} compute for most of the time: a batch computes as much"
        )
        return
    line = facts.recording.step_line
    at = f" at {line.file}:{line.line}" if line is not None else ""
    yield Finding(
        why=f"{share(ratio)} of {count(seen.calls, 'call')} of the model{at} have one sample. What is paid for every call "
        f"and op, whatever it computes, is {share(facts.steps.ratio(paid.total_ns))} of the time; an op takes {duration(op_ns)} "
        "on average.",
        saving=Saving(
            claims=saved.claims,
            kernel_ns=saved.op_ns,
            basis=f"what is paid for each call and op, if one call takes {_BATCH} samples; per sample, not per call",
        ),
        fix=_fixes(facts),
        verify="Compare samples per second, not the time of a call, which gets longer.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(Bars("calls", "count", (Bar("one sample", seen.single), Bar("more", seen.calls - seen.single))),),
        caveats=(
            "Requests that come one by one cannot be joined without waiting; a first size of 1 may also be a length.",
        ),
        location=None if line is None else Location(line.file, line.line, line.function, line.begins),
    )


def _fixes(facts: Facts) -> tuple[Advice, ...]:
    """What joins calls in the words of the library that makes them, then in torch's."""
    used = facts.recording.frameworks
    if used.of_loop == "sentence_transformers":
        return (_ENCODE, _FIX)
    return (*((_PIPELINE,) if used.uses("transformers") else ()), _FIX, _GENERATE)


RULE = Rule(META, check, __doc__)
