"""Fixes for small ops that run once per tensor of a list, by what the ops are, and pages on them."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice
from rules.python.copied import copies_tensors
from rules.python.made import MADE_AT_ONCE, makes_tensors
from rules.python.state_copied import COPIED_IN_PLACE
from traces.patterns import Pattern

# Ops that torch has for lists of tensors (aten/src/ATen/native/native_functions.yaml, `_foreach_*`), and what leads to them.
_OF_LISTS = Pattern(
    r"aten::(?:"
    r"abs|add|addcdiv|addcmul|ceil|clamp_max|clamp_min|copy|cos|div|exp|expm1|floor|lerp|lgamma|log|log10|log1p|"
    r"log2|max|maximum|minimum|mul|neg|norm|linalg_vector_norm|pow|reciprocal|round|rsqrt|sigmoid|sign|sin|sqrt|"
    r"sub|tan|tanh|trunc|zero"
    r")_?$"
)


# Ops by which a program looks at a value.
_READS = frozenset({"aten::is_nonzero", "aten::item", "aten::_local_scalar_dense"})
_READ_ONCE = Advice(
    "diff",
    "-for tensor in tensors:\n-    if not tensor.isfinite().all():\n-        raise ValueError\n"
    "+fine = torch.stack([tensor.isfinite().all() for tensor in tensors]).all()\n"
    "+if not fine:       # one read\n+    raise ValueError",
    "Each turn reads a value, and waits for the device: keep what is read there, and read it once for all, as late as possible. Of "
    "gradients the norm that `clip_grad_norm_` returns tells as much.",
)


_ONE_PRODUCT = Advice(
    "diff",
    "-results = [left @ right for left, right in zip(lefts, rights)]\n"
    "+results = torch.bmm(torch.stack(lefts), torch.stack(rights))",
    "One product for all: by their shapes none can be made of another. Where one factor is the same in each, put the others side "
    "by side instead: `x @ torch.cat(weights, dim=1)`.",
)


_PENALTY = Advice(
    "diff",
    "-penalty = sum(weight.pow(2).sum() for weight in model.parameters())\n-loss = loss + 0.5 * decay * penalty\n"
    "+optimizer = torch.optim.SGD(model.parameters(), lr=lr, weight_decay=decay)",
    "Where it is a penalty on the weights, as squares and sums suggest: `weight_decay` adds its gradient in the update (of Adam as "
    "well; of AdamW it is apart from the gradient).",
)
_PENALTY_AT_ONCE = Advice(
    "python",
    "penalty = torch.stack(torch._foreach_norm(list(model.parameters()))).square().sum()",
    "Where the sum itself is needed: one call for the squares of all.",
)


def pages(loop: Loop) -> tuple[str, ...]:
    """Pages on what the fix calls; none where it is `torch._foreach_*`, which has none."""
    called = (
        "torch.nn.functional.grouped_mm"
        if loop.calls_experts
        else "torch.as_tensor"
        if makes_tensors(loop)
        else "torch.bmm"
        if loop.independent
        else "torch.optim.swa_utils.AveragedModel"
        if _averages(loop)
        else None
    )
    return () if called is None else (f"https://docs.pytorch.org/docs/stable/generated/{called}.html",)


def _averages(loop: Loop) -> bool:
    """Whether it may be a moving average: in place, or each of two multiplied and both added, which is then written back."""
    names = set(loop.unit)
    added = names == {"aten::mul", "aten::add"} and loop.unit.count("aten::mul") == loop.unit.count("aten::add") + 1
    return "aten::lerp_" in names or {"aten::mul_", "aten::add_"} <= names or added


def penalises(loop: Loop) -> bool:
    """Whether each tensor is squared, summed and added up, in what gradients come back to, or behind which none are seen."""
    names = set(loop.unit)
    squares = bool(names & {"aten::pow", "aten::square", "aten::norm", "aten::linalg_vector_norm"})
    return squares and {"aten::sum", "aten::add"} <= names and loop.phase in ("before", "loss", "forward", "step")


def at_once(loop: Loop) -> tuple[Advice, ...]:
    """What does the same for all tensors together, the likeliest first."""
    if makes_tensors(loop):
        return MADE_AT_ONCE
    if copies_tensors(loop):
        return (COPIED_IN_PLACE,)
    names = set(loop.unit)
    if loop.independent:
        return (_ONE_PRODUCT,)
    if names & _READS:
        return (_READ_ONCE,)
    if penalises(loop):
        return (_PENALTY, _PENALTY_AT_ONCE)
    lists = Advice(
        "python",
        "torch._foreach_mul_(tensors, factor)\ntorch._foreach_add_(tensors, others, alpha=alpha)",
        "One call for a list of tensors instead of one per tensor.",
    )
    if _averages(loop):
        average = Advice(
            "diff",
            "-for average, weight in zip(averages, weights):\n-    average.mul_(decay).add_(weight, alpha=1 - decay)\n"
            "+torch._foreach_lerp_(averages, weights, 1 - decay)",
            "Where it is a moving average of the weights, as `mul` and `add` suggest: in place, with nothing to write back.",
        )
        return (average, lists)
    stacked = Advice(
        "python", "result = f(torch.stack(tensors))", "Where all have one shape: stack once, then one batched op."
    )
    of_lists = sum(_OF_LISTS.match(name) is not None for name in loop.unit)
    return (lists, stacked) if 2 * of_lists >= len(loop.unit) else (stacked,)
