"""A Python loop through a tensor that making samples mostly is: what is said of it, and what replaces it."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.input.sample_loop import SampleLoop
from analyzer.finding import Advice
from analyzer.units import figure, share

# From here on it is what making samples mostly is.
_MOST_RATIO = 0.5
_WHOLE_TENSOR = Advice(
    "diff",
    "-places = [i for i in range(len(values)) if values[i] != wanted]\n+places = (values != wanted).nonzero().flatten()",
    "One op on the whole tensor, whatever the loop does: each of its turns pays for Python and for every op again. Where "
    "numbers are only read: `values = values.tolist()` once, in `__init__`; elements of a list are plain numbers.",
)


def looped(facts: Facts) -> SampleLoop | None:
    """The loop through a tensor that making samples mostly is; None where it is none, or none is known."""
    found = facts.input.sample_loop
    return found if found is not None and found.ratio >= _MOST_RATIO else None


def loop_sentence(facts: Facts) -> str:
    """A sentence that names that loop, with a space before it; empty where there is none."""
    found = looped(facts)
    if found is None:
        return ""
    ops = ", ".join(f"`{name}`" for name in dict.fromkeys(found.unit))
    return f" {share(found.ratio)} of the loading is a Python loop through a tensor: {ops}, {figure(found.turns)} times in a row."


def without_loop(facts: Facts) -> tuple[Advice, ...]:
    """The loop's ops on the whole tensor; nothing where there is no such loop."""
    return () if looped(facts) is None else (_WHOLE_TENSOR,)
