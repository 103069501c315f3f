"""A tensor that is taken apart, or put together, by one copy for each of its parts."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

# A part is taken, its shape changed, and it is copied: to or from a tensor of its own.
_PARTS = frozenset(f"aten::{name}" for name in ("slice", "narrow", "select", "view", "reshape", "view_as", "copy_"))
TAKEN_APART = Advice(
    "diff",
    "-for part, tensor in zip(flat.split(sizes), tensors):\n-    tensor.copy_(part.view_as(tensor))\n"
    "+parts = [part.view_as(tensor) for part, tensor in zip(flat.split(sizes), tensors)]\n+torch._foreach_copy_(tensors, parts)",
    "Where one flat tensor is taken apart, as gradients or weights are: all copies in a few launches. Or let the tensors be views "
    "of the flat one, and copy nothing.",
)
PUT_TOGETHER = Advice(
    "diff",
    "-for i, row in enumerate(rows):\n-    t[i] = row\n+t[: len(rows)] = torch.stack(rows)",
    "Where tensors are written into one: put together at once.",
)


def of_parts(loop: Loop) -> bool:
    """Whether each turn takes a part and copies it."""
    return set(loop.unit) <= _PARTS and "aten::copy_" in loop.unit
