"""Products of two vectors one by one, as of all pairs of two batches: one product of matrices gives them all."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

PAIRS = Advice(
    "diff",
    "-rows = [torch.stack([a[i] @ b[j] for j in range(len(b))]) for i in range(len(a))]\n+rows = a @ b.T",
    "Where each turn multiplies two vectors: one product of the matrices that hold them gives those of all pairs. Of pairs of one "
    "index `(a * b).sum(-1)`.",
)


def of_pairs(loop: Loop) -> bool:
    """Whether each turn multiplies two vectors: other products would make it a layer."""
    return not loop.of_layers and not {"aten::matmul", "aten::dot"}.isdisjoint(loop.unit)
