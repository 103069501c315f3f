"""KE001 small-grid: kernels with too few blocks for the device's multiprocessors.

## What it finds
Device time in which all kernels that run, together, are too small for the device: multiprocessors have nothing to do meanwhile.

## Why it costs time
A kernel's work is cut into blocks, and a block runs on one multiprocessor. With 40 blocks on 132 multiprocessors two thirds of
the device stand still, and the kernel takes as long as one with three times the work.

## How it is measured
At each moment the blocks per SM of all kernels that run then are added up, over all streams. A moment is underused if they are
known, stay below `max_filled_ratio` and one of the kernels computes (collectives alone use few blocks by design). Metric:
`|underused| / |device busy|`. Blocks per SM is the profiler's own figure on CUDA, derived from its warps per SM in torch 1.8, and
the launch's grid over the number of compute units on ROCm; where the trace describes no device, over those of the smallest one
that its kernels, by their names, were built for. The bound counts of each such moment the part `1 - blocks per SM`.

## Example
Slow:

```python
loader = DataLoader(dataset, batch_size=8)
```

Faster:

```python
loader = DataLoader(dataset, batch_size=64)
```

## Fix
1. A larger batch, with the learning rate scaled along, as far as memory allows. Not where most of that time is gradients of weights
   by kernels with a block for so many weights: each adds up all samples, and more of them make it longer. Attention of few tokens
   over long texts: more splits of keys and values.
2. Fewer, larger kernels: `torch.compile`, batched products instead of a loop of small ones. Not where they last 100 us and more:
   those go through time, frames or points in turn, and no compiler fuses them. Where one call of an op launches dozens of them, it
   computes piece by piece: other layouts or sizes, or an op for all pieces.
3. Independent small kernels on several streams, or several models at once (`torch.vmap`).

## Expected gain
At most the idle multiprocessors' share of this time, times the share of the step in which the device is busy. A larger batch
shows it as more samples per second, not as a shorter step.

## When it is wrong
Persistent kernels start one block per multiprocessor on purpose, or a few fewer, so that clusters of blocks come out even or
collectives find room: they count as full. Some kernels are limited by memory, not by the number of blocks. Kernels of graphs on
ROCm and those launched before the recording state no grid; where they are too many to decide, the rule says so.

## Thresholds
- `max_filled_ratio`: blocks per multiprocessor below which the device is underused.
- `min_busy_ratio`: share of the device's busy time from which the rule fires: at least a tenth of the busy time is then empty.
- `min_step_ratio`: share of the step that this time must take: a device that hardly works has another problem.

## References
- TensorBoard profiler plugin: est. SM efficiency = min(blocks per SM, 1), weighted by duration
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.pieces import Pieces
from analyzer.finding import Advice, Confidence, Figure, Finding, Outcome, cannot_tell, clear, not_applicable
from analyzer.hardware.limits import by_kernel_names
from analyzer.page.words.kernel_names import short
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.spans.arrays import BoolArray
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from rules.changes import compiled, larger_batch
from rules.evidence import kernel_saving, kernel_table
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="KE001",
    name="small-grid",
    family="kernels",
    title="Kernels too small to fill the GPU",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold(
            "max_filled_ratio",
            0.75,
            "ratio",
            "persistent grids leave at most the multiprocessors of NCCL's 32 channels free: they have 100 of 132 (0.76)",
        ),
        Threshold(
            "min_busy_ratio",
            0.40,
            "ratio",
            "at least a quarter of such a moment stands empty, so of the busy time a tenth, a medium finding; recorded runs of "
            "HTA, Kineto and TraceLens have 0-12 %, a small batch on an MI210 27 %, two toys 74 and 100 %",
        ),
        Threshold("min_step_ratio", 0.05, "ratio", "below, nothing about kernels changes the step by a twentieth"),
    ),
    references=("https://github.com/pytorch/kineto/blob/main/tb_plugin/docs/gpu_utilization.md",),
)


# Gradients of weights whose kernels give each block some weights and all samples: of a norm's scale and shift
# (layer_norm_kernel.cu, group_norm_kernel.cu), of depthwise convolutions (DepthwiseConv2d.cu).
_ADDS_UP_SAMPLES = Pattern(r"GammaBeta|conv_depthwise\w*_grad_weight")
# Attention of one token over a long cache, which several blocks share: SGLang's and vLLM's Triton kernels (`decode_attention.py`),
# FlashAttention's and FlashInfer's.
_SPLITS_THE_CACHE = Pattern(
    r"_fwd_(?:grouped_)?kernel_stage1|kernel_unified_attention_3d|splitkv|split_kv|BatchDecodeWith|paged_attention_v2"
)
_SPLITS = Advice(
    "text",
    "Share keys and values among more blocks: SGLang `--triton-attention-num-kv-splits 32`, FlashAttention `num_splits=0` (it "
    "chooses), or another attention backend of the engine.",
    "Most of this time is attention of few tokens over long texts: its blocks are requests times heads times splits.",
)
_MOST = 0.5
_UNNAMED = (
    "The trace does not name its device: it is taken for the smallest whole one that its kernels were built for. A larger one "
    "stands emptier; a part of a device that was split is fuller."
)
_IF_WHOLE = "If the device, which the trace does not name, is a whole one and no part of one that was split: "
# As long as that no kernel waits to be fused with its neighbours.
_LONG_NS = 100_000
_NAME_LENGTH = 60


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when the device as a whole is underused for `min_busy_ratio` of its busy time."""
    found, most = facts.kernels.named, limits["max_filled_ratio"]
    underused = facts.kernels.filling.underused(most) & found.window
    unfit = _unfit(found) or _filled(facts, limits, underused)
    if unfit is not None:
        yield unfit
        return
    yield _finding(facts, most, underused)


