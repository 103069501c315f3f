"""How sure the zoo is of a bound and of a gain: on drawn numbers of which the truth is known, and on recorded ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

pytest.importorskip("torch")

from analyzer.cli.commands.zoo.chance import Estimate, bound_of, mean_of, noise_of, share_of, student_t
from analyzer.cli.commands.zoo.score import Score
from analyzer.explain import Explained
from analyzer.facts import Facts
from analyzer.finding import Saving
from analyzer.spans.intervals import IntervalSet
from building.builders import TraceBuilder
from showing import analyses
from traces.collect.zoo.session import Timing

TRIALS = 1_000
ANALYSIS = analyses.example()


def overshooting(seed: int, *, saved: float, steps: int, spread: float, rare: float, too_low: float = 0.0) -> float:
    """Share of looks in which the gain is called too large for its bound.

    Every figure is drawn: steps of 10 that save `saved` of it, of which a few take far longer (`rare`), and six turns of timing.
    The bound is that of the true share less `too_low`.
    """
    draw = np.random.default_rng(seed)
    called = 0
    for _ in range(TRIALS):
        saves = 10 * saved * (1 + spread * draw.standard_normal(steps))
        rest = 10 * (1 - saved) * (1 + spread * draw.standard_normal(steps) + 3 * (draw.random(steps) < rare))
        bound = share_of(float(saves.sum() / (saves + rest).sum()), saves, saves + rest, 0.0)
        before = 10 * (1 + 3 * rare * (1 - saved)) * (1 + spread / 3 * draw.standard_normal(6))
        after = (before.mean() - 10 * saved) * (1 + spread / 3 * draw.standard_normal(6))
        lower = Estimate(bound.value - too_low, bound.error, bound.freedom)
        timing = Timing(tuple(before.tolist()), tuple(after.tolist()))
        called += Score("drawn", frozenset({"DL001"}), {}, {}, lower, timing, 1).overshoots
    return called / TRIALS


# Steps as the presets have them: even, uneven, with a step now and then that takes far longer, and few periods of a rare cost.
DRAWN = [
    {"saved": 0.5, "steps": 12, "spread": 0.02, "rare": 0.0},
    {"saved": 0.5, "steps": 12, "spread": 0.08, "rare": 0.0},
    {"saved": 0.87, "steps": 12, "spread": 0.02, "rare": 0.05},
    {"saved": 0.6, "steps": 6, "spread": 0.05, "rare": 0.0},
    {"saved": 0.3, "steps": 5, "spread": 0.05, "rare": 0.0},
]


@pytest.mark.parametrize("drawn", DRAWN)
def test_a_sound_bound_is_called_too_low_in_less_than_one_of_a_hundred(drawn: dict[str, float]) -> None:
    assert overshooting(1, **drawn) < 0.01  # type: ignore[arg-type]


@pytest.mark.parametrize("drawn", DRAWN)
def test_a_bound_too_low_by_ten_points_is_caught(drawn: dict[str, float]) -> None:
    assert overshooting(2, too_low=0.10, **drawn) > 0.9  # type: ignore[arg-type]


def test_without_its_error_a_bound_of_few_steps_would_be_called_too_low() -> None:
    """What the zoo did before: a recorded step that takes longer lowers the bound by more than 3 %."""
    saves, rest = np.full(6, 16.4), np.array([3.6, 3.3, 3.4, 3.3, 4.7, 9.3])
    share = float(saves.sum() / (saves + rest).sum())
    bound = share_of(share, saves, saves + rest, 0.0)
    timing = Timing((18.7,) * 6, (18.7 * (1 - share - 0.05),) * 6)
    assert Score("p", frozenset({"DL001"}), {}, {}, Estimate(share), timing, 1).overshoots
    assert not Score("p", frozenset({"DL001"}), {}, {}, bound, timing, 1).overshoots


@pytest.mark.parametrize(("freedom", "known"), [(1, 31.82), (3, 4.541), (5, 3.365), (10, 2.764), (100, 2.364)])
def test_student_t(freedom: float, known: float) -> None:
    """Known values; between those of the table never too small."""
    assert known * 0.999 <= student_t(freedom) <= known * 1.02


def test_noise_is_of_both() -> None:
    first, second = Estimate(0.5, 0.03, 5), Estimate(0.4, 0.04, 5)
    freedom = 0.05**4 / ((0.03**4 + 0.04**4) / 5)
    assert noise_of(first, second) == pytest.approx(student_t(freedom) * 0.05)
    assert noise_of(Estimate(0.5), Estimate(0.4)) == 0
    assert mean_of([1.0, 3.0]) == Estimate(2.0, 1.0, 1)
    assert mean_of([1.0]) == Estimate(1.0)


def explained(
    durations: list[int], claims: list[tuple[int, int]], advisor: dict[str, object]
) -> tuple[Explained, Saving]:
    """Steps one after the other (us), and what is claimed of them (us)."""
    builder, at = TraceBuilder(None, advisor=advisor), 0
    for number, duration in enumerate(durations):
        builder.step(number, at, duration).op("aten::linear", at, duration)
        at += duration
    facts = Facts(builder.trace())
    origin = int(facts.steps.used["start_ns"].iloc[0])
    saving = Saving(IntervalSet.of([(origin + start * 1000, origin + end * 1000) for start, end in claims]))
    return Explained(ANALYSIS, facts), saving


def test_a_bound_is_known_as_well_as_its_periods_agree() -> None:
    plain, every = explained([100] * 8, [(step * 100, step * 100 + 40) for step in range(8)], {})
    assert bound_of(0.4, plain, every, 1, 20) == Estimate(0.4, 0.0, 7)
    _, alternate = explained([100] * 8, [(step * 100, step * 100 + 80) for step in range(0, 8, 2)], {})
    # Of every second step: by steps it looks like chance, by its periods there is none.
    assert bound_of(0.4, plain, alternate, 1, 20).error == pytest.approx(0.4 * math.sqrt(8 / 7) / math.sqrt(8))
    assert bound_of(0.4, plain, alternate, 2, 20) == Estimate(0.4, 0.0, 3)


def test_what_the_profiler_adds_is_known_from_few_steps_as_well() -> None:
    uneven = [100, 110, 90, 105, 95, 100, 110, 90]
    halves = [
        (start, start + length // 2)
        for start, length in zip(np.cumsum([0, *uneven[:-1]]).tolist(), uneven, strict=True)
    ]
    measured = {"profiled_step_ns": 100_000, "unprofiled_step_ns": 80_000}
    without = bound_of(0.5, *explained(uneven, halves, {}), 1, 20)
    with_it = bound_of(0.625, *explained(uneven, halves, measured), 1, 20)
    assert without.error < 0.01 < with_it.error


def test_a_bound_without_measurements_has_no_error() -> None:
    assert bound_of(0.4, Explained(ANALYSIS), Saving(), 1, 20) == Estimate(0.4)
