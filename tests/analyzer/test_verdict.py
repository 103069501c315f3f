"""The verdict sentence: every kind of run gets one, healthy ones included."""

from __future__ import annotations

import pytest

from analyzer.assemble.verdict import evidence as evidence_of
from analyzer.cause_names import CAUSES
from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.spans.intervals import IntervalSet
from analyzer.verdict import Evidence, judgement_of, verdict
from analyzer.verdict.looped import Looped
from building.builders import TraceBuilder
from building.clocked import Clocked
from known.sayings import explained
from programs.passes import sample_by_sample
from rules import RULES
from traces.trace import Trace


@pytest.mark.parametrize(
    ("parts", "bound"),
    [
        ({"compute": 90, "input": 10}, "compute"),
        ({"compute": 70, "input": 30}, "compute"),
        ({"compute": 55, "input": 15, "python": 15, "sync": 15}, "compute"),
        ({"compute": 60, "input": 40}, "input"),
        ({"compute": 60, "sync": 40}, "sync"),
        ({"compute": 60, "python": 40}, "python"),
        ({"compute": 30, "communication": 70}, "communication"),
        ({"compute": 60, "copy": 20, "transfer_call": 20}, "copy"),
        ({"compute": 60, "allocator": 40}, "allocator"),
        ({"compute": 60, "compile": 40}, "compile"),
        ({"compute": 20, "launch": 20, "framework": 40, "optimizer": 20}, "launch"),
        ({"compute": 40, "unexplained": 60}, "unknown"),
        ({"compute": 40, "input": 20, "sync": 20, "python": 20}, "mixed"),
        ({"compute": 45, "input": 19, "sync": 18, "python": 18}, "mixed"),
    ],
)
def test_bound_by(parts: dict[str, int], bound: str) -> None:
    found = verdict(parts, has_device=True)
    assert found.bound_by == bound
    assert 0 < found.ratio <= 1


def test_the_share_is_that_of_the_whole_group() -> None:
    found = verdict({"compute": 20, "launch": 20, "framework": 40, "optimizer": 20}, has_device=True, lead_ns=3_000)
    assert found.ratio == pytest.approx(0.8)
    assert found.text == "Launch-bound: for 80 % of the step the device idles while the host dispatches its next work."


def test_compute_bound_is_an_answer() -> None:
    assert verdict({"compute": 90, "input": 10}, has_device=True).text == (
        "Compute-bound: the model itself is 90 % of the step."
    )


def test_a_filled_queue_is_not_launch_bound() -> None:
    parts = {"compute": 50, "framework": 30, "input": 20}
    assert verdict(parts, has_device=True, lead_ns=3_000).bound_by == "launch"
    queued = verdict(parts, has_device=True, lead_ns=4_000_000)
    assert queued.bound_by == "mixed"
    assert queued.text == (
        "Mixed: no single cause stands out; the largest loss is dispatching work with 30 % of the step, "
        "then waiting for data with 20 %."
    )


def test_a_loss_of_half_the_step_is_not_called_one_that_does_not_stand_out() -> None:
    parts = {"compute": 30, "framework": 70}
    assert verdict(parts, has_device=True, lead_ns=3_000).bound_by == "launch"
    queued = verdict(parts, has_device=True, lead_ns=4_000_000)
    assert queued.bound_by == "unknown"
    assert "stands out" not in queued.text
    assert "in single stalls" in queued.text


def test_work_that_waits_on_the_device_is_not_launch_bound_either() -> None:
    found = verdict({"compute": 56, "device_wait": 41, "python": 3}, has_device=True, lead_ns=16_000_000)
    assert found.bound_by == "unknown"


@pytest.mark.parametrize(("warmup", "bound"), [(0.4, "unknown"), (0.25, "sync"), (0.0, "sync")])
def test_warm_up_comes_before_any_other_answer(warmup: float, bound: str) -> None:
    found = verdict({"compute": 40, "sync": 60}, has_device=True, warmup_ratio=warmup)
    assert found.bound_by == bound
    assert found.text.startswith("Warm-up") is (bound == "unknown")


