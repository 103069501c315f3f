"""What a preset is: a small loop with one known bottleneck, and what must be said of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import torch

Needs = Literal["", "cuda", "compiler", "two-gpus", "ranks"]
Loop = Callable[["torch.device"], Iterator[None]]


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A bottleneck planted on purpose, or a healthy loop where `fires` is empty.

    Args:
        name: Word for the command line and the trace's file name.
        loop: Gives an endless training loop that pauses after every step.
        fires: Codes of the rules that must fire.
        may: Codes that are true as well, or a consequence, and count neither way.
        silent: Codes that must not fire, not even as a note; beyond these, no finding worth 2 % of the step may.
        remedy: Name of the preset without the bottleneck; empty where none is measured.
        needs: What the machine must have.
        wait: Steps before the profiler's warm-up.
        active: Steps to record, whole periods.
        period: Steps after which what is planted comes again.
        marked: Whether steps are marked.
        shapes: Whether the rules need the shapes and types of inputs.
        calibrated: Whether the rules need what this machine achieves at best, as `advisor collect --calibrate` measures it.
        competes: Whether its own processes want more cores than there are, so that waiting for one tells nothing of others.
        loads: Whether what is planted is in the loading, which comes before the rest of a step.
    """

    name: str
    loop: Loop
    fires: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    remedy: str = ""
    needs: Needs = ""
    wait: int = 6
    active: int = 12
    period: int = 1
    marked: bool = True
    competes: bool = False
    shapes: bool = False
    calibrated: bool = False
    loads: bool = False


def codes(words: str) -> frozenset[str]:
    """`"DL001 DL002"` as a set."""
    return frozenset(words.split())
