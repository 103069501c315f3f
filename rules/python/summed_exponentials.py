"""Logarithms of sums of exponentials written by hand, as over the tags of a conditional random field."""

from __future__ import annotations

from analyzer.facts.loops.find import Loop
from analyzer.finding import Advice

LOG_SUMS = Advice(
    "diff",
    "-for tag in range(n):\n-    scores.append(log_sum_exp(alpha + transitions[tag] + emission[tag]))\n"
    "+scores = torch.logsumexp(alpha[None, :] + transitions, dim=1) + emission   # of all tags",
    "Where each turn adds up exponentials, as over the tags of a conditional random field: those of one moment at once, of a batch "
    "with one more dimension; the loop over time stays. It takes the largest out by itself, so that nothing is read.",
)
# The largest is taken out before, so that no exponential overflows.
_LARGEST = frozenset({"aten::max", "aten::amax", "aten::argmax"})


def sums_exponentials(loop: Loop) -> bool:
    """Whether turns take the logarithm of a sum of exponentials, less the largest."""
    ops = {*loop.unit, *loop.in_some_turns}
    return not loop.of_layers and {"aten::exp", "aten::sum", "aten::log"} <= ops and bool(ops & _LARGEST)
