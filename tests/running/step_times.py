"""Step times with a known truth, as measured loops show them: drawn, so that many repeats cost little.

Each shape is a function of a generator and a number of steps; its values are about 1. A run multiplies them by a level of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Shape = Callable[[np.random.Generator, int], np.ndarray]
BASE_NS = 10e6


def neighbours(random: np.random.Generator, count: int, alike: float, spread: float) -> np.ndarray:
    """Noise in which each step follows the one before it."""
    level, values = 0.0, []
    for _ in range(count):
        level = alike * level + random.normal(0, spread * (1 - alike**2) ** 0.5)
        values.append(1 + level)
    return np.array(values)


def calm(random: np.random.Generator, count: int) -> np.ndarray:
    return neighbours(random, count, 0.3, 0.01)


def wavering(random: np.random.Generator, count: int) -> np.ndarray:
    return neighbours(random, count, 0.5, 0.03)


def slow_waves(random: np.random.Generator, count: int) -> np.ndarray:
    return neighbours(random, count, 0.7, 0.04)


def stalls(random: np.random.Generator, count: int) -> np.ndarray:
    return wavering(random, count) * np.where(random.random(count) < 0.04, random.uniform(2, 6, count), 1)


def heavy_tail(random: np.random.Generator, count: int) -> np.ndarray:
    return 1 + 0.05 * random.pareto(1.5, count)


def waits(random: np.random.Generator, count: int) -> np.ndarray:
    """Each step waits for something of random length, a fifth of the step on average."""
    return 1 + random.normal(0, 0.01, count) + random.exponential(0.2, count)


def two_modes(random: np.random.Generator, count: int) -> np.ndarray:
    return random.normal(1, 0.015, count) * np.where(random.random(count) < 0.35, 1.35, 1)


def every_fourth(random: np.random.Generator, count: int) -> np.ndarray:
    """A loader that starts anew at every fourth step."""
    return random.normal(1, 0.015, count) * np.where((np.arange(count) + random.integers(4)) % 4 == 0, 1.4, 1)


def drifting(random: np.random.Generator, count: int) -> np.ndarray:
    """A clock that goes down, or up, by a twentieth over the run."""
    return random.normal(1, 0.015, count) * (1 + np.linspace(0, 0.05, count) * random.choice([-1, 1]))


def busy_quarter(random: np.random.Generator, count: int) -> np.ndarray:
    """Another program takes the processor for a quarter of the run."""
    values = random.normal(1, 0.015, count)
    begin = random.integers(0, count - count // 4)
    values[begin : begin + count // 4] *= random.uniform(1.5, 2.3)
    return values


def restless(random: np.random.Generator, count: int) -> np.ndarray:
    return np.exp(random.normal(0, 0.15, count))


SHAPES: dict[str, Shape] = {
    shape.__name__: shape
    for shape in (
        calm, wavering, slow_waves, stalls, heavy_tail, waits, two_modes, every_fourth, drifting, busy_quarter, restless,
    )
}  # fmt: skip


def runs(
    shape: Shape, random: np.random.Generator, *, steps: int, count: int = 1, longer: float = 1.0, apart: float = 0.01
) -> list[list[int]]:
    """Runs of one script, in ns; their levels differ by the share `apart` (standard deviation)."""
    return [
        (shape(random, steps) * BASE_NS * longer * np.exp(random.normal(0, apart))).astype(np.int64).tolist()
        for _ in range(count)
    ]
