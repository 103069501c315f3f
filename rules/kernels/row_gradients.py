"""Findings on gradients that add up rows one after the other: of `x[index]` and of embeddings."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.finding import Advice, Confidence, Finding, Saving
from analyzer.spans.arrays import BoolArray
from analyzer.units import duration, share
from rules.evidence import kernel_saving, kernel_table, steps_with

# What adds up the rows in the gradient of advanced indexing (aten/src/ATen/native/cuda/Indexing.cu).
_INDEX_GRADIENT = "indexing_backward_kernel"
# The same of a dense embedding (aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu, Embedding.cu).
_EMBEDDING_GRADIENTS = ("compute_grad_weight", "sum_and_scatter", "embedding_backward_feature_kernel")


def of_index(facts: Facts) -> BoolArray:
    """The kernels of the gradient of `x[index]`, with the sort before it, shape (kernels,)."""
    return facts.kernels.named.of_ops_with(_INDEX_GRADIENT)


def of_embedding(facts: Facts) -> BoolArray:
    """The kernels of the gradient of embeddings, with the sort before it, shape (kernels,)."""
    return facts.kernels.named.of_ops_with(*_EMBEDDING_GRADIENTS)


def index_finding(facts: Facts, rows: BoolArray) -> Finding:
    """What the gradient of `x[index]` takes."""
    kernels = facts.kernels.named
    takes = duration(facts.steps.per_step(kernels.time_ns(rows)))
    return Finding(
        why=(
            f"{share(kernels.busy_ratio(rows))} of the device's busy time is the gradient of `x[index]`: {takes} "
            f"{facts.steps.a_unit}. It sorts the indices and adds up the rows of each one after the other."
        ),
        saving=kernel_saving(
            facts,
            kernels.time_ns(rows),
            "the kernels of that gradient; another one adds the rows up all at once",
            of=((rows, 1.0),),
        ),
        fix=(
            Advice(
                "diff",
                "-rows = x[index]\n+rows = x.index_select(0, index)   # of weights: torch.nn.functional.embedding(index, x)",
                "For one index along one dimension. The gradient of these adds atomically: sums of floats may differ in their last "
                "bits from run to run.",
            ),
            Advice(
                "text",
                "Where the index depends on nothing learned, select before the part that needs gradients.",
                "Record with `with_stack=True` to see the line.",
            ),
        ),
        verify="Record again: no `indexing_backward_kernel`.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.MEDIUM,
        evidence=(kernel_table(facts, rows, "longest of these kernels"),),
        caveats=("An index in which every row comes once costs little either way.",),
        title="Gradient of indexing, row by row",
    )


def embedding_finding(facts: Facts, rows: BoolArray) -> Finding:
    """What the gradient of embeddings takes."""
    kernels = facts.kernels.named
    takes = duration(facts.steps.per_step(kernels.time_ns(rows)))
    return Finding(
        why=(
            f"{share(kernels.busy_ratio(rows))} of the device's busy time is the gradient of embeddings: {takes} "
            f"{facts.steps.a_unit}. It sorts the tokens, and each row adds up its own one after the other."
        ),
        saving=Saving(basis="not measured: it depends on how many tokens fall on one row, which is not recorded"),
        fix=(
            Advice(
                "diff",
                "-self.kind = nn.Embedding(2, width)\n+self.kind = nn.Linear(2, width, bias=False)\n"
                "-x = x + self.kind(kinds)\n+x = x + self.kind(F.one_hot(kinds, 2).to(x.dtype))",
                "Where a table has few rows, as one for kinds of tokens: a product adds them up in parallel.",
            ),
            Advice(
                "diff",
                "-nn.Embedding(words, width)\n+nn.Embedding(words, width, padding_idx=0)",
                "Where most of what falls on one row is padding: its row needs no gradient.",
            ),
            Advice(
                "text",
                "Where the table is large and few of its rows come in a batch: `sparse=True` with an optimizer that takes such "
                "gradients (`SparseAdam`, `SGD`).",
            ),
        ),
        verify="Record again: these kernels' time per sample should fall.",
        steps_seen=steps_with(facts, rows),
        confidence=Confidence.LOW,
        evidence=(kernel_table(facts, rows, "longest of these kernels"),),
        caveats=("A small model with a wide table has such a share by nature.",),
        title="Gradient of embeddings, row by row",
    )
