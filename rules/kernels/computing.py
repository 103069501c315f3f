"""What the computing of a device is: how much of the steps, how much of it matrix work, and in which formats."""

from __future__ import annotations

import msgspec

from analyzer.facts import Facts
from analyzer.units import share
from rules.optimizer.advice import FUSED_CLASSES

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


# Of an update that goes through all parameters several times a fused one saves half, as of attention written out.
_MANY_PASSES = 0.2


def avoidable_passes(facts: Facts, computing_ns: int) -> str:
    """Passes over memory that may go, in words, where they are a good part of the computing; empty else."""
    setting = facts.kernels.set_memory.time.total_ns / computing_ns
    if setting >= WORTH_NAMING:
        return f"{share(setting)} of that sets memory to a value"
    moving = facts.kernels.named.busy_ratio(facts.kernels.named.is_family("gather", "scan"))
    if moving >= WORTH_NAMING:
        return f"{share(moving)} of that gathers, scatters, sorts or makes running sums"
    attention = facts.kernels.attention
    written = facts.kernels.named.busy_ratio(attention.softmax | attention.products)
    if attention.calls and written >= _MANY_PASSES and not attention.fused.any():
        return f"{share(written)} of that is attention written out"
    update = facts.model.optimizing
    many = update.style == "foreach" and update.class_name in FUSED_CLASSES and update.kernel_ns / computing_ns
    return f"{share(many)} of that are the many passes of {update.class_name}" if many and many >= _MANY_PASSES else ""


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