def test_cpu_only_the_optimizer_computes() -> None:
    found = verdict({"compute": 60, "optimizer": 30, "python": 10}, has_device=False)
    assert found.bound_by == "compute"
    assert found.text == "Compute-bound: the model and its optimizer are 90 % of the step."


def test_cpu_only_an_optimizer_that_is_most_of_it_is_named() -> None:
    found = verdict({"compute": 15, "optimizer": 83, "python": 2}, has_device=False)
    assert found.text == ("Compute-bound: the model and its optimizer are 98 % of the step, the optimizer alone 83 %.")


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("has_device", [True, False])
def test_a_sentence_for_every_cause(cause: str, has_device: bool) -> None:
    found = verdict({cause: 100}, has_device=has_device)
    assert found.ratio == 1
    assert "{" not in found.text
    assert ("GPU" not in found.text) or has_device


def test_python_on_the_cpu() -> None:
    assert verdict({"python": 100}, has_device=False).text == (
        "Python-bound: for 100 % of the step the program is in Python code outside any op."
    )


def test_the_ops_of_a_python_loop_are_its_own_and_not_the_models() -> None:
    parts = {"compute": 80, "python": 20}
    assert verdict(parts, has_device=False).bound_by == "compute"
    found = verdict(parts, has_device=False, loops=Looped(IntervalSet.of([(0, 50)])))
    assert (found.bound_by, found.ratio) == ("python", pytest.approx(0.7))
    assert (
        found.text
        == "Python-bound: for 70 % of the step the program is in Python code, most of it in loops of small ops."
    )


@pytest.mark.parametrize(
    ("passes", "words"), [(24, "loops of small ops."), (26, "one backward pass after another for one update.")]
)
def test_loops_that_are_mostly_backward_passes_are_called_so(passes: int, words: str) -> None:
    found = verdict({"compute": 80, "python": 20}, has_device=False, loops=Looped(IntervalSet.of([(0, 50)]), passes))
    assert found.text.endswith(f"most of it in {words}")


def said_of(builder: TraceBuilder) -> str:
    """The verdict on a world, in words, with what computes."""
    return explain_facts(Facts(builder.trace()), rules=RULES).analysis.summary.verdict.text


@pytest.mark.parametrize(
    ("layer", "words", "others"),
    [
        ("aten::linear", "most of it in one backward pass after another", "Compute-bound"),
        ("aten::select", "computed going back through one graph 60 times for one update", "Python-bound"),
    ],
)
def test_what_each_call_of_second_derivatives_computes_is_no_time_of_python(
    layer: str, words: str, others: str
) -> None:
    """Of 60 calls of `torch.autograd.grad` one pass for all samples computes little, all directions through one graph as much."""
    builder = sample_by_sample(60, each=18, receiving=1, layer=layer)
    said = said_of(builder)
    assert words in said
    assert others not in said


def test_a_loss_smaller_than_the_work_is_named_as_such() -> None:
    assert verdict({"compute": 60, "python": 40}, has_device=False).text == (
        "Python-bound: for 40 % of the step the program is in Python code outside any op, its largest loss; "
        "the model itself takes 60 %."
    )
    assert "its largest loss" not in verdict({"compute": 40, "python": 60}, has_device=False).text


@pytest.mark.parametrize(("compute", "optimizer", "words"), [(30, 40, ""), (60, 10, ", its largest loss")])
def test_an_optimizer_beside_a_smaller_loss_is_not_called_the_model(compute: int, optimizer: int, words: str) -> None:
    parts = {"compute": compute, "optimizer": optimizer, "python": 100 - compute - optimizer + 5}
    share = f"{(compute + optimizer) / sum(parts.values()):.0%}".replace("%", " %")
    found = verdict(parts, has_device=False)
    assert found.bound_by == "python"
    assert found.text.endswith(f"outside any op{words}; the model and its optimizer take {share}.")


