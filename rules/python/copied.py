"""Tensors of a list that are copied one by one, as a finding of PY003 words it."""

from __future__ import annotations

from analyzer.facts.host.copied_rows import AROUND_COPIES
from analyzer.facts.loops.find import Loop

_COPIES = frozenset({"aten::clone", "aten::copy_"})


def copies_tensors(loop: Loop) -> bool:
    """Whether each turn copies a tensor whole, and computes nothing."""
    return not _COPIES.isdisjoint(loop.unit) and set(loop.unit) <= AROUND_COPIES
