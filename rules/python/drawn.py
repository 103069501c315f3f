"""Turns of a loop by what they hold: random numbers, as augmentation draws them, or arithmetic on a few values alone."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice
from traces.patterns import Pattern

_DRAWS = Pattern(r"aten::(?:rand|randn|randint|random|uniform|normal|bernoulli)(?:_like)?_?$")
# What a recursion through numbers calls, as running sums, filters and returns; images are turned, cut, scaled as well.
_ON_NUMBERS = Pattern(
    r"aten::(?:select|unbind|slice|copy_|fill_|(?:add|sub|rsub|mul|div|neg|pow|exp|clamp|maximum|minimum|where|lerp)_?"
    r"|bitwise_not|logical_not|clone|detach_?|to|zeros|ones|empty|zeros_like|ones_like|lift_fresh|item)$"
)
# `y[t] = x[t] * decay + last` takes 16 to 24 us in ops of torch up to here, and 2 to 4 in those of NumPy; with four times as many
# values NumPy takes half of torch's time, and an image's take it as long as the work itself (one core).
_FEW_VALUES = 4096
_AS_ARRAYS = Advice(
    "diff",
    "-for t in range(n):\n-    last = x[t] + decay * last\n-    y[t] = last\n"
    "+x = x.cpu().numpy()\n+for t in range(n):\n+    last = x[t] + decay * last\n"
    "+    y[t] = last   # an array as well\n+y = torch.from_numpy(y)",
    "Where each turn needs the one before, works on a few values and nothing is differentiated through it, as a running sum, a "
    "filter or discounted returns: the loop on arrays of NumPy, where such an op takes about a fifth of the time.",
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


def on_numbers(facts: Facts, loop: Loop) -> tuple[Advice, ...]:
    """The loop on numbers of the host, where its turns may be of few values each, and no gradient goes through them."""
    return (_AS_ARRAYS,) if not loop.backward and _may_be_on_numbers(facts, loop) else ()


def _may_be_on_numbers(facts: Facts, loop: Loop) -> bool:
    """Whether each turn may be arithmetic on a few values: it holds nothing that only tensors of some size need, nor such a tensor.

    Where no shapes tell, an op on the CPU that is more than the way to it works on many.
    """
    if not all(_ON_NUMBERS.match(name) for name in loop.unit + loop.in_some_turns):
        return False
    if loop.most_values is not None:
        return loop.most_values <= _FEW_VALUES
    return facts.device.main is not None or loop.usual_op_ns < facts.time.dispatch_bound_op_ns