def test_a_loss_in_a_python_loop_binds_a_run_on_the_cpu() -> None:
    """40 samples of four ops each: the time is inside ops, and no model would need it."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        for index in range(40 * 4):
            name = ("aten::select", "aten::select", "aten::sub", "aten::add")[index % 4]
            builder.op(name, at + index * 20, 18)
        builder.op("aten::linear", at + 3_200, 6_800)
    facts = Facts(builder.trace())
    totals = {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}
    trust = grade(facts)
    said = evidence_of(facts, trust, run_rules(facts, RULES, trust))
    # 160 ops with 2 us behind each; the last of these gaps is not the loop's.
    assert judgement_of(facts, totals, evidence=said).verdict.text == (
        "Python-bound: for 32 % of the step the program is in Python code, most of it in loops of small ops, its largest loss; "
        "the model itself takes 68 %."
    )


def test_a_trace_that_is_not_to_be_trusted_has_no_verdict() -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        builder.step(number, number * 1_000, 1_000).op("aten::linear", number * 1_000, 900)
    facts, totals = Facts(builder.trace()), {"compute": 900, "python": 100}
    assert judgement_of(facts, totals).verdict.bound_by == "compute"
    found = judgement_of(facts, totals, unusable=True).verdict
    assert (found.bound_by, found.ratio) == ("unknown", 0.0)
    assert "cannot be the base of advice" in found.text


@pytest.mark.parametrize(("forward", "bound"), [(True, "python"), (False, "unknown")])
def test_steps_that_hold_only_their_update_are_not_called_python(forward: bool, bound: str) -> None:
    """Without a forward pass the trace was filtered, or it ran on threads that the profiler does not see."""
    builder = TraceBuilder(None)
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.optimizer(at + 800, 100).op("aten::add_", at + 810, 50)
        if forward:
            builder.op("aten::linear", at, 100)
    found = judgement_of(Facts(builder.trace()), {"compute": 100, "python": 900}).verdict
    assert found.bound_by == bound
    assert ("filtered or cut" in found.text) is (bound == "unknown")


def test_an_unclear_loss_beside_the_model_is_one_sentence() -> None:
    text = verdict({"compute": 56, "unexplained": 44}, has_device=True).text
    assert text == (
        "Unclear: for 44 % of the step the device idles, and the trace does not show why; the model itself takes 56 %."
    )


def test_nothing_to_judge() -> None:
    assert verdict(dict.fromkeys(CAUSES, 0), has_device=True).bound_by == "unknown"


def test_the_optimizer_on_the_host_is_no_dispatch() -> None:
    found = verdict({"compute": 30, "copy": 25, "optimizer": 45}, has_device=True, lead_ns=3_000_000)
    assert "the largest loss is running the optimizer on the host with 45 % of the step" in found.text
    bound = verdict({"compute": 30, "framework": 10, "optimizer": 60}, has_device=True, lead_ns=3_000)
    assert bound.text == "Launch-bound: for 70 % of the step the device idles while the host runs the optimizer."


@pytest.mark.parametrize(
    ("lacked", "bound"), [(None, "compute"), (0.48, "compute"), (0.49, "unknown"), (0.9, "unknown")]
)
def test_time_without_a_core_is_not_called_compute(lacked: float | None, bound: str) -> None:
    """Ops are 96 % of each step; how long they take by themselves nobody saw."""
    builder = TraceBuilder(None, advisor={} if lacked is None else {"core_wait_ratio": lacked})
    for number in range(4):
        builder.step(number, number * 1_000, 1_000).op("aten::linear", number * 1_000, 960)
    found = judgement_of(Facts(builder.trace()), {"compute": 960, "python": 40}).verdict
    assert (found.bound_by, found.ratio) == (bound, pytest.approx(0.96))
    assert ("inside ops" in found.text and "quiet machine" in found.text) is (bound == "unknown")


def test_a_device_computes_whether_the_host_has_a_core_or_not() -> None:
    builder = TraceBuilder(advisor={"core_wait_ratio": 0.9})
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000).launch(at, kernel_start=at + 40, kernel_dur=950)
    facts = Facts(builder.trace())
    assert judgement_of(facts, {"compute": 950, "launch": 50}).verdict.bound_by == "compute"


@pytest.mark.parametrize(("lacked", "bound"), [(0.05, "python"), (0.25, "unknown")])
def test_time_without_a_core_is_not_called_python(lacked: float, bound: str) -> None:
    """Ops are 60 % of each step; the other 40 % may be another program's."""
    builder = TraceBuilder(None, advisor={"core_wait_ratio": lacked})
    for number in range(4):
        builder.step(number, number * 1_000, 1_000).op("aten::linear", number * 1_000, 600)
    facts = Facts(builder.trace())
    found = judgement_of(facts, {"compute": 600, "python": 400}).verdict
    assert found.bound_by == bound
    assert ("outside any op" in found.text and "quiet machine" in found.text) is (bound == "unknown")


