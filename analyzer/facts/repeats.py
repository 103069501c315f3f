"""Short sequences that repeat many times in a row: the trace of a loop in the program.

Run lengths of every period at once: position i continues a run of period p where it equals position i + p. Vectorised, O(n) per
period; smaller periods first, so that a run is found with its shortest unit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

Int64Array = npt.NDArray[np.int64]

# Longest unit looked for, in ops: enough for the body of a loss written by hand.
MAX_PERIOD = 16


def repeated_runs(
    codes: Int64Array, group: Int64Array, *, min_repeats: int, max_period: int = MAX_PERIOD
) -> pd.DataFrame:
    """Maximal runs of a repeated unit.

    Args:
        codes: What stands at each position, shape (n,).
        group: Runs never cross from one group to the next; equal for neighbours of one group, shape (n,).
        min_repeats: Repetitions from which a run counts.
        max_period: Longest unit.

    Returns:
        Columns first (position), period, repeats (whole units); runs hardly overlap, shorter periods win.
    """
    count = len(codes)
    taken = np.zeros(count + 1, dtype=np.int64)
    found: list[tuple[Int64Array, Int64Array, Int64Array]] = []
    for period in range(1, min(max_period, count - 1) + 1):
        same = (codes[period:] == codes[:-period]) & (group[period:] == group[:-period])
        edges = np.diff(np.concatenate([[0], same.astype(np.int8), [0]]))
        first, last = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        repeats = (last - first + period) // period
        long = repeats >= min_repeats
        first, repeats = first[long], repeats[long]
        # Positions already part of a run with a shorter unit: their multiples repeat as well, and say nothing new.
        before = np.concatenate([[0], np.cumsum(np.cumsum(taken)[:count] > 0)])
        new = before[first + repeats * period] - before[first] <= (repeats * period) // 2
        first, repeats = first[new], repeats[new]
        np.add.at(taken, first, 1)
        np.add.at(taken, first + repeats * period, -1)
        found.append((first, np.full(len(first), period), repeats))
    if not found:
        return pd.DataFrame({"first": [], "period": [], "repeats": []}, dtype=np.int64)
    first, periods, repeats = (np.concatenate(parts) for parts in zip(*found, strict=True))
    frame = pd.DataFrame({"first": first, "period": periods, "repeats": repeats}).astype(np.int64)
    return frame.sort_values("first", ignore_index=True)


def canonical(unit: tuple[int, ...]) -> tuple[int, ...]:
    """The same unit whichever of its ops a run happens to begin with."""
    return min(unit[index:] + unit[:index] for index in range(len(unit)))
