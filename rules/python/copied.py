"""Tensors of a list that are copied one by one, as a finding of PY003 words it."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop

_COPIES = frozenset({"aten::clone", "aten::copy_"})
# What may stand beside it: tensors made to copy to, or taken to copy from.
_AROUND = _COPIES | {"aten::alias", "aten::detach", "aten::empty", "aten::empty_like", "aten::new_empty", "aten::set_"}


def copies_tensors(loop: Loop) -> bool:
    """Whether each turn copies a tensor whole, and computes nothing."""
    return not _COPIES.isdisjoint(loop.unit) and set(loop.unit) <= _AROUND