@pytest.mark.parametrize(("op", "known"), [("aten::cudnn_convolution", False), ("aten::mkldnn_convolution", True)])
@pytest.mark.parametrize(("parts", "bound"), [({"python": 900}, "python"), ({"compute": 900}, "compute")])
def test_a_host_whose_device_was_not_recorded_may_be_waiting_for_it(
    op: str, known: bool, parts: dict[str, int], bound: str
) -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        builder.step(number, number * 1_000, 1_000).op(op, number * 1_000, 500)
    found = judgement_of(Facts(builder.trace()), parts).verdict
    assert found.bound_by == (bound if known else "unknown")
    assert ("waits for the device there was not recorded" in found.text) is not known


@pytest.mark.parametrize(("read", "named"), [(500, True), (200, False)])
def test_a_read_that_takes_most_of_a_step_is_named_where_the_device_was_not_recorded(read: int, *, named: bool) -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        at = number * 1_000
        builder.step(number, at, 1_000)
        builder.op("aten::_mps_convolution", at, 300)
        builder.op("aten::item", at + 400, read + 4)
        builder.op("aten::_local_scalar_dense", at + 402, read)
    text = judgement_of(Facts(builder.trace()), {"compute": 900}).verdict.text
    assert ("`aten::_local_scalar_dense`, which reads a value" in text) is named


@pytest.mark.parametrize(("second", "named"), [(50, True), (49, False)])
def test_a_second_loss_is_named_from_a_twentieth_of_the_step_on(second: int, named: bool) -> None:
    small = dict.fromkeys(("launch", "python", "communication", "copy", "allocator", "compile"), 44)
    rest = 1_000 - 300 - 340 - second - sum(small.values())
    found = verdict({"compute": 300, "input": 340, "sync": second, "unexplained": rest} | small, has_device=True)
    assert found.bound_by == "mixed"
    assert (", then waiting for the device" in found.text) is named


@pytest.mark.parametrize(
    ("launches", "call_dur", "bound"),
    [(20, 100, "sync"), (19, 100, "launch"), (20, 20, "launch")],
    ids=["each waits for its kernel", "too few to say", "none waits"],
)
def test_launches_that_wait_for_their_kernel_bind_the_run_themselves(launches: int, call_dur: int, bound: str) -> None:
    builder = TraceBuilder()
    for number in range(4):
        builder.step(number, number * 1_000, 1_000)
    for number in range(launches):
        at = number * 200
        builder.launch(at, kernel_start=at + 30, kernel_dur=50, call_dur=call_dur)
    found = judgement_of(Facts(builder.trace()), {"compute": 300, "launch": 700}).verdict
    assert found.bound_by == bound
    assert ("wait for their kernel, so" in found.text) is (bound == "sync")


