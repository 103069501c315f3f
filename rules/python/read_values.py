"""Turns that read numbers into Python: only to count with them, or to say what of a tensor is taken or written."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

# Ops by which a value becomes one of Python's.
_READING = frozenset({"aten::item", "aten::_local_scalar_dense", "aten::is_nonzero"})
_WRITING = frozenset({"aten::copy_", "aten::fill_", "aten::zero_", "aten::index_put_", "aten::masked_fill_"})
_CHANGING = frozenset({"aten::add_", "aten::sub_", "aten::mul_", "aten::div_"})
_COMPUTING = frozenset({"aten::add", "aten::sub", "aten::rsub", "aten::mul", "aten::div"})
# `a & b`, `a | b`, `torch.logical_and(a, b)`; and what counts where that holds.
_BOTH = frozenset(
    f"aten::{name}"
    for name in ("__and__", "bitwise_and", "logical_and", "__or__", "bitwise_or", "logical_or", "__iand__", "mul")
)
_COUNTING = frozenset({"aten::sum", "aten::count_nonzero", "aten::mean"})
_PARTS = frozenset({"aten::slice", "aten::narrow"})
_TAKING = frozenset({"aten::select", "aten::unbind"})

_READ_ONCE = Advice(
    "diff",
    "-for i in range(len(output)):\n-    if output[i].argmax().item() == target[i].item():\n-        correct += 1\n"
    "+correct += (output.argmax(1) == target).sum()   # a tensor; `.item()` once, when it is printed",
    "Each turn reads values into Python: compare, count and add up on whole tensors, and read one result.",
)
_LISTED = Advice(
    "diff",
    "-for i in range(n):\n-    use(int(first[i]), int(last[i]))\n"
    "+for begin, end in zip(first.tolist(), last.tolist()):\n+    use(begin, end)",
    "Where turns cannot be put together, as with parts of many sizes: all numbers in one read before the loop, which then only "
    "takes or writes. That saves the reads alone.",
)
_INDICES = Advice(
    "diff",
    "-for i in starts:\n-    rows.append(torch.tensor([int(data[i + k]) for k in range(n)]))\n"
    "+for i in starts.tolist():   # plain numbers, in one read\n+    rows.append(torch.as_tensor(data[i : i + n]))",
    "Where the numbers say which data to take: one read before the loop, and slices of the data instead of one element after the "
    "other. Arithmetic on plain numbers is no op.",
)
_FACTORS = Advice(
    "diff",
    "-for i in range(len(x)):\n-    out[i] = a[i].item() * x[i] + b[i].item() * y[i]\n"
    "+a, b = a.view(-1, 1, 1, 1), b.view(-1, 1, 1, 1)   # as many dimensions as x has\n+out = a * x + b * y",
    "Where the numbers are factors of a row each: they stay tensors, and are spread over the rows.",
)
_COUNTED = Advice(
    "diff",
    "-for t, p in zip(target, predicted):\n-    counts[t.item(), p.item()] += 1\n"
    "+counts += torch.bincount(target * n + predicted, minlength=n * n).view(n, n)",
    "Where each turn adds to the element that the numbers name: all at once. Other values than 1: "
    "`counts.index_put_((rows, columns), values, accumulate=True)`.",
)
_MASKED = Advice(
    "diff",
    "-for i in range(len(x)):\n-    x[i, : int(n[i])] = 0\n"
    "+mask = torch.arange(x.shape[1], device=x.device) < n[:, None]\n+x = x.masked_fill(mask, 0)",
    "Where the numbers say how far a part of each row goes: one mask for all rows, `mask[..., None]` where x has more dimensions; "
    "the sum of each part is that of `x * mask`.",
)
_PLACED = Advice(
    "python",
    "rows = top[:, None] + torch.arange(height)      # n places each\ncolumns = left[:, None] + torch.arange(width)\n"
    "images[torch.arange(n)[:, None, None], :, rows[:, :, None], columns[:, None, :]] = patches.permute(0, 2, 3, 1)",
    "Where parts of one size are pasted: the places as tensors, and one write; the same index takes such parts out. Where parts "
    "overlap and are added up, or the larger stays: `scatter_reduce_`.",
)
_ELEMENTS = Advice(
    "diff",
    "-for i in range(len(x)):\n-    x[i, n[i].item()] = 1\n+x[torch.arange(len(x)), n] = 1",
    "Where the numbers name one element of each row: an index of tensors, and one write.",
)
_OF_CLASSES = Advice(
    "diff",
    "-for c in range(n):\n-    both, either = (pred == c) & (target == c), (pred == c) | (target == c)\n"
    "-    overlap.append(both.sum().item() / either.sum().item())\n"
    "+counts = torch.bincount(target.flatten() * n + pred.flatten(), minlength=n * n).view(n, n)\n"
    "+both = counts.diagonal()\n"
    "+overlap = both / (counts.sum(0) + counts.sum(1) - both).clamp(min=1)   # a tensor; `.tolist()` once, when it is printed",
    "Where each turn counts what is of one class: how often each class was taken for each, in one pass. Counts of batches add up: "
    "one division an epoch.",
)
_DETACHED = Advice(
    "diff",
    "-losses = [output * (target - value.item()) for output, target, value in zip(outputs, targets, values)]\n"
    "-loss = torch.stack(losses).sum()\n"
    "+outputs, values = torch.stack(outputs).flatten(), torch.stack(values).flatten()   # of one value each; so are targets\n"
    "+loss = (outputs * (targets - values.detach())).sum()",
    "Each turn reads a number to compute the loss with, through which no gradient is to go, as a weight or an advantage: "
    "`.detach()` keeps it a tensor, and the loss is computed for all at once.",
)
_VALUES = Advice(
    "diff",
    "-for i in range(len(x)):\n-    out[i] = f(x[i]).item()\n+out = f(x)",
    "Where the numbers are what is written: `f` on the whole tensor, and nothing is read.",
)


def reads(loop: Loop) -> bool:
    """Whether its turns read values into Python."""
    return bool(_READING & _ops(loop))


def at_once(loop: Loop) -> tuple[Advice, ...]:
    """What to do instead of reading in each turn, the likeliest first."""
    ops = _ops(loop)
    writes = bool(ops & _WRITING)
    if not writes and _counts_classes(loop):
        return (_OF_CLASSES, _READ_ONCE)
    if not writes and not ops & (_PARTS | _CHANGING):
        # What compares nothing and takes no maximum counts nothing: it computes a place, as of the data of a batch.
        if loop.phase == "before" and ops & _COMPUTING and ops <= _READING | _COMPUTING | _TAKING:
            return (_INDICES, _READ_ONCE)
        of_loss = loop.phase == "loss" and loop.backward and ops & _COMPUTING
        return (_DETACHED, _READ_ONCE) if of_loss else (_READ_ONCE,)
    if not ops & _PARTS:
        if writes and ops & _CHANGING:
            return (_COUNTED, _LISTED)
        if ops & (_COMPUTING | _CHANGING):
            return (_FACTORS, _LISTED)
        return (_ELEMENTS, _VALUES, _LISTED)
    placed = sum(name in _PARTS for name in loop.unit) > 1
    return (*((_PLACED, _MASKED) if placed else (_MASKED,)), _LISTED)


def _counts_classes(loop: Loop) -> bool:
    """Whether each turn compares two tensors with a value, and counts where they agree."""
    return loop.unit.count("aten::eq") > 1 and bool(_BOTH & _ops(loop)) and bool(_COUNTING & _ops(loop))


def _ops(loop: Loop) -> frozenset[str]:
    return frozenset(loop.unit + loop.in_some_turns)
