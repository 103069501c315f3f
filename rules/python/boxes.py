"""Boxes compared one pair at a time, as in a suppression of overlapping ones written by hand."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

OVERLAPS = (
    Advice(
        "python",
        "keep = torchvision.ops.nms(boxes, scores, threshold)   # of several classes or images: batched_nms(..., group, threshold)",
        "Where boxes that overlap a better one are dropped: one call for all.",
    ),
    Advice(
        "python",
        "overlaps = torchvision.ops.box_iou(boxes, others)      # (n, m), all pairs; of pairs of one index: its formula on columns",
        "Where the overlaps themselves are wanted, as for matching boxes with targets.",
    ),
)
# The corners of the part that two boxes share are the larger of their first ones and the smaller of their last; it may be empty.
_LARGER = frozenset({"aten::max", "aten::maximum"})
_SMALLER = frozenset({"aten::min", "aten::minimum"})
_NOT_NEGATIVE = frozenset({"aten::clamp", "aten::clamp_", "aten::clamp_min", "aten::clamp_min_", "aten::relu"})
_OVER = frozenset({"aten::div", "aten::div_", "aten::true_divide"})


def of_boxes(loop: Loop) -> bool:
    """Whether each turn divides what two boxes share by what they cover."""
    ops = {*loop.unit, *loop.in_some_turns}
    return all(ops & one for one in (_LARGER, _SMALLER, _NOT_NEGATIVE, _OVER)) and not loop.of_layers


_COMPARED = frozenset({"aten::gt", "aten::lt", "aten::ge", "aten::le"})
_AREAS = frozenset({"aten::sub", "aten::mul", "aten::div"})


def may_be_of_boxes(loop: Loop) -> bool:
    """Whether turns compute areas and their quotients, with comparisons that Python reads.

    That is what overlaps of boxes are where Python's own `max` and `min` take numbers out of tensors, and other arithmetic as well.
    """
    ops = {*loop.unit, *loop.in_some_turns}
    compared = "aten::is_nonzero" in ops and bool(ops & _COMPARED)
    return compared and ops >= _AREAS and not loop.backward and not loop.of_layers
