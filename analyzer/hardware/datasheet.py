"""What a maker states of a device, and in which document."""

from __future__ import annotations

import msgspec


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a device can do at most.

    Args:
        flops_per_s: Dense, by number format.
        bytes_per_s: Of its memory.
    """

    flops_per_s: dict[str, float]
    bytes_per_s: float


class Peak(msgspec.Struct, frozen=True):
    """One device, as its maker describes it.

    Args:
        pattern: What its name in `deviceProperties` matches as a whole.
        compute: Compute capability, major and minor.
        multiprocessors: Number of multiprocessors, of compute units on AMD.
        memory_gib: Least and most memory, GiB: what a device states is somewhat less than what is printed on it.
        flops_per_s: Dense, by number format.
        bytes_per_s: Of its memory.
        document: Where it was read.
        words: The document's words.
    """

    pattern: str
    compute: tuple[int, int]
    multiprocessors: int
    memory_gib: tuple[float, float]
    flops_per_s: dict[str, float]
    bytes_per_s: float
    document: str
    words: str
