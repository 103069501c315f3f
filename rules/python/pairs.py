"""Products, similarities and distances of two vectors one by one, as of all pairs of two batches: one call gives them all."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

PAIRS = Advice(
    "diff",
    "-rows = [torch.stack([a[i] @ b[j] for j in range(len(b))]) for i in range(len(a))]\n+rows = a @ b.T",
    "Where each turn multiplies two vectors: one product of the matrices that hold them gives those of all pairs. Of pairs of one "
    "index `(a * b).sum(-1)`.",
)
_ANGLES = Advice(
    "diff",
    "-rows = [torch.stack([F.cosine_similarity(a[i], b[j], dim=0) for j in range(len(b))]) for i in range(len(a))]\n"
    "+rows = F.normalize(a, dim=1) @ F.normalize(b, dim=1).T",
    "Where each turn compares two vectors by their angle: one product of the matrices that hold them, of length one, gives all "
    "pairs. Of pairs of one index `F.cosine_similarity(a, b, dim=1)`. Pairs of a vector with itself are masked before a softmax.",
)
_NEAREST = Advice(
    "diff",
    "-near = [(a[i] - b).pow(2).sum(-1).min() for i in range(len(a))]\n"
    "+near = torch.cdist(a, b).square().min(dim=1).values   # (n, m) distances, of a batch (batch, n, m)",
    "Where each turn looks for the nearest: the distances of all pairs at once.",
)
_PRODUCTS = frozenset({"aten::matmul", "aten::dot"})
_SQUARED = frozenset({"aten::pow", "aten::square", "aten::mul"})
_ADDED = frozenset({"aten::sum"})
_NORMS = frozenset({"aten::norm", "aten::linalg_vector_norm", "aten::linalg_norm", "aten::pairwise_distance"})
_EXTREME = frozenset({"aten::min", "aten::amin", "aten::argmin"})


def of_pairs(loop: Loop) -> Advice | None:
    """What gives at once what each turn takes of two vectors; None where turns do something else, or are a layer."""
    if loop.of_layers:
        return None
    ops = frozenset(loop.unit)
    if ops & _PRODUCTS:
        return PAIRS
    if "aten::cosine_similarity" in ops:
        return _ANGLES
    apart = (ops & _SQUARED and ops & _ADDED and "aten::sub" in ops) or (ops & _NORMS and "aten::sub" in ops)
    return _NEAREST if ops & _EXTREME and (apart or "aten::pairwise_distance" in ops) else None