def _working(builder: TraceBuilder) -> Trace:
    """One step, with work on the device if the builder has one."""
    builder.step(0, 0, 100)
    if builder.device:
        builder.launch(0, kernel_start=10, kernel_dur=50)
    else:
        builder.op("aten::linear", 0, 90)
    return builder.trace()


@pytest.mark.parametrize(
    ("compute", "bound"),
    [(64, "communication"), (66, "mixed"), (69, "mixed"), (71, "mixed"), (74, "mixed"), (76, "compute")],
)
def test_near_the_border_the_same_communication_is_named_alike_on_all_ranks(compute: int, bound: str) -> None:
    totals = {"compute": compute, "communication": 100 - compute}
    found = judgement_of(Facts(_working(TraceBuilder())), totals).verdict
    assert found.bound_by == bound
    both = f"compute takes {compute} % of the step, and collectives with no compute beside them {100 - compute} %."
    assert (both in found.text) is (bound == "mixed")


@pytest.mark.parametrize(("alone", "bound"), [(19, "compute"), (21, "mixed"), (24, "mixed"), (26, "communication")])
def test_communication_that_is_barely_large_beside_a_third_loss_is_mixed(alone: int, bound: str) -> None:
    """A point less of it on another rank, and compute would be the verdict."""
    totals = {"compute": 84 - alone, "communication": alone, "python": 16}
    found = judgement_of(Facts(_working(TraceBuilder())), totals).verdict
    assert found.bound_by == bound
    words = f"compute beside them {alone} %; then Python outside any op with 16 %."
    assert (words in found.text) is (bound == "mixed")


@pytest.mark.parametrize(
    ("alone", "loaded", "bound"), [(38, 29, "communication"), (34, 32, "mixed"), (32, 34, "mixed"), (28, 38, "input")]
)
def test_communication_beside_another_loss_as_large_is_mixed(alone: int, loaded: int, bound: str) -> None:
    totals = {"compute": 100 - alone - loaded, "communication": alone, "input": loaded}
    found = judgement_of(Facts(_working(TraceBuilder())), totals).verdict
    assert found.bound_by == bound
    words = (
        f"Mixed: collectives with no compute beside them take {alone} % of the step, and waiting for data {loaded} %."
    )
    assert (found.text == words) is (bound == "mixed")


@pytest.mark.parametrize(
    "totals",
    [
        {"compute": 71, "communication": 19, "python": 10},
        {"compute": 71, "communication": 9, "copy": 20},
        {"compute": 71, "input": 29},
    ],
    ids=["too little of the step", "too little of the loss", "none"],
)
def test_near_the_border_compute_stays_so_where_communication_is_not_what_limits_it(totals: dict[str, int]) -> None:
    assert judgement_of(Facts(_working(TraceBuilder())), totals).verdict.bound_by == "compute"


def test_without_a_device_the_optimizer_is_compute_at_the_border_too() -> None:
    found = judgement_of(
        Facts(_working(TraceBuilder(None))), {"compute": 60, "optimizer": 8, "communication": 32}
    ).verdict
    assert found.text == "Mixed: compute takes 68 % of the step, and collectives with no compute beside them 32 %."


WAITS = {"between_nodes": 30, "in_queue": 5, "starting": 4, "unknown": 2}


def test_waiting_on_the_device_is_told_by_what_most_of_it_is_for() -> None:
    parts = {"compute": 56, "device_wait": 41, "python": 3}
    found = verdict(parts, has_device=True, lead_ns=2_000, waits=WAITS)
    assert (found.bound_by, found.ratio) == ("queue", pytest.approx(0.35))
    assert found.text == (
        "Queue-bound: for 35 % of the step launched work waits on an idle device, most of it between the nodes of a graph, "
        "its largest loss; the model itself takes 56 %."
    )
    unknown = verdict(parts, has_device=True, lead_ns=2_000, waits={"unknown": 38, "starting": 3})
    assert unknown.bound_by == "unknown"
    assert "for something that the trace does not show: an event, another process" in unknown.text


