"""Matrices that an update decomposes: eigenvalues, singular values, roots, inverses, as preconditioners of second order take."""

from __future__ import annotations

import msgspec
import numpy as np

from analyzer.facts.host.section import HostFacts
from analyzer.spans.intervals import EMPTY, IntervalSet
from analyzer.spans.labels import codes_of, distinct_texts
from traces.patterns import Pattern

_DECOMPOSES = Pattern(
    r"aten::(?:_?linalg_(?:eigh?|eigvalsh?|svd|qr|inv|inv_ex|cholesky|cholesky_ex|ldl_factor|lu|lu_factor|pinv|solve|solve_ex|matrix_exp)"
    r"|_?symeig\w*|_?svd\w*|qr|inverse|cholesky|cholesky_inverse|pinverse|matrix_exp)$"
)


class Decompositions(msgspec.Struct, frozen=True):
    """Decompositions inside the optimizer's steps.

    Args:
        name: The op that most of them are; None without any.
        calls: How many there are in the used steps.
        spans: When the host is in one.
    """

    name: str | None = None
    calls: int = 0
    spans: IntervalSet = EMPTY


def decompositions(host: HostFacts, updates: IntervalSet) -> Decompositions:
    """Finds them by their ops.

    Args:
        host: Ops.
        updates: The optimizer's steps.
    """
    tree = host.ops
    rows = tree.outermost(tree.named(lambda name: _DECOMPOSES.match(name) is not None))
    start, end = (tree.ops[name].to_numpy()[rows] for name in ("start_ns", "end_ns"))
    inside = updates.contains(start)
    if not inside.any():
        return Decompositions()
    codes = np.bincount(codes_of(tree.ops["name"])[rows][inside])
    name = str(distinct_texts(tree.ops["name"])[int(codes.argmax())])
    return Decompositions(name, int(inside.sum()), IntervalSet(start[inside], end[inside]))
