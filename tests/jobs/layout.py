"""How the ranks of a job are laid out: who is in which group, and a little chance that is the same in every run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Layout:
    """Sizes of data, tensor, pipeline and expert parallelism; ranks of one layer are neighbours, then replicas, then stages."""

    dp: int = 1
    tp: int = 1
    pp: int = 1
    ep: int = 1

    @property
    def world(self) -> int:
        return self.dp * self.tp * self.pp

    def place(self, rank: int) -> tuple[int, int, int]:
        """Pipeline stage, replica, and place in its layer."""
        return rank // (self.dp * self.tp), rank // self.tp % self.dp, rank % self.tp

    def members(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Every process group that torch would make, by kind; those of one rank too."""
        for kind, key in (
            ("tp", lambda s, d, t: (s, d)),
            ("dp", lambda s, d, t: (s, t)),
            ("ep", lambda s, d, t: (s, t, d // self.ep)),
            ("pp", lambda s, d, t: (d, t)),
        ):
            found: dict[tuple[int, ...], list[int]] = {}
            for rank in range(self.world):
                found.setdefault(key(*self.place(rank)), []).append(rank)
            yield from ((kind, tuple(ranks)) for ranks in found.values())

    def talks(self, kind: str, ranks: tuple[int, ...]) -> bool:
        """Whether a group has anybody to talk to."""
        return len(ranks) > 1 and not (kind == "ep" and self.ep == 1)


class Noise:
    """Numbers between -1 and 1, the same in every run."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def __call__(self) -> float:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) / 2**30 - 1