def test_a_mixed_verdict_names_what_waits_too() -> None:
    parts = {"compute": 40, "device_wait": 25, "input": 20, "sync": 15}
    assert "launched work that waits between the nodes" in verdict(parts, has_device=True, waits=WAITS).text
    text = verdict(parts, has_device=True, waits={"unknown": 25}).text
    assert "launched work that waits for something the trace does not show" in text


def test_starting_work_is_part_of_launching_it() -> None:
    parts = {"compute": 40, "device_wait": 20, "framework": 40}
    found = verdict(parts, has_device=True, lead_ns=2_000, waits={"starting": 20})
    assert (found.bound_by, found.ratio) == ("launch", pytest.approx(0.6))


def _dispatching(op: str | None = None, each: float = 600) -> Facts:
    """Steps of 1 ms, of which the host is in ops of several kinds, or in this one, for 0.6 ms before a kernel of 0.3 ms."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10 * each
        builder.step(number, at, 10 * each)
        for index in range(6):
            builder.op(op or f"aten::op_{index}", at + index * each, each)
        builder.launch(at + 6 * each, kernel_start=at + 6 * each + 8, kernel_dur=3 * each)
    return Facts(builder.trace())


DISPATCHING = {"compute": 300, "framework": 600, "python": 100}


@pytest.mark.parametrize(
    ("evidence", "bound"),
    [
        ({}, "launch"),
        ({"launch": Evidence(True, "")}, "launch"),
        ({"launch": Evidence(False, "the median launch lead is 41 us")}, "unknown"),
        ({"input": Evidence(False, "a loader that waits for nothing")}, "launch"),
    ],
)
def test_launch_bound_needs_the_evidence_of_its_rules(evidence: dict[str, Evidence], bound: str) -> None:
    found = judgement_of(_dispatching(), DISPATCHING, evidence=evidence).verdict
    assert found.bound_by == bound
    assert ("nothing shows that launches are what it waits for: the median launch lead is 41 us." in found.text) is (
        bound == "unknown"
    )


@pytest.mark.parametrize("on_device", [True, False])
def test_python_bound_needs_the_evidence_of_its_rules_too(on_device: bool) -> None:
    facts, totals = _dispatching(), {"compute": 300, "python": 700}
    if not on_device:
        builder = TraceBuilder(None)
        builder.step(1, 0, 100)
        builder.op("aten::mm", 0, 30)
        facts = Facts(builder.trace())
    assert judgement_of(facts, totals, evidence={"python": Evidence(True, "")}).verdict.bound_by == "python"
    found = judgement_of(facts, totals, evidence={"python": Evidence(False, "in stretches below 20 us")}).verdict
    assert found.bound_by == "unknown"
    assert found.text.startswith(
        "Unclear: for 70 % of the step " + ("the device idles" if on_device else "the program is")
    )
    assert found.text.endswith("the program's own code: in stretches below 20 us.")


@pytest.mark.parametrize("bound", ["input", "sync", "copy", "allocator", "compile", "communication"])
def test_a_bound_that_the_trace_shows_by_itself_says_where_its_rules_find_nothing(bound: str) -> None:
    totals = {"compute": 300, bound: 700}
    assert "no check" not in judgement_of(_dispatching(), totals, evidence={bound: Evidence(True, "")}).verdict.text
    found = judgement_of(_dispatching(), totals, evidence={bound: Evidence(False, "too few calls")}).verdict
    assert found.bound_by == bound
    assert found.text.endswith("; no check finds what of it could be changed: too few calls.")


def test_each_bound_with_a_rule_asks_it_and_says_why_it_did_not_fire() -> None:
    from analyzer.assemble.verdict import evidence
    from analyzer.engine import run_rules
    from analyzer.engine.trust import grade
    from rules import RULES

    facts = _dispatching()
    found = evidence(facts, grade(facts), run_rules(facts, RULES, grade(facts)))
    assert set(found) == {"launch", "python", "input", "sync", "copy", "allocator", "compile", "communication"}
    assert all(answer.fired or answer.reason for answer in found.values())


def test_copies_that_nothing_could_hide_are_no_question_of_recorded_shapes() -> None:
    """A rule that lacks shapes is not asked for the reason where another has measured all of the loss."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.copy("HtoD", at, 10, start=at + 20, dur=9_000, size=128 << 20, pinned=True)
        builder.launch(at + 60, kernel_start=at + 9_030, kernel_dur=100)
    found = explained(builder).summary.verdict
    assert found.bound_by == "copy"
    assert "record_shapes" not in found.text
    assert found.text.endswith("kernels to hide them behind run for only 1.0 % of the step, below 5.0 %.")


