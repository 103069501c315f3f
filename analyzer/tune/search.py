"""Looking for the best of many numbers with few tries: doubling, then halving the gap beside the best.

What a step takes falls with more workers until cores or memory run out, then rises: one valley, with noise. A sweep tries each
value; this tries at most half of them, and no value twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence


def search(
    values: Sequence[int],
    start: int,
    cost: Callable[[int], float | None],
    slack: float = 0.0,
    worth: float = float("inf"),
) -> int | None:
    """The value with the least cost found; None where none could be had.

    Args:
        values: All values in order.
        start: Where to look first; the nearest value counts.
        cost: What a value costs; None where it cannot be had.
        slack: A larger value has to be better by this share: it takes cores and memory.
        worth: What costs more is not looked at more closely: in a valley nothing beside it costs much less.
    """
    most = max(len(values) // 2, 1)
    tried: dict[int, float | None] = {}

    def ask(place: int) -> float:
        if place not in tried and len(tried) < most:
            tried[place] = cost(values[place])
        found = tried.get(place)
        return float("inf") if found is None else found

    at = min(range(len(values)), key=lambda place: abs(values[place] - start))
    best = ask(at)
    up = _doubled(values, at)
    if up is not None and ask(up) < best * (1 - slack):
        while up is not None and ask(up) < best * (1 - slack):
            at, best = up, ask(up)
            up = _doubled(values, at)
    else:
        down = _halved(values, at)
        while down is not None and ask(down) <= best * (1 + slack):
            at, best = down, ask(down)
            down = _halved(values, at)
    # The gaps beside the best are halved until they are closed, or as many as may be are tried.
    while best <= worth and len(tried) < most and (beside := _between(sorted(tried), at)):
        for place in beside:
            if ask(place) < best * (1 - slack):
                at, best = place, ask(place)
    return values[at] if best < float("inf") else None


def _doubled(values: Sequence[int], at: int) -> int | None:
    wanted = max(values[at] * 2, values[at] + 1)
    above = [place for place in range(at + 1, len(values)) if values[place] <= wanted]
    return above[-1] if above else None


def _halved(values: Sequence[int], at: int) -> int | None:
    below = [place for place in range(at) if values[place] >= values[at] // 2]
    return below[0] if below else None


def _between(tried: Sequence[int], at: int) -> list[int]:
    """The places in the middle of the gaps beside the best one."""
    lower = max((place for place in tried if place < at), default=at)
    upper = min((place for place in tried if place > at), default=at)
    return [place for place in ((at + upper) // 2, (lower + at + 1) // 2) if place not in tried]
