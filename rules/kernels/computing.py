"""What the computing of a device is: how much of the steps, how much of it matrix work, and in which formats."""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.units import share

# A tenth of the computing is worth a word.
WORTH_NAMING = 0.1


class Measured(msgspec.Struct, frozen=True):
    """What the device's time goes to.

    Args:
        computing_ns: Over all used steps.
        busy_ratio: Share of the steps that is computing.
        matrix_ratio: Share of the computing that is matrix work.
        short_ratio: Share of the matrix work in 16 bits or fewer.
        words: The three shares in words, with what is multiplied channel by channel.
    """

    computing_ns: int
    busy_ratio: float
    matrix_ratio: float
    short_ratio: float
    words: str


def measured_of(facts: Facts) -> Measured:
    """The shares of the used steps, for a device that computes in them.

    Args:
        facts: The measurements.
    """
    computing = facts.time.waterfall.owned("compute").total_ns
    busy, work = facts.steps.ratio(computing), facts.kernels.matrix_work
    matrix = work.matrix_ns / computing
    depthwise = facts.kernels.named.busy_ratio(facts.kernels.named.depthwise)
    alone = f", {share(depthwise)} channel by channel" if depthwise >= WORTH_NAMING else ""
    narrow = f", {share(work.eight_bits_ratio)} in 8" if work.eight_bits_ratio >= WORTH_NAMING else ""
    fast = f"{share(work.short_ratio)} of that in 16 bits or fewer{narrow}{alone}"
    words = f"{share(busy)} of the step, {share(matrix)} of it matrix work, {fast}"
    return Measured(computing, busy, matrix, work.short_ratio, words)
