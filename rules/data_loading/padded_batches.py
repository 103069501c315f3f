"""DL009 padded-batches: batches carry padding that is computed like data, or their length changes from step to step.

## What it finds
Batches that `pad_sequence` fills up to their longest sample, a loop up to a length for all, or a tokenizer as their attention
masks tell, and steps whose number of tokens differs much from one to the next.

## Why it costs time
Most operators compute padding like data. And where the length changes, so does the step: ranks wait for the longest batch,
compilers compile again, the allocator keeps memory for the largest.

## How it is measured
From recorded shapes: `1 - sum(lengths) / (number * longest)` over the lists that `pad_sequence` gets in the training process, and
over samples that are copied into rows of what an embedding looks up (`batch[row, : len(text)] = text`); and the largest input of an
embedding in each step. Padding that a worker or a tokenizer made shows in no shape: `advisor collect` counts the zeros of
`attention_mask` in the first four batches, and which of them no text of its batch is long enough for; without that only lengths are
told.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=64, shuffle=True, collate_fn=pad)
```

Faster (batches of samples that are about as long as each other):

```python
order = sorted(range(len(dataset)), key=lambda index: len(dataset[index]))
batches = [order[first : first + 64] for first in range(0, len(order), 64)]
random.shuffle(batches)
loader = DataLoader(dataset, batch_sampler=batches, collate_fn=pad)
```

## Fix
1. Padded to the longest of the batch, and not to a length for all: of texts that are tokenized with `padding="max_length"` by
   `DataCollatorWithPadding`.
2. Samples of similar length in one batch (bucketing; in Hugging Face's Trainer `train_sampling_strategy="group_by_length"`,
   before transformers 5 `group_by_length=True`; trl's SFTTrainer takes it as well, those on pairs of texts do not).
3. Several samples in one row, without padding (packing; attention by `cu_seqlens`, nested tensors).
4. A batch by tokens, not by samples: steps take as long as each other, and ranks do not wait.

## Expected gain
At most the padded share of the time that the device computes (without a device: of the step). Packing gives most of it, bucketing
what its buckets leave.

## When it is wrong
Kernels that skip padding (variable-length attention, embedding bags) lose nothing. Lengths may be what the task needs. The
thresholds are reasoned, not calibrated: no recording on a GPU has judged them.

## Thresholds
- `min_padding_ratio`: share of padding from which the rule fires.
- `min_spread_ratio`: how far the tokens of the steps have to lie apart to be told.

## References
- Krell et al.: Efficient sequence packing without cross-contamination, 2021
- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.input.padding import Padding
from analyzer.finding import (
    Advice,
    Bar,
    Bars,
    Confidence,
    Evidence,
    Figure,
    Finding,
    Outcome,
    Saving,
    Series,
    Severity,
    cannot_tell,
    clear,
)
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import count, share
from rules.evidence import kernel_saving
from rules.framework_words import arguments_class, said_by_arguments
from traces.trace import Capability

_SHOWN = 64
_FIX = (
    Advice(
        "python",
        "order = sorted(range(len(dataset)), key=lambda index: len(dataset[index]))\n"
        "batches = [order[first : first + 64] for first in range(0, len(order), 64)]\n"
        "random.shuffle(batches)\n"
        "loader = DataLoader(dataset, batch_sampler=batches, collate_fn=pad)",
        "Samples of similar length in one batch; the order of batches stays random.",
    ),
    Advice(
        "text",
        "Or pack several samples into one row, and let attention know their borders (`cu_seqlens`, nested tensors).",
    ),
)
# From which part of the padding on a batch is padded to a length of its own, and not to its longest sample.
_FIXED = 0.25
_TO_LONGEST = Advice(
    "diff",
    "-batch = torch.zeros(len(texts), MAX_LENGTH, dtype=torch.long)\n-for row, text in enumerate(texts):\n"
    "-    batch[row, : len(text)] = text\n+batch = torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)",
    "To the longest of the batch, and not to a length for all; where a compiler wants few lengths, to the next multiple of 64.",
)

_GROUPED = "Texts of similar length in one batch; the order of batches stays random. Before transformers 5: `group_by_length=True`."
_PACKED = "Several texts in one row: the same tokens in fewer steps. Attention has to know their borders, or texts see one another."
_ORDERED = Advice(
    "text",
    "Bring samples of similar length into one batch, of pairs by the longest of their texts: order the data set before training.",
    "`group_by_length` is no setting of trainers on pairs of texts, and fails there: it takes lengths from `input_ids`.",
)

_COLLATED = Advice(
    "diff",
    '-tokenizer(texts, padding="max_length", truncation=True)\n+tokenizer(texts, truncation=True)\n'
    "+collator = DataCollatorWithPadding(tokenizer)   # data_collator=collator of a Trainer",
    "Where texts are padded to one length when they are tokenized: to the longest of each batch instead. A Trainer puts texts of "
    'similar length together by `train_sampling_strategy="group_by_length"` (before transformers 5 `group_by_length=True`).',
)

META = RuleMeta(
    code="DL009",
    name="padded-batches",
    family="data_loading",
    title="Padding is computed like data",
    needs=frozenset({Capability.HOST_OPS}),
    thresholds=(
        Threshold("min_padding_ratio", 0.2, "ratio", "buckets leave some 5 to 10 %; below twice that little is won"),
        Threshold(
            "min_spread_ratio",
            0.25,
            "ratio",
            "steps of one length are the rule; sizes rounded to a multiple differ less",
        ),
    ),
    references=("https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html",),
)


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires with `min_padding_ratio` of padding; tells lengths that are `min_spread_ratio` apart."""
    found = facts.input.padding
    padded, spread = found.padding_ratio, found.spread_ratio
    masked = facts.recording.collected.masked_ratio if padded is None else None
    if masked is not None and masked >= limits["min_padding_ratio"]:
        yield _masked(facts, masked)
        return
    if padded is not None and padded >= limits["min_padding_ratio"]:
        yield _padded(facts, found, padded)
        return
    if spread is not None and spread >= limits["min_spread_ratio"]:
        yield _uneven(facts, found, spread)
        return
    if padded is not None:
        yield clear(f"{share(padded)} of the padded batches is padding, below {share(limits['min_padding_ratio'])}")
    elif masked is not None:
        yield clear(
            f"{share(masked)} of the places in the first batches are left out by their masks, below "
            f"{share(limits['min_padding_ratio'])}"
        )
    elif not found.shaped:
        yield cannot_tell("needs record_shapes=True")
    elif spread is not None:
        yield clear(f"the tokens of the steps lie {share(spread)} apart; how much of them is padding shows in no shape")
    else:
        yield cannot_tell("no batch is padded in this process, and no embedding tells a length")


