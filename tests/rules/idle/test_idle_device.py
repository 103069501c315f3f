"""ID002: the header over the other findings: how long the device idles and what the host does meanwhile."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.idle.idle_device import RULE
from running.one_rule import judged, run

STEP = 100_000


def world(*, idle: float = 40_000, collective: bool = False, device: str | None = "cuda") -> TraceBuilder:
    """Steps of 100 ms: `idle` us inside the loader, then one kernel."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP).loader(at, idle)
        if device is None:
            builder.op("aten::linear", at + idle, STEP - idle)
            continue
        name = "ncclDevKernel_AllReduce_Sum_f32" if collective else "gemm"
        builder.launch(at + idle - 5, kernel_start=at + idle, kernel_dur=STEP - idle, name=name)
    return builder


def test_fires_as_information_without_a_saving_of_its_own() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert found.finding.why == (
        "The GPU idles much of the step: 40 ms of 100 ms (40 %). For the largest part (40 %) the host waits for the data loader."
    )
    assert "DL001" in found.finding.fix[0].code
    # Which may have found nothing.
    assert "what was checked" in found.finding.fix[0].code


@pytest.mark.parametrize(("idle", "words"), [(20_000, "part of"), (35_000, "much of"), (60_000, "most of")])
def test_the_share_decides_the_words(idle: float, words: str) -> None:
    assert f"idles {words} the step" in judged(RULE, world(idle=idle)).finding.why


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        (True, "launched work waits between the nodes of a graph"),
        (False, "launched work waits for something that the trace"),
    ],
)
def test_launched_work_that_waits_is_told_by_what_for(graph: bool, words: str) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        call = builder.runtime("cudaGraphLaunch" if graph else "cudaLaunchKernel", at, 5)
        builder.kernel("gemm", at + 8, 40_000, correlation=call)
        if not graph:
            call = builder.runtime("cudaLaunchKernel", at + 6, 5)
        builder.kernel("gemm", at + 70_000, 30_000, correlation=call)
    assert words in judged(RULE, builder).finding.why


@pytest.mark.parametrize("alone", [False, True])
def test_devices_in_turn_are_a_cause_that_no_other_rule_is_about(alone: bool) -> None:
    """The first device's second kernel is launched at once and starts behind what the other one does, where there is one."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 10, kernel_dur=29_990)
        if not alone:
            builder.launch(at + 10, kernel_start=at + 30_000, kernel_dur=40_000, device=1)
        builder.launch(at + 20, kernel_start=at + 70_000, kernel_dur=30_000)
    found = judged(RULE, builder)
    assert (found.finding.title == "GPUs work in turn", "pipeline" in found.finding.fix[0].code) == (
        not alone,
        not alone,
    )
    assert (found.severity is Severity.INFO, found.ns_per_step) == ((True, 0) if alone else (False, 40_000_000))


def test_a_device_that_waits_for_one_with_more_to_do_does_not_take_turns() -> None:
    """Both begin at once, the other one ends later, and this one goes on with what both have made."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 10, kernel_dur=19_990)
        builder.launch(at + 10, kernel_start=at + 20, kernel_dur=79_000, device=1)
        builder.launch(at + 20, kernel_start=at + 80_000, kernel_dur=20_000)
    found = judged(RULE, builder)
    assert (found.severity, found.finding.title, found.ns_per_step) == (Severity.INFO, None, 0)
    assert "which has more to do at the same time" in found.finding.why
    verdict = explain_facts(Facts(builder.trace()), rules=(RULE,)).analysis.summary.verdict.text
    assert "its turn" not in verdict
    assert "another device of the process, which has more to do" in verdict


