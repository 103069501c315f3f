"""Turns of a loop by what they hold: random numbers, as augmentation draws them, or arithmetic on single numbers alone."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice
from traces.patterns import Pattern

_DRAWS = Pattern(r"aten::(?:rand|randn|randint|random|uniform|normal|bernoulli)(?:_like)?_?$")
# What a recursion through numbers calls, as returns, advantages and running sums; images are turned, cut, scaled as well.
_ON_NUMBERS = Pattern(
    r"aten::(?:select|unbind|slice|copy_|fill_|(?:add|sub|rsub|mul|div|neg|pow|exp|clamp|maximum|minimum|where|lerp)_?"
    r"|bitwise_not|logical_not|clone|detach_?|to|zeros|ones|empty|zeros_like|ones_like|lift_fresh|item)$"
)
FOR_ALL = Advice(
    "diff",
    "-for i in range(len(x)):\n-    if torch.rand(1) < 0.5:\n-        x[i] = x[i].flip(-1)\n"
    "+drawn = torch.rand(len(x), 1, 1, 1, device=x.device)      # one for each; as many dimensions as x has\n"
    "+x = torch.where(drawn < 0.5, x.flip(-1), x)",
    "Each turn draws random numbers, as augmentation does: draw those of the whole batch at once, beside what they change, and "
    "change all of it. Transforms of torchvision draw once for a batch, kornia's for each image.",
)


def draws(loop: Loop) -> bool:
    """Whether its turns draw random numbers."""
    return any(_DRAWS.match(name) for name in loop.unit + loop.in_some_turns)


def may_be_on_numbers(loop: Loop) -> bool:
    """Whether each turn may be arithmetic on single numbers: it holds nothing that only tensors of some size need."""
    return all(_ON_NUMBERS.match(name) for name in loop.unit + loop.in_some_turns)