def test_evidence_is_asked_for_no_other_bound() -> None:
    evidence = {"launch": Evidence(False, "whatever")}
    assert (
        judgement_of(_dispatching(), {"compute": 900, "framework": 100}, evidence=evidence).verdict.bound_by
        == "compute"
    )


@pytest.mark.parametrize(
    ("op", "each", "words"),
    [
        (None, 600, "dispatches its next work."),
        ("aten::index_put_", 250, "dispatches its next work, 100 % of that inside `aten::index_put_`."),
        ("aten::index_put_", 1_200, "100 % of that inside `aten::index_put_`, 1.2 ms a call."),
    ],
)
def test_the_op_that_most_of_the_dispatch_is_is_named(op: str | None, each: float, words: str) -> None:
    found = judgement_of(_dispatching(op, each), DISPATCHING).verdict
    assert found.bound_by == "launch"
    assert found.text.endswith(words)


@pytest.mark.parametrize(("each", "named"), [(150_000, True), (60_000, False)])
def test_an_op_of_a_cpu_is_named_beside_products(each: float, named: bool) -> None:
    world = Clocked(None)
    for _ in world.steps(3):
        for _ in range(30):
            world.host_op("aten::conv2d/aten::convolution/aten::_convolution/aten::mkldnn_convolution", 15_000)
        for _ in range(2):
            world.host_op("aten::argmax", each)
    assert ("`aten::argmax` alone takes" in explained(world).summary.verdict.text) is named


@pytest.mark.parametrize(("ops", "bound"), [(1, "unknown"), (4, "unknown"), (5, "compute")])
def test_a_recording_of_next_to_nothing_tells_of_no_program(ops: int, bound: str) -> None:
    builder = TraceBuilder(None)
    for number in range(ops):
        builder.op("aten::mm", number * 100, 100)
    found = judgement_of(Facts(builder.trace()), {"compute": 100 * ops}).verdict
    assert found.bound_by == bound
    assert ("too little to say" in found.text) is (bound == "unknown")


@pytest.mark.parametrize(
    ("run_ms", "bound", "said"), [(None, "python", ""), (100, "python", ""), (64, "compute", "leaves out pauses")]
)
def test_pauses_that_the_run_has_no_room_for_bind_no_run(run_ms: float | None, bound: str, said: str) -> None:
    """Steps of 60 ms, one of which the collector makes 300 ms: a profiler makes objects too, so there it comes more often."""
    builder, at = TraceBuilder(None), 0
    for number in range(6):
        pause = 240_000 if number == 3 else 0
        builder.step(number, at, 60_000 + pause)
        builder.op("aten::linear", at, 25_000)
        if pause:
            builder.python("Python GC", at + 25_000, pause)
        builder.op("aten::linear", at + 25_000 + pause, 30_000)
        at += 60_000 + pause
    if run_ms is not None:
        times = [[190, 190 * 60_000_000], [10, round((run_ms * 200 - 60 * 190) * 1e6)]]
        builder.top["advisor"] = {"run": {"steps": 200, "times": times}}
    facts = Facts(builder.trace())
    found = judgement_of(facts, {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}).verdict
    assert found.bound_by == bound
    assert said in found.text
