"""ID001: steps of many short kernels, each waiting for its launch."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import AUTOGRAD, TraceBuilder
from rules.idle.launch_bound import RULE
from rules.python.python_overhead import RULE as PYTHON
from running.one_rule import judged, run

STEP = 10_000
KERNELS = 50


def world(
    *,
    kernel: float = 100,
    lead: float = 3,
    device: str = "cuda",
    op: bool = True,
    optimizer: bool = False,
    blocking: bool = False,
    behind: float = 0,
) -> TraceBuilder:
    """Steps of 10 ms with 50 kernels, one every 200 us; between them the host dispatches the next one inside an op.

    The clock of the device is `behind` us behind the host's.
    """
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        if optimizer:
            builder.optimizer(at, STEP)
        for index in range(KERNELS):
            start = at + index * 200
            if op:
                builder.op("aten::relu", start, 199)
            call = 5 + lead + kernel if blocking else 5
            builder.launch(
                start + 50, kernel_start=start + 55 + lead - behind, kernel_dur=kernel, op=None, call_dur=call
            )
    return builder


def test_fires_with_the_idle_time_in_dispatch() -> None:
    found = judged(RULE, world())
    # Of each 200 us the kernel takes 100 and starts 3 us after its launch; 1 us at the end is outside the op.
    claims = found.finding.saving.claims.total_ns
    assert claims == 3 * KERNELS * 99_000
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert "dispatches 50 kernels: the median one starts 3.0 us after its launch returns" in found.finding.why


@pytest.mark.parametrize("option", ["with_stack", "profile_memory"])
def test_never_high_when_the_recording_slows_the_host(option: str) -> None:
    builder = world()
    builder.top[option] = 1
    found = judged(RULE, builder)
    assert found.severity is Severity.MEDIUM
    assert option in found.finding.caveats[0]


@pytest.mark.parametrize(
    ("device", "lead", "state"),
    [
        ("cuda", 9, State.FIRED),
        ("cuda", 11, State.CLEAR),
        ("rocm", 24, State.FIRED),
        ("rocm", 26, State.CLEAR),
    ],
)
def test_boundary_of_the_lead(device: str, lead: float, state: State) -> None:
    assert run(RULE, world(device=device, lead=lead, kernel=50)).state is state


@pytest.mark.parametrize(("device", "limit"), [("cuda", "max_lead_cuda_ns"), ("rocm", "max_lead_rocm_ns")])
def test_each_kind_of_device_has_its_own_limit_of_the_lead_which_is_reached_by_no_less(device: str, limit: str) -> None:
    for lead_ns, state in ((2_999, State.CLEAR), (3_000, State.CLEAR), (3_001, State.FIRED)):
        # The world's kernels start 3 us behind their launch; what the others' limit is does not matter.
        for others in (0, 1_000_000):
            limits = {"max_lead_cuda_ns": others, "max_lead_rocm_ns": others} | {limit: lead_ns}
            told = run(RULE, world(device=device), limits)
            assert told.state is state


@pytest.mark.parametrize(("kernel", "state"), [(172, State.CLEAR), (160, State.FIRED)])
def test_boundary_of_the_idle_share(kernel: float, state: State) -> None:
    assert run(RULE, world(kernel=kernel, lead=-3)).state is state


@pytest.mark.parametrize(("waits", "state"), [("loader", State.FIRED), ("synchronize", State.CLEAR)])
def test_waiting_for_data_hides_no_dispatch_but_a_synchronize_does(waits: str, state: State) -> None:
    """Half of each step waits: a loader empties the queue once, a loop that synchronises may empty it each time."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        if waits == "loader":
            builder.loader(at, STEP / 2)
        else:
            builder.op("aten::mm", at, STEP / 2)
            builder.runtime("cudaDeviceSynchronize", at, STEP / 2)
        for index in range(KERNELS // 2):
            start = at + STEP / 2 + index * 200
            builder.op("aten::relu", start, 199)
            builder.launch(start + 50, kernel_start=start + 58, kernel_dur=150 - 58, op=None)
    assert run(RULE, builder).state is state


def with_buffers(builder: TraceBuilder, dur: float, *, broadcast: bool = True) -> TraceBuilder:
    """Each step begins with a forward pass of DistributedDataParallel that copies the buffers for `dur` us."""
    for number in range(3):
        at = number * STEP
        builder.annotation("DistributedDataParallel.forward", at, STEP / 2)
        builder.op("aten::flatten_dense_tensors", at, dur / 4)
        if broadcast:
            builder.event("nccl:broadcast", "user_annotation", at + dur / 4, 1)
        builder.op("aten::copy_", at + dur / 2, dur / 2)
        builder.op("aten::conv2d", at + dur, 10)
    return builder


def launched_late(after: float) -> TraceBuilder:
    """The launch-bound steps, each of whose first kernel comes `after` us later."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(KERNELS):
            start = at + after + index * 150
            builder.op("aten::relu", start, 149)
            builder.launch(start + 50, kernel_start=start + 58, kernel_dur=60, op=None)
    return builder


@pytest.mark.parametrize(
    ("broadcast", "dur", "advised"), [(True, 1_000, True), (False, 1_000, False), (True, 100, False)]
)
def test_buffers_copied_before_each_forward_pass_come_first(broadcast: bool, dur: float, advised: bool) -> None:
    builder = with_buffers(launched_late(dur), dur, broadcast=broadcast)
    first = judged(RULE, builder).finding.fix[0]
    assert ("broadcast_buffers=False" in first.code) is advised
    if advised:
        # The device idles until the first op of the model, 1 ms of each step of 10 ms.
        assert "idles 1.0 ms of each 10 ms step (10 %)" in (first.note or "")


def test_python_between_the_launches_is_the_business_of_py001() -> None:
    builder = world(op=False)
    builder.op("aten::relu", 0, 10)
    assert run(RULE, builder).state is State.CLEAR
    assert run(PYTHON, builder).state is State.FIRED


def test_waiting_launches_look_alike_and_are_left_out() -> None:
    result = run(RULE, world(blocking=True))
    assert result.state is State.CANNOT_TELL
    assert "SY005" in result.reason


def test_few_launches_say_nothing() -> None:
    builder = TraceBuilder()
    builder.step(0, 0, STEP)
    builder.launch(0, kernel_start=8, kernel_dur=10)
    assert run(RULE, builder).state is State.CANNOT_TELL


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::relu", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("by", "state"), [(0, State.FIRED), (9, State.FIRED), (17, State.FIRED), (19, State.CANNOT_TELL)]
)
def test_clocks_a_little_apart_do_not_hide_gaps_ten_times_as_long(by: float, state: State) -> None:
    """Kernels start 8 us after their launch is called, and leave gaps of 100 us."""
    result = run(RULE, world(behind=by))
    assert result.state is state
    if by:
        told = f"differ by {by - 8:.1f} us or more" if by < 18 else "differ by 11 us or more"
        assert told in (result.findings[0].caveats[0] if state is State.FIRED else result.reason)


@pytest.mark.parametrize(
    ("call_dur", "words"), [(5, "starts 3.0 us after its launch returns"), (12, "starts before its launch returns")]
)
def test_no_negative_delay_is_told(call_dur: float, words: str) -> None:
    """A kernel starts 8 us after the call begins: with a call of 12 us while it still runs."""
    builder = world()
    for event in builder.events:
        if event["cat"] == "cuda_runtime":
            event["dur"] = call_dur
    found = judged(RULE, builder)
    assert words in found.finding.why
    assert "-" not in found.finding.why.replace("launch-bound", "")
    leads = [row[2] for row in found.finding.evidence[1].rows if row[0] == "median launch lead"]
    assert leads == [3_000 if call_dur == 5 else 0]


def held_up(*, each: float, calls: int) -> TraceBuilder:
    """Steps in which one op keeps the host `calls` times for `each` us; then 16 ops of four kinds leave gaps of 90 us each."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * STEP)
        builder.step(number, at, STEP)
        for _ in range(calls):
            builder.op("aten::nonzero", at, each)
            builder.op("aten::empty", at + 1, 2)
            at += each
        for index in range(16):
            builder.op(f"aten::{('relu', 'mul', 'add', 'gelu')[index % 4]}", at, 150)
            builder.launch(at + 50, kernel_start=at + 58, kernel_dur=60, op=None)
            at += 150
    return builder


@pytest.mark.parametrize(
    ("each", "calls", "named", "works"),
    [(5_000, 1, True, True), (1_100, 4, True, True), (90, 50, True, False), (1_000, 1, False, False)],
    ids=["once for long", "a few times", "many short calls", "once for less than the rest"],
)
def test_the_op_that_owns_most_of_the_time_is_named(each: float, calls: int, named: bool, works: bool) -> None:
    """Beside 1.4 ms in the gaps that the other ops leave."""
    finding = judged(RULE, held_up(each=each, calls=calls)).finding
    assert ("`aten::nonzero`" in finding.why) is named
    assert ("its own work on the host" in finding.why) is works
    assert any("reduce-overhead" in fix.code for fix in finding.fix) is not works
    assert any("`aten::nonzero`" in fix.code for fix in finding.fix) is works


@pytest.mark.parametrize(("relu", "named"), [(4_500, True), (1_500, False)])
def test_dispatch_that_shares_the_time_with_an_op_at_work_is_named_and_advised_about_as_well(
    relu: float, *, named: bool
) -> None:
    """One op works on the host for 5 ms of each step; another launches one kernel after the other for `relu` us."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * STEP)
        builder.step(number, at, STEP)
        builder.op("aten::nonzero", at, 5_000)
        for index in range(KERNELS):
            start, each = at + 5_000 + index * relu / KERNELS, relu / KERNELS
            builder.op("aten::relu", start, each - 1)
            builder.launch(start + 8, kernel_start=start + 15, kernel_dur=1, op=None)
    finding = judged(RULE, builder).finding
    assert "inside `aten::nonzero`, 1 call a step of 5.0 ms: its own work on the host." in finding.why
    assert ("inside `aten::relu`, 50 calls a step." in finding.why) is named
    assert "`aten::nonzero`" in finding.fix[0].code
    assert any("reduce-overhead" in fix.code for fix in finding.fix) is named


def test_an_op_that_holds_many_launches_is_dispatch_however_long_it_is() -> None:
    """A compiled region calls no op for its kernels: what lies in it is the way to its 60 launches, which a graph ends."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * STEP)
        builder.step(number, at, STEP)
        builder.op("Torch-Compiled Region: 0/0", at, 6_100)
        for index in range(60):
            builder.launch(at + 50 + index * 100, kernel_start=at + 58 + index * 100, kernel_dur=20, op=None)
    finding = judged(RULE, builder).finding
    assert "its own work on the host" not in finding.why
    assert any("reduce-overhead" in fix.code for fix in finding.fix)


def behind_one_op(*, launches: int) -> TraceBuilder:
    """An op computes on the host for 6 ms of each 10 ms step, or launches as long; then eight kernels fill the queue."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * 10_000)
        builder.step(number, at, 10_000)
        builder.op("aten::stft", at, 6_000)
        for index in range(launches):
            builder.launch(
                at + index * 6_000 / launches, kernel_start=at + index * 6_000 / launches + 8, kernel_dur=2, op=None
            )
        for index in range(8):
            builder.launch(at + 6_010 + index * 10, kernel_start=at + 6_020 + index * 490, kernel_dur=490)
    return builder


def test_one_op_that_computes_on_the_host_is_told_though_kernels_are_queued_after_it() -> None:
    finding = judged(RULE, behind_one_op(launches=0)).finding
    assert "at work inside `aten::stft`" in finding.why
    assert finding.saving.claims.total_ns == pytest.approx(3 * 6_000_000, rel=0.01)
    assert any("`aten::stft`" in fix.code for fix in finding.fix)
    assert not any("batch_size" in fix.code or "reduce-overhead" in fix.code for fix in finding.fix)


@pytest.mark.parametrize(("each", "named"), [(400, True), (200, False)])
def test_many_calls_that_launch_nothing_are_work_though_each_is_short(each: float, *, named: bool) -> None:
    """Lookups on the host, of less than a millisecond each, half of a step; then eight kernels fill the queue."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * 10_000)
        builder.step(number, at, 10_000)
        for index in range(int(6_000 / each)):
            builder.op("aten::_embedding_bag", at + index * each, each)
        for index in range(8):
            builder.launch(at + 6_010 + index * 10, kernel_start=at + 6_020 + index * 490, kernel_dur=490)
    result = run(RULE, builder)
    assert [("inside `aten::_embedding_bag`" in finding.why) for finding in result.findings] == (
        [True] if named else []
    )


def hooked(each: float, *, op: str = "torch::autograd::AccumulateGrad") -> TraceBuilder:
    """Steps in which gradients are added up one by one, each of which keeps the host for so many us and launches a kernel."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * STEP)
        builder.step(number, at, STEP)
        for index in range(20):
            when = at + index * (each + 5)
            builder.op(op, when, each, AUTOGRAD)
            builder.launch(when + each - 12, kernel_start=when + each, kernel_dur=5, op=None, thread=AUTOGRAD)
    return builder


@pytest.mark.parametrize(
    ("each", "op", "told"),
    [
        (400, "torch::autograd::AccumulateGrad", True),
        (150, "torch::autograd::AccumulateGrad", False),
        (400, "MulBackward0", False),
    ],
    ids=["long", "short", "another node"],
)
def test_hooks_of_gradients_are_work_of_their_own(each: float, op: str, *, told: bool) -> None:
    """One kernel is launched there at most: what takes longer than any dispatch are hooks, as DeepSpeed's."""
    finding = judged(RULE, hooked(each, op=op)).finding
    assert ("its own work on the host" in finding.why) is told
    assert any("Run less for each gradient" in fix.code for fix in finding.fix) is told


def test_one_op_that_launches_all_that_time_does_no_work_of_its_own() -> None:
    said = run(RULE, behind_one_op(launches=60))
    assert not any("its own work" in found.why for found in said.findings)


def updating(*, name: str, launches: int, op: str | None = None) -> TraceBuilder:
    """The device idles for most of each 20 ms step while the optimizer launches short kernels, one each 60 us."""
    builder = TraceBuilder()
    for number in range(3):
        at = float(number * 20_000)
        builder.step(number, at, 20_000)
        builder.launch(at, kernel_start=at + 8, kernel_dur=1_000, name="gemm")
        builder.op("autograd::engine::evaluate_function: MmBackward0", at + 10, 50)
        builder.optimizer(at + 1_000, 19_000, name)
        for index in range(launches):
            when = at + 1_020 + index * 18_900 / launches
            builder.launch(when, kernel_start=when + 8, kernel_dur=4, name="kOptimizerStatic8bit2StateBlockwise", op=op)
    return builder


@pytest.mark.parametrize(
    ("name", "launches", "op", "first"),
    [
        ("AdamW8bit", 300, None, "many parameters at each launch"),
        ("AdamW", 300, "aten::_foreach_add_", "fused=True"),
        ("AdamW", 300, "aten::_fused_adamw_", "% 4 == 0"),
    ],
)
def test_where_the_optimizer_owns_the_time_the_advice_is_about_it(
    name: str, launches: int, op: str | None, first: str
) -> None:
    fixes = judged(RULE, updating(name=name, launches=launches, op=op)).finding.fix
    assert first in fixes[0].code
    assert f"inside `{name}.step`, which launches {launches} kernels" in fixes[0].note
    assert not any("reduce-overhead" in fix.code or "make_graphed_callables" in fix.code for fix in fixes)


def test_where_it_owns_little_the_advice_is_about_the_model() -> None:
    builder = world(optimizer=False)
    for number in range(3):
        builder.optimizer(number * STEP + STEP - 40, 30)
    assert any("reduce-overhead" in fix.code for fix in judged(RULE, builder).finding.fix)


def test_dispatch_spread_over_ops_has_no_owner() -> None:
    """Half of it lies inside each of two ops, that of the outer one outside the inner one."""
    builder = world()
    assert "inside `aten::relu`, 50 calls a step" in judged(RULE, builder).finding.why
    for event in [event for event in builder.events if event["name"] == "aten::relu"]:
        builder.op("aten::clamp_min", event["ts"] + 5, 170)
        builder.op("aten::empty", event["ts"] + 6, 30)
    assert "aten::" not in judged(RULE, builder).finding.why


def test_what_other_threads_do_meanwhile_owns_nothing() -> None:
    builder = held_up(each=5_000, calls=1)
    for number in range(3):
        builder.op("aten::stack", number * STEP - 1_000, 8_000, thread=77)
    why = judged(RULE, builder).finding.why
    assert "aten::stack" not in why
    assert "`aten::nonzero`" in why


def test_a_compiled_model_is_not_told_to_compile_as_if_it_were_not() -> None:
    builder = world()
    builder.launch(1, kernel_start=9, kernel_dur=1, op=None, name="triton_poi_fused_add_0")
    # Its kernels alone may be of a model that was exported ahead of time.
    (ahead,) = [advice for advice in judged(RULE, builder).finding.fix if "reduce-overhead" in advice.code]
    assert "torch.compile(model)" not in ahead.code
    assert "exported ahead of time" in ahead.note
    builder.op("Torch-Compiled Region: 0/0", 1, 20)
    (fix,) = [advice for advice in judged(RULE, builder).finding.fix if "reduce-overhead" in advice.code]
    assert fix.code.startswith("-model = torch.compile(model)")
    assert "exported ahead of time" not in fix.note


def test_a_program_that_only_runs_its_model_has_no_learning_rate() -> None:
    serving = world()
    serving.python("transformers/generation/utils.py(2100): generate", 0, 10)
    assert not any("learning rate" in fix.note for fix in judged(RULE, serving).finding.fix)
    assert any("learning rate" in fix.note for fix in judged(RULE, world(optimizer=True)).finding.fix)


def test_generating_text_needs_a_cache_of_fixed_size() -> None:
    builder = world()
    assert not any("static" in fix.note and "cache" in fix.note for fix in judged(RULE, builder).finding.fix)
    for event in builder.events:
        if event["cat"] == "kernel":
            event["name"] = "void pytorch_flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(p)"
    assert any('cache_implementation="static"' in fix.note for fix in judged(RULE, builder).finding.fix)


def _in_part(*, starved: int, gap: float = 40) -> TraceBuilder:
    """Steps with 100 kernels queued behind a long one, and others that each wait `gap` us for their launch."""
    builder, at = TraceBuilder(), 0.0
    for number in range(3):
        begin = at
        builder.launch(at, kernel_start=at + 8, kernel_dur=3_000, name="gemm")
        for index in range(100):
            builder.op("aten::mm", at + 10 + index * 10, 9)
            builder.launch(
                at + 12 + index * 10, kernel_start=at + 3_008 + index * 20, kernel_dur=20, op=None, name="gemm"
            )
        at += 5_010
        for _ in range(starved):
            builder.op("aten::mul", at, gap + 5)
            builder.launch(at + gap - 8, kernel_start=at + gap, kernel_dur=5, op=None)
            at += gap + 5
        builder.step(number, begin, at - begin)
        at += 5
    return builder


@pytest.mark.parametrize(
    ("starved", "gap", "state"),
    [(60, 40, State.FIRED), (10, 40, State.CLEAR), (60, 10, State.CLEAR), (0, 40, State.CLEAR)],
)
def test_a_part_of_the_step_whose_launches_are_late_is_told_beside_a_full_queue(
    starved: int, gap: float, state: State
) -> None:
    result = run(RULE, _in_part(starved=starved, gap=gap))
    assert result.state is state
    if state is State.FIRED:
        assert "In a part of the step the GPU waits for each launch: 61 times a step" in result.findings[0].why


def _thinned_out(skew: float) -> TraceBuilder:
    """5 ms of an op on the host, then 30 kernels that follow their launches, on a device whose clock is late by so much."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        builder.step(number, at, 10_000)
        builder.op("torchvision::nms", at, 5_000)
        for index in range(30):
            launch = at + 5_000 + index * 150
            builder.op(f"aten::op{index % 9}", launch, 140)
            builder.launch(launch + 100, kernel_start=launch + 105 - skew, kernel_dur=30, name="k", op=None)
    return builder


@pytest.mark.parametrize(
    ("skew", "state"), [(11, State.FIRED), (60, State.FIRED), (400, State.FIRED), (900, State.CANNOT_TELL)]
)
def test_an_op_that_takes_far_longer_than_the_clocks_differ_by_is_told(skew: float, state: State) -> None:
    """55 us between the clocks hid an op that holds the device up for 5 ms."""
    result = run(RULE, _thinned_out(skew))
    assert result.state is state
    assert state is not State.FIRED or "inside `torchvision::nms`" in result.findings[0].why


@pytest.mark.parametrize("engine", [True, False])
def test_layers_of_transformer_engine_have_graphs_of_their_own(engine: bool) -> None:
    """They are kept out of torch.compile."""
    builder = world()
    if engine:
        builder.op("tex_ts::te_gemm_ts", 10, 1)
    codes = [fix.code for fix in judged(RULE, builder).finding.fix]
    assert any("te.make_graphed_callables" in code for code in codes) is engine
    assert any("torch.compile" in code for code in codes) is not engine
