"""KE003 gather-bound: the device mostly moves single rows: indexing, embeddings, scatters and sorts.

## What it finds
Device time dominated by kernels that gather, scatter, index or sort.

## Why it costs time
Such kernels read memory in small pieces at scattered addresses: they use a fraction of the memory's bandwidth and none of the
arithmetic. Writing to the same place from several threads has to be put in order, too.

## How it is measured
`|gather, scatter, index, embedding, sort and running-sum kernels| / |device busy|`, by kernel name. The gradient of `x[index]`
is the kernels of those ops that launch an `indexing_backward_kernel`, with the sort before it; that of an embedding is told
likewise.

## Example
Slow:

```python
tables = [torch.nn.EmbeddingBag(rows, 64) for rows in sizes]
output = torch.cat([table(index) for table, index in zip(tables, indices)], dim=1)
```

Faster:

```python
kind, where = ComputeDevice.CUDA, EmbeddingLocation.DEVICE
tables = SplitTableBatchedEmbeddingBagsCodegen([(rows, 64, where, kind) for rows in sizes])
output = tables(all_indices, all_offsets)
```

## Fix
1. Many embedding tables: one fused lookup (fbgemm, torchrec), which also updates rows in the backward pass.
2. Sort the indices first, or count with `bincount` and `segment_reduce`, so that neighbours are read together.
3. Sampling of tokens and other sorts: the top k first, one sort for all uses. Where `topk` itself takes the time: of parts of a
   long row first, then of what they give. Where the running sum does, as in a sampler by probability: sum up the top k alone.
4. The gradient of an embedding: one row adds up all its tokens, so that a few rows for many tokens, or padding, take long.
   `padding_idx`, and for a table of few rows a product with `one_hot`.
5. The gradient of `x[index]` (`indexing_backward_kernel`): `index_select` or `embedding`, whose gradients add up rows at once.
6. `index_select` by the program itself, as for the cache of a beam search: rows that are equal need no new order.
7. `torch.use_deterministic_algorithms(True)` replaces fast scatters by sorts: switch it off where it is not needed.

## Expected gain
Not measured: it depends on how the rows lie in memory. Of the gradient of `x[index]` at most all of it.

## When it is wrong
Recommendation models and graph networks are like this by nature; where the fused kernels are used already, more speed comes
from fewer rows or narrower ones.

## Thresholds
- `min_busy_ratio`: share of the device's busy time from which the rule fires.
- `min_gradient_ratio`: share of the device's busy time from which the gradient of `x[index]`, or of an embedding, is told apart.

## References
- XProf: bound by data shuffles from 30 %
- https://github.com/pytorch/pytorch/issues/20655 (an embedding of few rows)
- https://github.com/vllm-project/vllm/pull/48913 (a whole sort for each token replaced by the top 1024)
"""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Outcome, Saving, clear, not_applicable
from analyzer.rule import Limits, Rule, RuleMeta, Threshold
from analyzer.units import share
from rules.evidence import kernel_table, steps_with
from rules.kernels.row_gradients import embedding_finding, index_finding, of_embedding, of_index
from rules.purpose import by_purpose
from traces.patterns import Pattern
from traces.trace import Capability

META = RuleMeta(
    code="KE003",
    name="gather-bound",
    family="kernels",
    title="Indexing and sorting dominate",
    needs=frozenset({Capability.DEVICE}),
    thresholds=(
        Threshold("min_busy_ratio", 0.30, "ratio", "XProf calls it bound by data shuffles from 30 %"),
        Threshold(
            "min_gradient_ratio", 0.05, "ratio", "a change of one line: worth it from where a finding is on a card"
        ),
    ),
    references=("https://github.com/openxla/xprof", "https://github.com/pytorch/pytorch/issues/41162"),
)

# Who samples from a distribution sorts it and sums it up.
_FAMILIES = ("gather", "scan")
# Kernels of fbgemm's fused embedding lookups: then the first advice has been taken.
_FUSED = "split_embedding|batched_embedding|tbe_"


def check(facts: Facts, limits: Limits) -> Iterator[Finding | Outcome]:
    """Fires when gathers, scatters and sorts own `min_busy_ratio` of the busy time."""
    kernels = facts.kernels.named
    rows = kernels.is_family(*_FAMILIES)
    if not rows.any():
        yield not_applicable("no gather, scatter, index or sort kernel in the used steps")
        return
    ratio = kernels.busy_ratio(rows)
    gradient = of_index(facts)
    if kernels.busy_ratio(gradient) >= limits["min_gradient_ratio"]:
        yield index_finding(facts, gradient)
        return
    embedding = of_embedding(facts)
    if ratio < limits["min_busy_ratio"] and kernels.busy_ratio(embedding) >= limits["min_gradient_ratio"]:
        yield embedding_finding(facts, embedding)
        return
    if ratio < limits["min_busy_ratio"]:
        yield clear(
            f"gathers, scatters, sorts and running sums are {share(ratio)} of the busy time, below "
            f"{share(limits['min_busy_ratio'])}"
        )
        return
    yield Finding(
        why=f"{share(ratio)} of the device's busy time gathers, scatters, indexes{_and_sums(facts)}.",
        saving=Saving(basis="not measured: it depends on how the rows lie in memory"),
        fix=_fix(facts),
        verify="Record again: these kernels' time per sample should fall.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest of these kernels"),),
        caveats=()
        if facts.model.infers and _of_program(facts)
        else ("Recommendation and graph models are like this by nature.",),
    )


def _and_sums(facts: Facts) -> str:
    """The last of what these kernels do, with how much of the time are running sums where some are."""
    kernels = facts.kernels.named
    sums = kernels.busy_ratio(kernels.is_family("scan"))
    return f", sorts or makes running sums ({share(sums)})" if sums else " or sorts"


