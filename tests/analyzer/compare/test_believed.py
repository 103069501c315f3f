"""What went on beside the steps forbids an answer where it may have made the change, and nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from analyzer.assemble import assemble
from analyzer.compare.comparison import Comparison, compare
from analyzer.compare.snapshot import snapshot
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.report.comparison import rows
from building.builders import TraceBuilder
from showing.comparisons import beside, starved
from showing.snapshots import finding

MS = 1_000_000


def change(
    before: Mapping[str, object], after: Mapping[str, object], *, ms: tuple[int, int] = (100, 60), runs: int = 1
) -> tuple[str, str | None]:
    """Kind of the answer, and the doubt, of a step that went from `ms[0]` to `ms[1]`."""
    sides = [
        [beside(step * MS + number * MS // 10, **side) for number in range(runs)]
        for step, side in zip(ms, (before, after), strict=True)
    ]
    found = compare(*sides).change
    assert found is not None
    return found.kind, found.doubt


def lacked(ratio: float | None, **more: object) -> dict[str, object]:
    return {"core_wait_ratio": ratio, **more}


def test_the_recorded_pair_that_had_no_cores_gets_no_verdict() -> None:
    found = starved()
    assert found.change is not None
    assert (found.change.kind, found.change.doubt, found.change.sure_ratio) == ("inconclusive", "cores", None)
    answer = rows.answer(found)
    assert answer.startswith("Inconclusive: the median step changed by a factor of 6, but cores were lacking: ")
    assert "34 % of the time before and 68 % of the time after" in answer
    assert "on a machine that does nothing else" in answer
    (row,) = found.rules
    assert (row.state, row.outcome) == ("fixed", None)
    assert rows.rules(found)[0][-1] == "undecided"


@pytest.mark.parametrize(
    ("ms", "unprofiled", "lacking", "told"),
    [
        ((100, 9), (80, 8), (0.4, 0.5), "faster it probably is, as steps without the profiler changed by -90.0 %"),
        (
            (9, 100),
            (8, 80),
            (0.5, 0.4),
            "slower it probably is, as steps without the profiler changed by a factor of 10",
        ),
        ((100, 9), (80, 8), (0.7, 0.3), ""),  # others had the cores while the slower side was recorded
        ((100, 9), (8, 80), (0.4, 0.5), ""),
        ((100, 60), (80, 48), (0.4, 0.5), ""),
        ((100, 9), (None, None), (0.4, 0.5), ""),
    ],
)
def test_of_a_change_of_many_times_the_direction_is_told(
    ms: tuple[int, int], unprofiled: tuple[int | None, int | None], lacking: tuple[float, float], told: str
) -> None:
    sides = [
        beside(step * MS, core_wait_ratio=lacked, unprofiled_step_ns=other and other * MS)
        for step, other, lacked in zip(ms, unprofiled, lacking, strict=True)
    ]
    found = compare([sides[0]], [sides[1]])
    assert found.change is not None
    assert (found.change.kind, found.change.doubt) == ("inconclusive", "cores")
    answer = rows.answer(found)
    assert told in answer
    assert ("it probably is" in answer) == bool(told)


@pytest.mark.parametrize(("before", "after"), [(None, None), (0.0, 0.0), (0.04, 0.0), (0.15, 0.16), (0.0, 0.2)])
def test_cores_that_lacked_little_or_alike_or_where_it_was_faster_all_the_same_keep_the_verdict(
    before: float | None, after: float | None
) -> None:
    assert change(lacked(before), lacked(after)) == ("faster", None)


@pytest.mark.parametrize(
    ("before", "after", "ms"),
    [
        # All of the gain, and all of the loss, may be what others took.
        (0.24, 0.0, (100, 78)),
        (0.0, 0.24, (100, 125)),
        # A step that takes as long, of which a part was waiting.
        (0.2, 0.0, (100, 100)),
        # So much on both sides that nothing can be believed.
        (0.3, 0.3, (100, 60)),
        (0.0, 0.26, (100, 60)),
    ],
)
def test_cores_that_lacked_on_one_side_or_for_long_forbid_it(before: float, after: float, ms: tuple[int, int]) -> None:
    assert change(lacked(before), lacked(after), ms=ms) == ("inconclusive", "cores")


def test_a_gain_beyond_what_the_lack_explains_stays() -> None:
    assert change(lacked(0.2), lacked(0.0), ms=(100, 30)) == ("faster", None)


def test_fewer_workers_can_be_shown_to_help_by_many_runs() -> None:
    # The loader's own workers have the cores: one run a side cannot tell them from others' work, five in turns can.
    before, after = lacked(0.4, crowds_itself=True), lacked(0.02, crowds_itself=True)
    assert change(before, after, ms=(100, 70)) == ("inconclusive", "cores")
    assert change(before, after, ms=(100, 70), runs=5) == ("faster", None)
    # More than all the waiting is beyond doubt in one run.
    assert change(before, after, ms=(100, 30)) == ("faster", None)
    # Without workers, and in one process, it was others' work in all five.
    assert change(lacked(0.4), lacked(0.02), ms=(100, 70), runs=5) == ("inconclusive", "cores")


@pytest.mark.parametrize(
    ("before", "after", "ms", "kind"),
    [
        (1.0, 1.4, (100, 125), "slower"),
        (1.0, 1.7, (100, 125), "inconclusive"),
        (2.0, 1.0, (100, 60), "inconclusive"),
        (2.0, 1.0, (100, 20), "faster"),
        (3.0, 3.1, (100, 60), "faster"),
        (None, 3.1, (100, 60), "faster"),
    ],
)
def test_a_machine_that_ran_at_another_pace(
    before: float | None, after: float | None, ms: tuple[int, int], kind: str
) -> None:
    found = change({"python_slowness": before}, {"python_slowness": after}, ms=ms)
    assert found == (kind, "cores" if kind == "inconclusive" else None)


@pytest.mark.parametrize(
    ("ms", "unprofiled", "kind"),
    [
        ((100, 60), (80, 48), "faster"),
        # The profiler costs more on one side; both tell of the same change.
        ((200, 20), (100, 18), "faster"),
        ((100, 60), (None, 200), "faster"),
        ((100, 100), (80, 75), "unchanged"),
        # The other direction, none at all, a fraction, and one that the profiler hides.
        ((100, 60), (50, 70), "inconclusive"),
        ((100, 150), (50, 30), "inconclusive"),
        ((100, 60), (50, 50), "inconclusive"),
        ((100, 300), (50, 60), "inconclusive"),
        ((100, 100), (80, 50), "inconclusive"),
    ],
)
def test_steps_without_the_profiler_have_a_say(
    ms: tuple[int, int], unprofiled: tuple[int | None, int | None], kind: str
) -> None:
    before, after = ({"unprofiled_step_ns": None if one is None else one * MS} for one in unprofiled)
    assert change(before, after, ms=ms) == (kind, "profiler" if kind == "inconclusive" else None)


@pytest.mark.parametrize(
    ("locked", "ms", "answer"),
    [
        ((False, True), (100, 140), ("inconclusive", "clock")), ((True, False), (100, 60), ("inconclusive", "clock")),
        ((True, True), (100, 140), ("slower", None)), ((False, False), (100, 140), ("slower", None)),
    ],
)  # fmt: skip
def test_a_clock_that_recording_locked_on_one_side_is_another_clock(
    locked: tuple[bool, bool], ms: tuple[int, int], answer: tuple[str, str | None]
) -> None:
    first, second = ({"locked_clock": one} for one in locked)
    assert change(first, second, ms=ms) == answer
    # Where both clocks are known they decide.
    known = {"clock_mhz": 1_500}
    assert change(first | known, second | known, ms=ms) == ("slower" if ms[1] > ms[0] else "faster", None)


@pytest.mark.parametrize(
    ("clocks", "ms", "answer"),
    [
        # A fifth faster at a fifth higher clock: the clock may have done it.
        ((1_500, 1_800), (100, 83), ("inconclusive", "clock")),
        # Equal steps at a higher clock may hide a slower program.
        ((1_500, 1_800), (100, 100), ("inconclusive", "clock")),
        ((1_500, 1_800), (100, 40), ("faster", None)),
        ((1_800, 1_500), (100, 40), ("faster", None)),
        ((1_500, 1_512), (100, 83), ("faster", None)),
        ((1_500, None), (100, 83), ("faster", None)),
    ],
)
def test_another_clock_forbids_what_it_may_have_made(
    clocks: tuple[float | None, float | None], ms: tuple[int, int], answer: tuple[str, str | None]
) -> None:
    first, second = ({"clock_mhz": clock} for clock in clocks)
    assert change(first, second, ms=ms) == answer


def test_the_reason_names_both_figures() -> None:
    found = compare(
        [beside(100 * MS, findings=(finding("PY001", 30 * MS),), unprofiled_step_ns=50 * MS)],
        [beside(60 * MS, unprofiled_step_ns=70 * MS)],
    )
    assert "changed by -40.0 %, but without the profiler by +40.0 % (50 ms before, 70 ms after)" in rows.answer(found)


def test_without_a_core_a_step_that_nobody_can_judge_is_told_of_cores_not_of_more_steps() -> None:
    found = compare([beside(count=5, core_wait_ratio=0.5)], [beside(11 * MS, count=5, core_wait_ratio=0.5)]).change
    assert found is not None
    assert (found.doubt, found.needed_steps, found.needed_runs) == ("cores", None, 5)


def recorded(top: dict[str, object], *, workers: bool = False) -> Comparison:
    """The same run twice, through the reader."""
    builder = TraceBuilder(None, top={"advisor": top})
    for number in range(4):
        builder.step(number, number * 1_000, 1_000).op("aten::mm", number * 1_000 + 10, 900)
        if workers:
            builder.loader(number * 1_000, 5, workers=2)
    facts = Facts(builder.trace())
    one = snapshot(assemble(facts, grade(facts), (), ()), facts)
    return compare([one], [one])


def test_what_the_collector_wrote_is_read(tmp_path: Path) -> None:
    assert recorded({"core_wait_ratio": 0.1}).change is not None
    found = recorded({"core_wait_ratio": 0.5, "unprofiled_step_ns": 900_000}).change
    assert found is not None
    assert found.doubt == "cores"
    assert "(other programs had them)" in found.text
    for own in (
        recorded({"core_wait_ratio": 0.5, "loader": {"num_workers": 2}}),
        recorded({"core_wait_ratio": 0.5, "usable_cores": 2, "threads": {"intra_op": 8}}),
        recorded({"core_wait_ratio": 0.5}, workers=True),
    ):
        assert own.change is not None
        assert "other programs had them)" not in own.change.text or "its own" in own.change.text
