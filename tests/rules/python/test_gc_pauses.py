"""PY004: the garbage collector stops one step of six for 30 ms."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.idle.isolated_gaps import RULE as GAPS
from rules.python.gc_pauses import RULE
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run

STEP = 100_000


def world(
    *, pause: float = 30_000, recorded: bool = True, slow: tuple[int, ...] = (3,), steps: int = 6
) -> TraceBuilder:
    """Steps of 100 ms on the CPU, those in `slow` with a pause in the middle."""
    builder = TraceBuilder(None)
    for number in range(steps):
        at = number * STEP
        builder.step(number, at, STEP)
        long = pause if number in slow else 0
        builder.op("aten::linear", at, 50_000)
        if long and recorded:
            builder.python("Python GC", at + 50_000, long)
        builder.op("aten::linear", at + 50_000 + long, 50_000 - long)
    return builder


def test_fires_with_the_recorded_pause() -> None:
    found = judged(RULE, world())
    assert found.finding.saving.claims.total_ns == 30_000_000
    assert found.ratio == pytest.approx(0.05)
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.HIGH)
    assert found.finding.why.startswith(
        "Python's garbage collector stops the program in 1 of 6 steps: 30 ms in all (5.0 %"
    )


@pytest.mark.parametrize(("compiles", "fires"), [(True, False), (False, True)])
def test_what_is_collected_while_a_compiler_works_goes_with_it(compiles: bool, fires: bool) -> None:
    builder = world()
    if compiles:
        builder.annotation("_compile.compile_inner (dynamo_timed)", 3 * STEP + 50_000, 30_000)
    assert bool(run(RULE, builder).findings) is fires


def in_a_run(*step_ms: float, slow: tuple[int, ...] = (3,)) -> TraceBuilder:
    """The same world, recorded in a run of which 200 steps without the profiler took one of `step_ms` each, in equal parts."""
    builder = world(pause=48_000, slow=slow)
    each = 200 // len(step_ms)
    times = [[each, round(each * one * 1_000_000)] for one in step_ms]
    builder.top["advisor"] = {"run": {"steps": each * len(step_ms), "times": times}}
    return builder


def test_a_run_without_room_for_the_pauses_says_they_come_less_often() -> None:
    found = judged(RULE, in_a_run(5))
    assert (found.severity, found.confidence) == (Severity.INFO, Confidence.LOW)
    assert "8.0 ms of each recorded step, more than a whole step takes in the run" in found.finding.caveats[0]
    assert found.usual_ns_per_step == pytest.approx(0.045 * 5_000_000, rel=1e-3)


def test_steps_of_one_length_have_no_room_for_a_pause_in_few_of_them() -> None:
    found = judged(RULE, in_a_run(80))
    assert found.confidence is Confidence.LOW
    assert "200 steps exceed usual ones by 3.6 ms at most in the mean" in found.finding.caveats[0]
    assert found.usual_ns_per_step == pytest.approx(3_600_000, rel=1e-3)
    assert found.finding.saving.claims.total_ns == 48_000_000
    # In most of the recorded steps, a pause is a part of a usual one.
    assert judged(RULE, in_a_run(80, slow=(1, 2, 3, 4))).finding.saving.usual_claims is None


def test_a_run_with_room_for_them_says_only_that_it_was_seen_once() -> None:
    found = judged(RULE, in_a_run(80, 80, 80, 80, 80, 128))
    assert found.confidence is Confidence.HIGH
    assert found.finding.caveats == ("Seen in one step: how often it comes the recording cannot tell.",)
    assert not judged(RULE, world(slow=(2, 3))).finding.caveats


@pytest.mark.parametrize(
    ("full", "of_each_ms", "told"),
    [
        (
            1,
            48 / 198,
            "the run's 198 steps without the profiler held 1 pass over all objects: there they come less often",
        ),
        (0, 0.0, "the run's 198 steps without the profiler held no pass over all objects: there they come less often"),
        (40, None, None),
    ],
)
def test_passes_counted_in_the_run_tell_how_often_they_come(
    full: int, of_each_ms: float | None, told: str | None
) -> None:
    builder = in_a_run(80, 80, 80, 80, 80, 128)
    builder.top["advisor"]["collections"] = {"full": 1, "asked": 0}
    builder.top["advisor"]["run"]["collections"] = {"middle": 7, "full": full}
    found = judged(RULE, builder)
    assert (found.severity is Severity.INFO) == (told is not None)
    assert told is None or told in found.finding.caveats[0]
    if of_each_ms is None:
        # As often as in the recorded steps: nothing is left to say.
        assert (found.finding.saving.usual_claims, found.finding.caveats) == (None, ())
    else:
        assert found.usual_ns_per_step == pytest.approx(of_each_ms * 1_000_000, abs=1)


@pytest.mark.parametrize("recorded", [0, 2])
def test_middle_passes_are_as_long_as_recorded_ones_that_are_none_over_all_objects(recorded: int) -> None:
    builder = in_a_run(80, 80, 80, 80, 80, 128, slow=(1, 3))
    builder.top["advisor"]["collections"] = {"full": recorded, "asked": 0}
    builder.top["advisor"]["run"]["collections"] = {"middle": 10, "full": 0}
    usual = judged(RULE, builder).usual_ns_per_step
    assert usual == pytest.approx(0 if recorded else 48_000_000 * 10 / 198, abs=1)


@pytest.mark.parametrize("told", [None, {"middle": 1}, {"middle": -1, "full": 0}, {"middle": True, "full": 0}, [1, 2]])
def test_a_count_of_another_shape_is_none(told: object) -> None:
    builder = in_a_run(80, 80, 80, 80, 80, 128)
    builder.top["advisor"]["run"]["collections"] = told
    assert judged(RULE, builder).finding.caveats == ("Seen in one step: how often it comes the recording cannot tell.",)


def test_silence_is_only_a_possible_pause() -> None:
    found = judged(RULE, world(recorded=False, pause=40_000))
    assert (found.severity, found.confidence) == (Severity.LOW, Confidence.LOW)
    assert found.finding.title == "Possible garbage collector pauses"
    assert "record_python_gc_info" in (found.finding.fix[0].note or "")


def test_its_time_is_not_claimed_by_other_rules() -> None:
    builder = world(pause=49_000, slow=(2, 3))
    assert run(RULE, builder).state is State.FIRED
    assert run(PYTHON, builder).state is State.CLEAR
    assert run(GAPS, builder).state is State.CLEAR


def test_what_happens_in_every_step_is_no_collection() -> None:
    assert run(RULE, world(recorded=False, slow=(0, 1, 2, 3, 4, 5))).state is State.CLEAR


def stalling(*, stalls: tuple[int, ...], by: float = 15_000, function: str = "aten::relu") -> TraceBuilder:
    """Six steps of 100 ms, one with a silence of 20 ms; in `stalls` an op of 1 ms takes longer."""
    builder = TraceBuilder(None)
    for number in range(6):
        at = number * STEP
        builder.step(number, at, STEP)
        silence, stall = 20_000 if number == 3 else 0, by if number in stalls else 0
        builder.op(function, at, 1_000 + stall)
        builder.op("aten::linear", at + 1_000 + stall, 40_000)
        rest = at + 41_000 + stall + silence
        builder.op("aten::linear", rest, at + STEP - rest)
    return builder


def test_silence_on_a_machine_on_which_ops_stand_still_is_no_pause() -> None:
    result = run(RULE, stalling(stalls=(1,)))
    assert result.state is State.CANNOT_TELL
    assert "1 op took 15 ms longer than in other steps, and no collection runs inside one" in result.reason
    assert run(RULE, stalling(stalls=())).state is State.FIRED


def test_what_an_op_does_in_most_steps_and_a_little_more_is_no_stall() -> None:
    assert run(RULE, stalling(stalls=(0, 1, 2, 3, 4))).state is State.FIRED
    assert run(RULE, stalling(stalls=(1,), by=1_500)).state is State.FIRED


def test_slices_of_another_program_shorter_than_a_pause_say_the_core_was_shared() -> None:
    """Linux leaves a core to others for about 3 ms at a time: an op that stands still for 9 ms once is such a sign."""
    result = run(RULE, stalling(stalls=(1,), by=9_000))
    assert result.state is State.CANNOT_TELL
    assert "by 2 ms or more each" in result.reason


def test_a_function_of_the_users_own_holds_python() -> None:
    assert run(RULE, stalling(stalls=(1,), function="MyFunction")).state is State.FIRED


@pytest.mark.parametrize(("pause", "state"), [(11_900, State.CLEAR), (12_100, State.FIRED)])
def test_boundary(pause: float, state: State) -> None:
    assert run(RULE, world(pause=pause)).state is state


def test_one_pause_of_half_a_step_is_enough() -> None:
    assert run(RULE, world(pause=30_000), limits={"min_ratio": 0.5, "min_step_ratio": 0.29}).state is State.FIRED
    assert run(RULE, world(pause=30_000), limits={"min_ratio": 0.5, "min_step_ratio": 0.31}).state is State.CLEAR


def test_device_traces_without_host_ops_cannot_tell() -> None:
    builder = TraceBuilder()
    builder.kernel("k", 0, 100).kernel("k", 200, 100)
    assert run(RULE, builder).state is State.CANNOT_TELL


LINE = {"file": "train.py", "line": 12, "function": "train"}


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({"full": 6, "asked": 6, "line": LINE}, True),
        ({"full": 6, "asked": 2, "line": LINE}, False),
        ({"full": 6, "asked": 6, "line": {"file": 3}}, True),
        ({"full": "6", "asked": None}, False),
        (None, False),
    ],
)
def test_passes_that_the_program_asks_for_are_left_out_and_not_switched_off(told: object, asked: bool) -> None:
    """`gc.disable()` stops none of them."""
    builder = world(slow=tuple(range(6)))
    builder.top["advisor"] = {"collections": told}
    found = judged(RULE, builder).finding
    assert ("`gc.collect` asks for 6 of 6 passes" in found.why) is asked
    assert ("-    gc.collect()" in found.fix[0].code) is asked
    assert any("gc.disable()" in advice.code for advice in found.fix) is not asked
    named = asked and isinstance(told, dict) and told["line"] == LINE
    assert (found.location is not None and (found.location.file, found.location.line) == ("train.py", 12)) is named


@pytest.mark.parametrize(
    ("asked", "slow", "sure"),
    [(6, tuple(range(6)), True), (0, tuple(range(6)), False), (1, (3,), False)],
)
def test_what_is_asked_for_in_most_steps_is_in_those_without_the_profiler_too(
    asked: int, slow: tuple[int, ...], *, sure: bool
) -> None:
    """A run whose steps are a little shorter by what they took of a core than the pauses are."""
    builder = in_a_run(45.0, slow=slow)
    builder.top["advisor"]["collections"] = {"full": max(asked, 1), "asked": asked}
    found = judged(RULE, builder)
    assert (found.confidence is Confidence.HIGH) is sure
    assert any("they come less often" in caveat for caveat in found.finding.caveats) is not sure