def turns_while_starting(*, loads: float) -> TraceBuilder:
    """Four steps of 100 ms whose device waits 15 ms for another one; the first loads a module, then takes memory."""
    builder = TraceBuilder()
    for number in range(4):
        begin, at = number * STEP, number * STEP + 2 * loads * (number == 0)
        builder.step(number, begin, STEP)
        if number == 0:
            builder.op("aten::empty", begin, loads)
            builder.runtime("cuModuleLoadData", begin + 10, loads - 20)
            builder.runtime("cudaMalloc", begin + loads + 10, loads - 20)
        builder.launch(at, kernel_start=at + 10, kernel_dur=14_990)
        builder.launch(at + 10, kernel_start=at + 15_000, kernel_dur=15_000, device=1)
        builder.launch(at + 20, kernel_start=at + 30_000, kernel_dur=begin + STEP - at - 30_000)
    return builder


@pytest.mark.parametrize(("loads", "title"), [(33_000, None), (10_000, "GPUs work in turn")])
def test_title_advice_and_sentence_speak_of_the_same(loads: float, title: str | None) -> None:
    """Start-up is most of the idle time or is not; waits for the other device own more of it than any one cause."""
    found = judged(RULE, turns_while_starting(loads=loads)).finding
    assert (found.title, "work in turn" in found.why, "starts up" in found.why) == (title, bool(title), not title)
    assert ("PG002" in found.fix[0].code) == (not title)


def starting(*, each: bool) -> TraceBuilder:
    """Four steps of 100 ms whose first, or each, loads a module for 80 ms inside an op, before a kernel of 10 ms."""
    builder = TraceBuilder()
    for number in range(4):
        at, long = number * STEP, each or number == 0
        builder.step(number, at, STEP)
        builder.op("aten::empty", at, 80_000)
        if long:
            builder.runtime("cuModuleLoadData", at + 10, 79_000)
        builder.launch(at + 80_000, kernel_start=at + (80_010 if long else 10), kernel_dur=10_000 if long else 90_000)
    return builder


def test_start_up_that_is_most_of_it_is_no_dispatch() -> None:
    found = judged(RULE, starting(each=False)).finding
    assert "For the largest part (20 %) the program starts up" in found.why
    assert "PG002" in found.fix[0].code


def test_what_each_step_repeats_is_no_start_up() -> None:
    found = judged(RULE, starting(each=True)).finding
    assert "starts up" not in found.why
    assert "the host is at work inside `aten::empty`" in found.why


def test_collectives_count_as_busy() -> None:
    assert run(RULE, world(idle=1_000, collective=True)).state is State.CLEAR


@pytest.mark.parametrize(("idle", "state"), [(14_900, State.CLEAR), (15_100, State.FIRED)])
def test_boundary(idle: float, state: State) -> None:
    assert run(RULE, world(idle=idle)).state is state


def test_without_a_device_the_question_does_not_arise() -> None:
    assert run(RULE, world(device=None)).state is State.NOT_APPLICABLE


def test_does_not_name_host_code_where_no_op_was_recorded() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 100_000)
    builder.launch(200_000, kernel_start=10_000, kernel_dur=1_000)
    why = run(RULE, builder).findings[0].why
    assert why.endswith("the trace holds no op.")


@pytest.mark.parametrize(
    ("ops", "name", "code"),
    [
        (("aten::_foreach_mul_", "aten::_foreach_add_", "aten::_foreach_sqrt"), "Adam", "OP002"),
        ((), "DeepSpeedCPUAdam", "OP005"),
    ],
)
def test_an_update_on_the_host_is_sent_to_the_rule_that_speaks_of_its_kind(
    ops: tuple[str, ...], name: str, code: str
) -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.launch(at, kernel_start=at + 10, kernel_dur=50_000, name="gemm")
        builder.optimizer(at + 50_100, 49_000, name)
        for index, op in enumerate(ops):
            builder.op(op, at + 50_200 + index * 16_000, 15_900)
            builder.launch(
                at + 66_000 + index * 16_000, kernel_start=at + 66_010 + index * 16_000, kernel_dur=5, op=None
            )
    assert code in judged(RULE, builder).finding.fix[0].code
