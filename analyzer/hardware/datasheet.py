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

    def products_ns(self, flops: int, number_format: str) -> float:
        """The least time of products in a format whose peak is known.

        Args:
            flops: Their operations.
            number_format: Of `flops_per_s`.
        """
        return flops / self.flops_per_s[number_format] * 1e9


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
        target: What kernels are built for that run on no other design (`gfx942`); empty where their names do not tell.
    """

    pattern: str
    compute: tuple[int, int]
    multiprocessors: int
    memory_gib: tuple[float, float]
    flops_per_s: dict[str, float]
    bytes_per_s: float
    document: str
    words: str
    target: str = ""
