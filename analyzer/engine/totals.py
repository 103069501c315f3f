"""What one or several savings give together: time that two of them claim, and kernels that two of them shorten, count once."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.facts import Facts
from analyzer.finding import Figure, Saving
from analyzer.spans.intervals import EMPTY
from analyzer.spans.shortened import Shorter, together_ns


def saved_ns(facts: Facts, savings: Sequence[Saving], *, usual: bool = False) -> int:
    """Nanoseconds over all used steps that the savings give together; never less than any of them gives by itself.

    Args:
        facts: The measurements.
        savings: One or several.
        usual: Ask for what usually comes true of them, not for all they state; an estimate is that anyway.
    """
    claims = EMPTY
    for saving in savings:
        claims |= saving.likely_claims if expected(saving, usual=usual) else saving.most_claims
    # On a device only compute gets shorter by faster kernels; without one ops lie in several causes.
    shrinking = facts.steps.window if facts.device.main is None else facts.time.waterfall.owned("compute")
    shorter = min(_shorter_ns(savings, usual=usual), (shrinking - claims).total_ns)
    return min(claims.total_ns + shorter, facts.steps.total_ns)


def _shorter_ns(savings: Sequence[Saving], *, usual: bool) -> int:
    """By how much kernels get shorter: where it is known which, those of several savings together, else the sum."""
    shorter = [shorter_by(saving, usual=usual) for saving in savings]
    named = shorter[0].named_ns if len(shorter) == 1 else together_ns([part for one in shorter for part in one.parts])
    return round(sum(one.unnamed_ns for one in shorter) + named)


def shorter_by(saving: Saving, *, usual: bool) -> Shorter:
    """What a saving makes shorter."""
    return saving.usually_shorter if expected(saving, usual=usual) else saving.shorter


def expected(saving: Saving, *, usual: bool) -> bool:
    """Whether what usually comes true counts: where it is asked for, and of an estimate, which is nothing else."""
    return usual or saving.kind is Figure.ESTIMATE