# Lookups of embedding tables, as recommendation has many; a language model has one, and samples tokens by sorting.
_TABLES = Pattern(r"(?i)embedding|fbgemm|index_?select|jagged|pooled|_sparse_(?:data|features)")
_OF_ANY = (
    Advice(
        "text",
        "Sort and search less: `torch.topk` instead of a whole sort where a few are wanted, once instead of for each use; for "
        "sampling, cut to the top k before the sort.",
        "The table names the kernels: a sort takes several passes over its keys.",
    ),
    Advice(
        "text",
        "Index less often and with larger rows: masks and slices instead of lists of indices, one call for all; where rows are "
        "added up, `index_add_` or `scatter_add_` on sorted indices.",
        "Record with `with_stack=True` to see the lines.",
    ),
)


# The kernels of `topk` (aten/src/ATen/native/cuda/TensorTopK.cu).
_TOPK = Pattern(r"TopK|topk|radixFindKth")
# Of sorts and selections: torch's, CUB's, Thrust's, rocPRIM's.
_SORTING = Pattern(r"[Ss]ort|TopK|topk|radixFindKth|DeviceSelect|UniqueByKey|unique|onesweep|merge_kernel")
_TOPK_IN_PARTS = Advice(
    "python",
    "parts = scores.view(64, -1)              # one long row in 64 parts\n"
    "best, at = parts.topk(k)                 # of each part, all at once\n"
    "best, chosen = best.flatten().topk(k)    # of what they give\n"
    "index = (at + torch.arange(64, device=at.device)[:, None] * parts.shape[1]).flatten()[chosen]",
    "`topk` gives a row to one block, or to few: long rows that are few leave most of the device empty. A whole sort, "
    "`scores.sort(descending=True)`, uses all of it: time both. Pad a row that is no multiple of 64 long.",
)


_SUMMED_LATER = Advice(
    "python",
    "best, index = logits.topk(1024, dim=-1)          # sorted; most of the probability in most texts\n"
    "logarithm = torch.logsumexp(logits, dim=-1, keepdim=True)\n"
    "kept = (best - logarithm).exp().cumsum(dim=-1)    # exact as far as the sum reaches the limit within these",
    "Where it is a sampler's, over a whole vocabulary: sum up the best alone, and fall back where they do not reach the limit. "
    "Elsewhere: sums along a dimension that is not the last, or of few long rows, leave most of the device empty.",
)


def _longest_is(facts: Facts, pattern: Pattern[str]) -> bool:
    """Whether the name of the longest of these kernels matches."""
    return any(pattern.search(name) for name, _, _ in _longest(facts, *_FAMILIES))


def _sorts(facts: Facts) -> bool:
    """Whether a good part of that time is sorting; else it is moving rows."""
    kernels = facts.kernels.named
    rows = kernels.is_family(*_FAMILIES)
    return 4 * kernels.time_ns(rows & kernels.like(_SORTING)) > kernels.time_ns(rows)


def _longest_sums(facts: Facts) -> bool:
    """Whether the longest of these kernels makes running sums."""
    return _longest(facts, "scan") == _longest(facts, *_FAMILIES)


def _longest(facts: Facts, *families: str) -> list[tuple[str, int, int]]:
    """The name that takes most time among the kernels of some families, if there are any."""
    kernels = facts.kernels.named
    return kernels.longest(kernels.is_family(*families), 1)


_ORDERED = Advice(
    "python",
    "index, order = index.sort()",
    "Sorted indices read neighbouring rows together; sort where they are made.",
)
_WHAT_DIFFERS = Advice(
    "text",
    "Select rows of what differs alone: in a beam search keys and values of the encoder are the same in all beams of one input, so "
    "they need a new order only where inputs end; for the others move indices or pages of the cache, not its rows.",
    "These are calls of `index_select` that look up no embedding, as a beam search makes to put its cache in order.",
)


def _of_program(facts: Facts) -> bool:
    """Whether most of that time the program itself selects rows, and looks up no table."""
    kernels = facts.kernels.named
    rows = kernels.is_family("gather")
    return 2 * kernels.time_ns(rows & facts.kernels.row_selects) > kernels.time_ns(rows)


def _fix(facts: Facts) -> tuple[Advice, ...]:
    # Taking the top k is no remedy for `topk`.
    if _longest_sums(facts):
        return (_SUMMED_LATER, *_OF_ANY)
    if _longest_is(facts, _TOPK):
        return (_TOPK_IN_PARTS, _OF_ANY[1])
    if _of_program(facts):
        return (*by_purpose(facts, (_WHAT_DIFFERS,), (_ORDERED,)), _OF_ANY[1])
    fused = facts.kernels.named.any_named(*_FUSED.split("|"))
    if not fused and not _longest_is(facts, _TABLES):
        return _OF_ANY if _sorts(facts) else _OF_ANY[::-1]
    one_lookup = Advice(
        "python",
        "kind, where = ComputeDevice.CUDA, EmbeddingLocation.DEVICE   # fbgemm_gpu\n"
        "tables = SplitTableBatchedEmbeddingBagsCodegen([(rows, dim, where, kind) for rows in sizes])",
        "One fused lookup for all tables (fbgemm)"
        + ("." if facts.model.infers else ", which also updates the rows in its backward pass."),
    )
    narrower = Advice(
        "text",
        "Store rows in 16 or 8 bits, and drop duplicate indices before the lookup.",
        "The lookups are fused already.",
    )
    return (narrower, _ORDERED) if fused else (one_lookup, _ORDERED)


RULE = Rule(META, check, __doc__)