def _unfit(found: Kernels) -> Outcome | None:
    """Why nothing is known of how full the device is; None where something is."""
    computing = _computing(found)
    if not computing.any():
        return not_applicable("no compute kernel in the used steps")
    if not found.states_blocks[computing].any():
        return cannot_tell("the trace states neither blocks per SM nor grids and the number of multiprocessors")
    return None


def _filled(facts: Facts, limits: Limits, underused: IntervalSet) -> Outcome | None:
    """Why the device is not underused for long, or cannot be told to be; None where it is."""
    found, most = facts.kernels.named, limits["max_filled_ratio"]
    unknown = facts.kernels.filling.unknown(most) & found.window
    busy = max(found.busy.total_ns, 1)
    ratio, of_step = underused.total_ns / busy, facts.steps.ratio(underused.total_ns)
    if ratio < limits["min_busy_ratio"] <= (underused | unknown).total_ns / busy:
        return cannot_tell(
            f"kernels that state no grid take {share(unknown.total_ns / busy)} of the busy time, too few blocks are known of in "
            f"{share(ratio)}"
        )
    if ratio < limits["min_busy_ratio"] or of_step < limits["min_step_ratio"]:
        return clear(
            f"with blocks for less than {share(most)} of the multiprocessors the device runs for {share(ratio)} of its busy time "
            f"and {share(of_step)} of the step, below {share(limits['min_busy_ratio'])} or {share(limits['min_step_ratio'])}"
        )
    return None


def _computing(found: Kernels) -> BoolArray:
    """Which kernels compute, shape (kernels,); collectives use few blocks by design."""
    computing: BoolArray = ~found.collective & ~found.doubtful
    return computing


