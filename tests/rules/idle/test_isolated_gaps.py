"""ID003: one step of six stops for 80 ms to write a checkpoint."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import AUTOGRAD, TraceBuilder
from rules.idle.isolated_gaps import RULE
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run

STEP = 100_000


def world(
    *,
    gap: float = 80_000,
    slow: tuple[int, ...] = (2,),
    steps: int = 6,
    device: str | None = "cuda",
    loader: bool = False,
    lacked: float | None = None,
) -> TraceBuilder:
    """Steps of 100 ms, those in `slow` longer by `gap` us in which only Python runs; without a core for the share `lacked`."""
    builder = TraceBuilder(device, advisor={"core_wait_ratio": lacked} if lacked is not None else None)
    at = 0.0
    for number in range(steps):
        long = gap if number in slow else 0
        builder.step(number, at, STEP + long)
        if long and loader:
            builder.loader(at, long)
        if device is None:
            builder.op("aten::linear", at + long, STEP)
        else:
            builder.launch(at + long, kernel_start=at + long + 5, kernel_dur=STEP - 5)
        at += STEP + long
    return builder


def test_fires_with_the_gap() -> None:
    found = judged(RULE, world())
    # And the 5 us of the launch that ends it.
    assert found.finding.saving.claims.total_ns == 80_005_000
    assert found.ratio == pytest.approx(80 / 680, abs=1e-4)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.LOW)
    assert "In 1 of 6 steps the program stops: the GPU idles for 80 ms" in found.finding.why


def test_names_what_stacks_show() -> None:
    builder = world()
    builder.python("train.py(40): main", 0, 6 * STEP + 80_000)
    builder.python("torch/serialization.py(900): save", 2 * STEP + 100, 79_000)
    found = judged(RULE, builder)
    assert "stops for saving in `main` (train.py, from line 40)" in found.finding.why
    assert found.confidence is Confidence.HIGH
    seldom, beside = found.finding.fix[:2]
    assert "every N steps" in seldom.note.replace("Save less often: ", "")
    assert "async_save" in beside.code
    assert "steps after it" in beside.note
    assert "slower" in beside.note


@pytest.mark.parametrize(
    ("called", "named"), [(500, "write_report"), (None, "main")], ids=["called late", "not at all"]
)
def test_the_line_is_of_what_holds_the_gap_and_not_of_where_it_begins(called: float | None, named: str) -> None:
    """The last op has ended half a millisecond before the function that stops is called."""
    builder = world(device=None)
    builder.python("train.py(40): main", 0, 6 * STEP + 80_000)
    if called is not None:
        builder.python("report.py(7): write_report", 2 * STEP + called, 79_000)
    assert f"the program stops in `{named}` " in judged(RULE, builder).finding.why


def test_fires_on_the_cpu() -> None:
    assert judged(RULE, world(device=None)).finding.saving.claims.total_ns == 80_000_000


def test_what_happens_in_every_step_is_not_isolated() -> None:
    builder = world(slow=(0, 1, 2, 3, 4, 5))
    assert run(RULE, builder).state is State.CLEAR
    assert run(PYTHON, builder).state is State.FIRED


def test_the_same_gap_is_not_claimed_by_py001_or_for_the_loader() -> None:
    assert run(PYTHON, world()).state is State.CLEAR
    assert run(RULE, world(loader=True)).state is State.CLEAR


@pytest.mark.parametrize(("gap", "state"), [(49_000, State.CLEAR), (51_000, State.FIRED)])
def test_boundary_of_a_long_gap(gap: float, state: State) -> None:
    assert run(RULE, world(gap=gap)).state is state


@pytest.mark.parametrize(("limit", "state"), [(0.12, State.CLEAR), (0.11, State.FIRED)])
def test_boundary_of_the_share(limit: float, state: State) -> None:
    assert run(RULE, world(), limits={"min_ratio": limit}).state is state


def test_two_steps_cannot_tell_once_from_always() -> None:
    assert run(RULE, world(steps=2, slow=(1,))).state is State.CANNOT_TELL


def test_cannot_tell_where_the_training_threads_ops_are_missing() -> None:
    builder = TraceBuilder(None)
    for number in range(6):
        at = number * 10_000 + (200_000 if number > 3 else 0)
        dur = 210_000 if number == 3 else 10_000
        builder.step(number, at, dur).optimizer(at + 9_000, 500)
        builder.op("aten::add_", at + 9_000, 400)
    assert run(RULE, builder).state is State.CANNOT_TELL


@pytest.mark.parametrize(("lacked", "state"), [(0.06, State.FIRED), (0.08, State.CANNOT_TELL)])
def test_cannot_tell_where_the_thread_had_no_core_for_as_long(lacked: float, state: State) -> None:
    # 80 of 680 ms are 11.8 %; what is left of them without a core has to be 5 % still.
    result = run(RULE, world(lacked=lacked))
    assert result.state is state
    assert ("quiet machine" in result.reason) is (state is State.CANNOT_TELL)


def test_a_busy_machine_does_not_hide_what_stacks_name() -> None:
    builder = world(lacked=0.5)
    builder.python("train.py(40): main", 0, 6 * STEP + 80_000)
    builder.python("torch/serialization.py(900): save", 2 * STEP + 100, 79_000)
    assert "stops for saving" in judged(RULE, builder).finding.why


@pytest.mark.parametrize(("steps", "told"), [((2,), True), ((0, 1, 2, 3, 4, 5), False), ((), False)])
def test_a_state_copied_out_before_the_pause_alone_tells_of_a_checkpoint(steps: tuple[int, ...], told: bool) -> None:
    builder, at = world(gap=200_000), 0.0
    for number in range(6):
        if number in steps:
            for index in range(10):
                start = at + 2_000 + index * 1_000
                builder.copy("DtoH", start, 900, start=start + 10, dur=880, size=16 << 20, stream=20)
        at += STEP + (200_000 if number == 2 else 0)
    found = judged(RULE, builder)
    assert ("160 MiB are copied to the host" in found.finding.why) is told
    assert any("async_save" in fix.code for fix in found.finding.fix) is told
    assert found.confidence is (Confidence.MEDIUM if told else Confidence.LOW)


@pytest.mark.parametrize(("detached", "told"), [(6, True), (5, False)])
def test_a_state_taken_directly_before_the_pause_tells_of_a_checkpoint(detached: int, told: bool) -> None:
    """Six tensors receive a gradient in each step; in front of the pause so many are detached."""
    builder = world(device=None)
    for number in range(6):
        at = number * STEP + (80_000 if number > 2 else 0)
        for index in range(6):
            builder.op("torch::autograd::AccumulateGrad", at + STEP - 700 + index * 100, 90, AUTOGRAD)
    for index in range(detached):
        builder.op("aten::detach", 2 * STEP + index * 10, 5)
    found = judged(RULE, builder)
    assert ("as `state_dict()` does for a checkpoint" in found.finding.why) is told
    assert any("save(model, step)" in fix.code for fix in found.finding.fix) is told
    assert found.confidence is (Confidence.MEDIUM if told else Confidence.LOW)


def test_where_no_line_is_the_users_the_librarys_function_is_named_and_asked_about() -> None:
    builder = world()
    # The third step, of which 80 ms are the pause.
    builder.python("somelib/connector.py(90): wait_for_layer_load", 2 * STEP, 79_000)
    builder.python("threading.py(604): wait", 2 * STEP + 10, 78_900)
    found = judged(RULE, builder).finding
    assert "inside `wait`, called by `wait_for_layer_load`: the GPU idles" in found.why
    assert "`wait` called by `wait_for_layer_load`" in found.fix[-1].code
    assert not any("with_stack" in fix.note for fix in found.fix)
    assert any("with_stack" in fix.note for fix in judged(RULE, world()).finding.fix)


def test_equal_pauses_for_one_thing_are_known_together() -> None:
    """None of four evaluations is most of the time that all four take."""
    builder = world(slow=(1, 3, 5, 7), steps=10)
    gaps = [event["ts"] for event in builder.events if event["name"].startswith("ProfilerStep#")]
    for number in (1, 3, 5, 7):
        builder.annotation("validate", gaps[number] + 100, 79_000)
    found = judged(RULE, builder)
    assert "In 4 of 10 steps the program stops for evaluation" in found.finding.why
    assert found.confidence is Confidence.HIGH


def test_one_of_four_pauses_that_is_known_says_nothing_of_the_others() -> None:
    builder = world(slow=(1, 3, 5, 7), steps=10)
    builder.annotation("validate", STEP + 100, 79_000)
    assert judged(RULE, builder).confidence is Confidence.LOW


@pytest.mark.parametrize(("slow", "once"), [((1,), True), ((1, 2), True), ((5,), False), ((1, 7), False)])
def test_what_stops_in_the_first_steps_alone_may_be_built_once(slow: tuple[int, ...], once: bool) -> None:
    found = judged(RULE, world(slow=slow, steps=12, gap=900_000))
    assert found.severity is (Severity.LOW if once else Severity.HIGH)
    assert ("builds once" in found.finding.why) is once
    assert ("schedule" in found.finding.fix[0].code) is once


def test_what_is_named_is_no_start() -> None:
    builder = world(slow=(1,), steps=9, gap=900_000)
    builder.python("train.py(40): main", 0, 9 * STEP + 900_000)
    builder.python("torch/serialization.py(900): save", STEP + 100, 899_000)
    assert "builds once" not in judged(RULE, builder).finding.why


def test_a_program_that_ran_for_a_while_builds_nothing_first() -> None:
    builder = world(slow=(1,), steps=9, gap=900_000)
    for event in builder.events:
        if event["name"].startswith("ProfilerStep#"):
            event["name"] = f"ProfilerStep#{int(event['name'].partition('#')[2]) + 100}"
    assert "builds once" not in judged(RULE, builder).finding.why
