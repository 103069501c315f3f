"""Steps in which some ranks run another loop while the others wait: rank 0 evaluates, writes samples, or saves a state alone.

Such a step is in no figure of the rank that runs the loop, so that it is none of those in which ranks are held against each other.
Of those that do not run it the step lasts as long, all of the difference inside a collective; where the loop comes at the end of
the step, it is the next one that does.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analyzer.ranks.document import OtherLoop
from analyzer.ranks.summary import OtherLoopPart, RankSummary

_WAITING = "communication"


def other_loops(summaries: Sequence[RankSummary]) -> tuple[OtherLoop, ...]:
    """Which ranks run another loop in which steps, and what those wait that do not, the most first.

    Args:
        summaries: Ranks whose steps are counted alike.
    """
    loops: dict[int, dict[int, OtherLoopPart]] = {}
    for place, one in enumerate(summaries):
        for loop in one.other_loops:
            loops.setdefault(loop.number, {})[place] = loop
    # A rank that evaluates in one step may save in another.
    together: dict[tuple[tuple[int, ...], bool], dict[int, int]] = {}
    for number, who in loops.items():
        key = tuple(sorted(who)), all(loop.saves for loop in who.values())
        together.setdefault(key, {})[number] = max(loop.dur_ns for loop in who.values())
    found = (_loop(summaries, who, steps, saves=saves) for (who, saves), steps in together.items())
    return tuple(sorted((one for one in found if one is not None), key=lambda one: -one.waited_ns))


def _loop(
    summaries: Sequence[RankSummary], who: tuple[int, ...], steps: dict[int, int], *, saves: bool
) -> OtherLoop | None:
    """What the others wait for those in their steps; None where nobody does."""
    waited = [_waits(one, steps) for place, one in enumerate(summaries) if place not in who and one.steps]
    recorded = [one.window_ns for place, one in enumerate(summaries) if place not in who and one.steps]
    median = float(np.median(waited)) if waited else 0.0
    if median <= 0:
        return None
    return OtherLoop(
        ranks=tuple(summaries[place].rank or 0 for place in who),
        steps=tuple(sorted(steps)),
        waited_ns=int(median),
        waited_ratio=median / float(np.median(recorded)),
        saves=saves,
    )


def _waits(one: RankSummary, steps: dict[int, int]) -> float:
    """What a rank is in collectives beyond its usual in some steps and in those behind them, no more than these last elsewhere."""
    own = {loop.number for loop in one.other_loops}
    inside = {step.number: step.causes.get(_WAITING, 0) for step in one.steps}
    near = {number + behind for number in steps for behind in (0, 1)}
    others = [ns for number, ns in inside.items() if number not in near]
    usual = float(np.median(others)) if others else 0.0
    waited = 0.0
    for number, lasts in steps.items():
        beyond = (inside.get(at, usual) - usual for at in (number, number + 1) if at not in own)
        waited += min(max(sum(beyond), 0.0), float(lasts))
    return waited
