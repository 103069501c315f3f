"""Turns that take what belongs together: what is equal to a value, what is of a class, the rows of a list."""

from __future__ import annotations

from itertools import pairwise

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

GROUPS = Advice(
    "diff",
    "-rows = [values[group == i].sum(0) for i in range(n)]\n-y = torch.stack(rows)\n"
    "+y = values.new_zeros(n, *values.shape[1:]).index_add_(0, group, values)\n"
    "+# the mean: y / y.new_zeros(n).index_add_(0, group, y.new_ones(len(group))).clamp(min=1)[:, None]",
    "Where each turn compares and takes what is equal, as `eq` and `index` suggest: all groups in one pass "
    "(`index_reduce_` for the largest or smallest).",
)
CLASSES = Advice(
    "diff",
    "-loss = 0\n-for c in range(n):\n-    mask = target == c\n-    if mask.any():\n"
    "-        loss = loss + F.cross_entropy(output[mask], target[mask])\n"
    '+each = F.cross_entropy(output, target, reduction="none")\n'
    "+total = each.new_zeros(n).index_add_(0, target, each)\n"
    "+many = each.new_zeros(n).index_add_(0, target, torch.ones_like(each))\n"
    "+loss = (total / many.clamp(min=1)).sum()",
    "Where each turn takes what belongs to one class, as `eq` and `index` suggest: every loss once, then the mean of each class.",
)
NEIGHBOURS = Advice(
    "diff",
    "-rows = [x[index].sum(0) for index in lists]\n-y = torch.stack(rows)\n"
    "+flat = torch.cat(lists)                                                   # once, before training\n"
    "+owner = torch.repeat_interleave(torch.tensor([len(index) for index in lists]))\n"
    "+y = x.new_zeros(len(lists), *x.shape[1:]).index_add_(0, owner, x[flat])",
    "Where each turn takes the rows of a list and adds them up, as over the neighbours in a graph: all lists in one pass "
    "(`index_reduce_` for the mean or the largest).",
)
# A turn that compares, and takes where that holds.
_EQUAL = {"aten::eq", "aten::index"}
_TAKES_ROWS = {"aten::index", "aten::index_select"}
_REDUCES = {"aten::sum", "aten::mean", "aten::amax", "aten::max"}


def takes_equal(loop: Loop) -> bool:
    """Whether turns compare and take what is equal, in all or in some of them."""
    return {*loop.unit, *loop.in_some_turns} >= _EQUAL


def adds_rows_up(loop: Loop) -> bool:
    """Whether rows are added up as they were taken, with nothing done to them in between."""
    return any(taken in _TAKES_ROWS and then in _REDUCES for taken, then in pairwise((*loop.unit, loop.unit[0])))
