"""Tensors made of Python values or arrays one by one, as a finding of PY003 words it."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

# What `torch.tensor` and `torch.as_tensor` call, and nothing that computes on a tensor does.
_MADE = "aten::lift_fresh"
# What may stand beside it: copies, other shapes and types, and scaling, as of the bytes of a picture.
_AROUND = frozenset(
    f"aten::{name}"
    for name in (
        "_to_copy", "contiguous", "copy_", "detach", "detach_", "div", "div_", "empty", "empty_strided", "expand", "flatten",
        "lift_fresh", "mul", "mul_", "permute", "reshape", "resize_", "squeeze", "stack", "sub", "sub_", "t", "to", "transpose",
        "unsqueeze", "view",
    )
)  # fmt: skip
MADE_AT_ONCE = (
    Advice(
        "diff",
        "-batch = torch.stack([torch.tensor(row) for row in rows])\n"
        "+batch = torch.as_tensor(numpy.stack(rows))   # of arrays; of lists: numpy.array(rows, dtype=numpy.float32)",
        "One array of all rows, made a tensor once; other shapes, types and scales then of the whole batch. `torch.tensor` of "
        "lists goes through their numbers in Python.",
    ),
    Advice(
        "python",
        "states = torch.empty(capacity, *shape, dtype=torch.uint8)   # once\n"
        "states[position] = torch.as_tensor(state)                   # when it is stored\n"
        "batch = states[torch.randint(stored, (batch_size,))].float() / 255",
        "Where the rows are a memory to draw from, as a replay buffer: kept as one tensor, a batch is one index.",
    ),
)


def makes_tensors(loop: Loop) -> bool:
    """Whether each turn only makes a tensor and gives it a shape, a type or a scale."""
    return _MADE in loop.unit and set(loop.unit) <= _AROUND
