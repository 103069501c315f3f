"""What keeps a multiprocessor from holding more blocks of a kernel: the limits that Kineto states of its occupancy.

Low occupancy is no fault by itself: products on tensor cores keep their tiles in registers and shared memory on purpose.
"""

from __future__ import annotations

from functools import lru_cache, partial

import msgspec

from analyzer.facts.kernels.find import Kernels
from analyzer.facts.kernels.names import MATRIX_FAMILIES
from analyzer.spans.arrays import BoolArray
from analyzer.spans.labels import matching

# As libkineto names CUDA's limits (CuptiActivity, `limitingFactorsToString`), and what a person calls them.
_WORDS = {
    "REGS": "registers",
    "SMEM": "shared memory",
    "WARPS": "warps of a block",
    "BLOCKS": "blocks of a multiprocessor",
    "BARRIERS": "barriers",
}
# Limits of what a kernel asks for; the others are the device's own.
_OF_THE_KERNEL = frozenset({"REGS", "SMEM", "BARRIERS"})


class Residency(msgspec.Struct, frozen=True, eq=False):
    """Kernels whose occupancy is stated, and what limits it.

    Args:
        known: Of which the trace states what limits them, shape (kernels,).
        limited: Which of those occupy less than the wanted share for what they ask for, products apart; same shape.
        factors: What limits those, each with its device time, the largest first.
    """

    known: BoolArray
    limited: BoolArray
    factors: tuple[tuple[str, int], ...]


def residency(named: Kernels, below: float) -> Residency:
    """Finds kernels that occupy less than `below` of the warps a multiprocessor could hold, by their own limits."""
    frame = named.frame
    known = matching(frame["residency"], factors)
    by_kernel = matching(frame["residency"], lambda text: _OF_THE_KERNEL & set(factors(text)))
    low = frame["occupancy_ratio"].to_numpy() < below
    # Zero stands for not estimated as well.
    stated = frame["occupancy_ratio"].to_numpy() > 0
    limited: BoolArray = by_kernel & low & stated & ~named.is_family(*MATRIX_FAMILIES, "collective") & ~named.collective
    duration = frame["dur_ns"].to_numpy()
    times = {
        _WORDS[code]: int(duration[limited & matching(frame["residency"], partial(_has, code))].sum())
        for code in sorted(_OF_THE_KERNEL)
    }
    return Residency(
        known, limited, tuple(sorted(((word, ns) for word, ns in times.items() if ns), key=lambda one: -one[1]))
    )


def _has(code: str, text: str) -> bool:
    return code in factors(text)


@lru_cache(maxsize=4096)
def factors(text: str) -> tuple[str, ...]:
    """What limits a kernel, as Kineto names it; empty where nothing known is stated.

    Args:
        text: The `occupancy` of a kernel's arguments, JSON.
    """
    try:
        stated = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return ()
    said = stated.get("limitingFactors") if isinstance(stated, dict) else None
    return tuple(code for code in _WORDS if isinstance(said, str) and code in said)