def _masked(facts: Facts, ratio: float) -> Finding:
    beyond = facts.recording.collected.masked_beyond_ratio
    fixed = beyond is None or beyond >= _FIXED * ratio
    told = f", {share(beyond)} in places that no text of its batch is long enough for" if beyond else ""
    return Finding(
        why=f"{share(ratio)} of the places in the first batches are left out by their attention masks{told}: padding, which most "
        "operators compute like data.",
        saving=_saving(facts, ratio, beyond or 0.0),
        fix=_for_texts(facts, fixed=fixed),
        verify="Record again: the share that masks leave out should be below a tenth, and the step shorter by as much.",
        steps_seen=facts.steps.count,
        confidence=Confidence.MEDIUM,
        evidence=(Bars("of a batch", "ratio", (Bar("padding", ratio),)),),
        caveats=("Kernels that skip padding, as variable-length attention does, lose nothing.",),
    )


def _for_texts(facts: Facts, *, fixed: bool) -> tuple[Advice, ...]:
    """What to do about texts that are padded: to one length for all (`fixed`), or to the longest of a batch."""
    first = (_COLLATED,) if fixed else ()
    if facts.recording.frameworks.of_loop != "transformers":
        return (*first, *_FIX)
    trl = facts.recording.frameworks.uses_trl
    if trl and arguments_class(facts) != "SFTConfig":
        return (*first, _ORDERED)
    grouped = Advice("diff", said_by_arguments(facts, 'train_sampling_strategy="group_by_length"'), _GROUPED)
    packed = (Advice("diff", said_by_arguments(facts, "packing=True"), _PACKED),) if trl else ()
    return (*first, grouped, *packed)


def _padded(facts: Facts, found: Padding, ratio: float) -> Finding:
    return Finding(
        why=f"{share(ratio)} of {count(found.padded, 'padded batch', 'padded batches')} is padding, "
        "which most operators compute like data.",
        saving=_saving(facts, ratio, found.beyond_longest_ratio),
        fix=((_TO_LONGEST,) if found.beyond_longest_ratio >= _FIXED * ratio else ()) + _FIX,
        verify="Record again with shapes: the padded share should be below a tenth, and the step shorter by as much.",
        steps_seen=min(found.padded, facts.steps.count),
        confidence=Confidence.MEDIUM,
        evidence=_lengths(found),
        caveats=("Kernels that skip padding, as variable-length attention does, lose nothing.",),
    )


def _saving(facts: Facts, ratio: float, beyond: float) -> Saving:
    """What of the padding lies beyond the longest samples goes with one line; of the rest buckets leave some."""
    computing = facts.time.waterfall.owned("compute").total_ns
    usual = computing * (beyond + (ratio - beyond) / 2)
    basis = "the padded share of the time in which it computes, if all of it works on the padded batches; " + (
        "of what reaches no further than the longest sample of a batch half is taken" if beyond else "half is taken"
    )
    if facts.device.main is None:
        return Saving(
            kernel_ns=int(ratio * computing),
            usual_kernel_ns=int(usual),
            basis=basis,
            kind=Figure.ESTIMATE,
        )
    return kernel_saving(facts, ratio * computing, basis, of=((facts.kernels.named.every, ratio),), usual_ns=usual)


def _uneven(facts: Facts, found: Padding, spread: float) -> Finding:
    return Finding(
        why=f"The steps hold {min(found.tokens):,} to {max(found.tokens):,} tokens, {share(spread)} apart: short steps wait for "
        "nothing here, but ranks wait for the longest, and code that is compiled for a size is compiled again.",
        saving=Saving(basis="how much of a batch is padding shows in no shape: no saving is claimed"),
        fix=(Advice("text", "Form batches by tokens, not by samples, or of samples of similar length."), *_FIX),
        verify="Record again with shapes: the steps' tokens should lie closer together.",
        steps_seen=len(found.tokens),
        confidence=Confidence.MEDIUM,
        severity_cap=Severity.INFO,
        evidence=_lengths(found),
        caveats=("Lengths may be what the task needs; what is padding inside a batch shows in no shape.",),
        title="Batches of very different length",
    )


def _lengths(found: Padding) -> tuple[Evidence, ...]:
    if not found.tokens:
        return (Bars("of a batch", "ratio", (Bar("padding", found.padding_ratio or 0.0),)),)
    return (Series("tokens of each step", "count", tuple(float(one) for one in found.tokens[:_SHOWN])),)


RULE = Rule(META, check, __doc__)