def _finding(facts: Facts, most: float, underused: IntervalSet) -> Finding:
    found = facts.kernels.named
    empty_ns = min(facts.kernels.filling.empty_ns(most), float(underused.total_ns))
    rows: BoolArray = _computing(found) & (found.blocks_per_sm < most) & found.beside(underused)
    adding = found.like(_ADDS_UP_SAMPLES) & rows
    splits = found.time_ns(found.like(_SPLITS_THE_CACHE) & rows) > _MOST * found.time_ns(rows)
    adds_up = found.time_ns(adding) > _MOST * found.time_ns(rows)
    pieces = facts.kernels.pieces(rows)
    unnamed = by_kernel_names(facts)
    ratio = underused.total_ns / max(found.busy.total_ns, 1)
    return Finding(
        why=f"{_IF_WHOLE if unnamed else ''}For {share(ratio)} of the GPU's busy time all "
        f"kernels that run have, together, blocks for less than {share(most)} of "
        f"its multiprocessors; {share(empty_ns / max(underused.total_ns, 1))} of the GPU has nothing to do meanwhile."
        f"{_mostly(found, rows)}{_of_one_call(pieces)}",
        saving=kernel_saving(
            facts,
            empty_ns,
            "the empty multiprocessors' share of this time"
            + ("" if adds_up or pieces is not None else "; a larger batch gains it as samples per second"),
            # A larger device stands emptier.
            kind=Figure.ESTIMATE if unnamed else Figure.BOUND,
        ),
        fix=(_in_one(pieces),)
        if pieces is not None
        else _fix(facts, adds_up=adds_up, splits=splits, long=found.time_ns(rows) > _LONG_NS * rows.sum()),
        verify="Record again"
        + ("" if adds_up or splits or pieces is not None else " with the larger batch")
        + " and compare samples per second; the share of KE001 should fall.",
        steps_seen=facts.steps.count_with(underused),
        confidence=Confidence.LOW if unnamed else Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest kernels with empty multiprocessors"),),
        caveats=(
            "Kernels limited by memory gain less than the empty multiprocessors suggest.",
            *((_UNNAMED,) if unnamed else ()),
        ),
    )


def _mostly(found: Kernels, rows: BoolArray) -> str:
    """The one kernel, or the two, that most of it is; empty where it is many."""
    for number in (1, 2):
        longest = found.longest(rows, number)
        if 2 * sum(total for _, _, total in longest) > found.time_ns(rows):
            # Two instances of one template are shown by one name.
            names = dict.fromkeys(short(name)[:_NAME_LENGTH] for name, _, _ in longest)
            return f" Most of it is {' and '.join(f'`{name}`' for name in names)}."
    return ""


# What goes through time, frames or points one after the other; what one block does for each sample.
_IN_TURN = Advice(
    "text",
    "Kernels that last this long with so few blocks go through their input in turn, a block for each sample or so: more samples at "
    "a time fill the device, or another implementation that splits what one block does.",
    "What is done to each sample alone can run beside the kernels of the model, on a stream of its own.",
)


def _of_one_call(pieces: Pieces | None) -> str:
    """How many of them one call of an op launches, as a sentence; empty where it is none that computes piece by piece."""
    return "" if pieces is None else f" Each call of `{pieces.op}` launches {pieces.each:,} of them."


def _in_one(pieces: Pieces) -> Advice:
    return Advice(
        "text",
        f"Let one call of `{pieces.op}` be one kernel: inputs whose rows lie side by side (`.contiguous()`), sizes in another "
        "order (the long one not as the batch), or an op that takes all pieces at once.",
        "The op computes piece by piece, as it does for layouts and sizes that no kernel takes whole. A larger batch makes more "
        "pieces, not larger ones.",
    )


def _fix(facts: Facts, *, adds_up: bool, splits: bool, long: bool) -> tuple[Advice, ...]:
    fused = compiled(facts, "Fewer and larger kernels.")
    if adds_up:
        longer = Advice(
            "text",
            "No larger batch: most of this time is gradients of weights, each block of which adds up all samples. "
            "More samples make it longer, not fuller.",
            "What splits the sum over more blocks helps: a compiled model, or a newer torch (the table names the kernels).",
        )
        return (longer,) if facts.kernels.fusion.compiled else (fused, longer)
    larger = larger_batch(facts)
    if splits:
        return _SPLITS, larger
    if long:
        return (larger, _IN_TURN)
    return (larger,) if facts.kernels.fusion.compiled else (larger, fused)


RULE = Rule(META, check, __doc__)
