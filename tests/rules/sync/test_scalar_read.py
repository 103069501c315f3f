"""SY001: a loop that reads its loss off the device in every step, so that the device runs dry until the host has launched again."""

from __future__ import annotations

import pytest

from analyzer.engine import Judged
from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from rules.sync.blocking_copy_out import RULE as COPY_OUT
from rules.sync.explicit_synchronize import RULE as EXPLICIT
from rules.sync.scalar_read import RULE
from running.one_rule import judged, run

STEP = 100_000


def world(
    *,
    refill: float = 20_000,
    wait: float = 50_000,
    steps: int = 3,
    device: str | None = "cuda",
    read: str = "aten::item",
) -> TraceBuilder:
    """Steps of 100 ms: the host waits in a read until the kernel ends, then works `refill` us inside an op before it launches."""
    builder = TraceBuilder(device)
    for number in range(steps):
        at = number * STEP
        builder.step(number, at, STEP)
        # A launch of the long kernel, after `refill` us of dispatch during which the device has nothing to do.
        builder.op("aten::linear", at, refill + 5)
        builder.launch(at + refill, kernel_start=at + refill + 5, kernel_dur=STEP - refill - 5, op=None)
        start = at + STEP - wait
        builder.op(read, start, wait)
        if read == "aten::item":
            builder.op("aten::_local_scalar_dense", start, wait)
        if device is not None:
            builder.copy("DtoH", start, 5, start=at + STEP - 5, dur=3, size=4, op=None)
            builder.runtime("cudaStreamSynchronize", start + 6, wait - 6)
    return builder


def test_fires_with_the_run_ahead_as_bound() -> None:
    found = judged(RULE, world())
    # From the end of each read to the next kernel: 20.005 ms in the second and third step, nothing before the first.
    assert found.finding.saving.claims.total_ns == 2 * 20_005_000
    assert found.ratio == pytest.approx(2 * 20_005 / 300_000)
    assert (found.severity, found.confidence) == (Severity.MEDIUM, Confidence.HIGH)
    # The copy and the synchronisation beside it are one read.
    assert "once a step" in found.finding.why
    assert "`.item()`" in found.finding.why


def told(read: str) -> tuple[str, str]:
    """What is said of reads by an op, and the first fix."""
    builder = world(read=read)
    found = judged(RULE, builder).finding
    return found.why, found.fix[0].code


@pytest.mark.parametrize("read", ["aten::copy_", "aten::_to_copy"])
def test_a_copy_of_a_small_tensor_is_no_item(read: str) -> None:
    """`.to("cpu")` and `.cpu()` leave no `aten::item`."""
    why, code = told(read)
    assert '`.to("cpu")`' in why
    assert ".item()" not in why
    assert 'value.to("cpu")' in code
    assert ".item()" not in code


def test_an_item_is_no_copy_of_a_tensor() -> None:
    why, code = told("aten::item")
    assert "`.item()`" in why
    assert '.to("cpu")' not in why + code
    assert ".item()" in code


def test_never_more_than_the_read_lasted() -> None:
    found = judged(RULE, world(refill=30_000, wait=10_000))
    # 5 us in the copy call and 9.994 ms in the synchronisation, against a gap of 30 ms.
    assert found.finding.saving.claims.total_ns == 2 * 9_999_000


def test_quiet_where_the_items_are_on_the_cpu() -> None:
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for index in range(100):
            builder.op("aten::item", at + index * 100, 90)
            builder.op("aten::_local_scalar_dense", at + index * 100 + 10, 50)
        builder.launch(at + 50_000, kernel_start=at + 50_005, kernel_dur=49_000)
    result = run(RULE, builder)
    assert result.state is State.NOT_APPLICABLE
    assert "300 `aten::item`" in result.reason
    assert "CPU tensors" in result.reason


def test_a_read_inside_an_op_that_needs_a_size_is_no_read_of_a_tensor_on_the_cpu() -> None:
    """`repeat_interleave` reads how many rows there are: its wait is told of that op, and not said to be none."""
    builder = world()
    for event in list(builder.events):
        if event["name"] == "aten::item":
            builder.op("aten::repeat_interleave", event["ts"] - 1, event["dur"] + 2)
    result = run(RULE, builder)
    assert result.state is State.NOT_APPLICABLE
    assert "CPU tensors" not in result.reason


def test_quiet_when_the_device_works_on_meanwhile() -> None:
    result = run(RULE, world(refill=100))
    assert result.state is State.CLEAR


def test_time_of_a_large_copy_or_a_synchronize_is_not_claimed() -> None:
    builder = world()
    for event in builder.events:
        if event["name"].startswith("Memcpy DtoH"):
            event["args"]["bytes"] = 1 << 20
        if event["name"] in ("aten::item", "aten::_local_scalar_dense"):
            event["name"] = "aten::copy_"
    assert run(RULE, builder).state is State.NOT_APPLICABLE
    assert run(COPY_OUT, builder).state is State.FIRED
    assert run(EXPLICIT, builder).state is not State.FIRED
    assert run(COPY_OUT, world()).state is State.NOT_APPLICABLE


def test_gradscaler_may_read_once_a_step() -> None:
    builder = world()
    for number in range(3):
        builder.op("aten::_amp_foreach_non_finite_check_and_unscale_", number * STEP + 40_000, 10)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


# Every step loses refill + 5 us but the first one: 2/3 of it on average.
@pytest.mark.parametrize(("refill", "state"), [(2_900, State.CLEAR), (3_100, State.FIRED)])
def test_boundary(refill: float, state: State) -> None:
    assert run(RULE, world(refill=refill)).state is state


def test_the_threshold_can_be_set() -> None:
    assert run(RULE, world(), limits={"min_ratio": 0.5, "behind_ratio": 0.5}).state is State.CLEAR


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    for number in range(3):
        builder.step(number, number * STEP, STEP)
        builder.op("aten::item", number * STEP, 50_000)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


def test_names_the_users_line() -> None:
    builder = world()
    for number in range(3):
        builder.python("/home/someone/project/train.py(31): train", number * STEP, STEP)
        builder.python("torch/_tensor.py(3): item", number * STEP + 50_000, 50_000)
        builder.python("/home/someone/project/lib/metrics.py(7): read", number * STEP + 49_990, 50_005)
    found: Judged = judged(RULE, builder)
    assert found.finding.location is not None
    assert (found.finding.location.file, found.finding.location.begins) == ("lib/metrics.py", 7)
    assert "in `read` (lib/metrics.py, from line 7)" in found.finding.why


@pytest.mark.parametrize(
    ("read", "extension"), [("torch_scatter::scatter_max", True), ("aten::item", False), ("aten::equal", False)]
)
def test_what_an_op_of_an_extension_reads_is_read_by_no_line_of_the_program(read: str, *, extension: bool) -> None:
    found = judged(RULE, world(read=read)).finding
    assert (f"inside `{read}`, which copies them itself" in found.why) is extension
    assert any("`dim_size`" in fix.code for fix in found.fix) is extension
    assert ("`.item()`" in found.why) is not extension
    assert any(".item()" in fix.code for fix in found.fix) is not extension


@pytest.mark.parametrize(
    ("before", "trained", "said"),
    [("aten::all", True, True), ("aten::all", False, False), ("aten::linear", True, False)],
)
def test_checks_may_go_where_a_model_is_trained(before: str, *, trained: bool, said: bool) -> None:
    """What makes tokens looks by `all` whether every text has ended."""
    builder = world()
    for number in range(3):
        builder.op(before, number * STEP + 49_000, 900)
        if trained:
            builder.optimizer(number * STEP + 48_000, 500)
    found = judged(RULE, builder).finding
    assert any("validate_args" in fix.code for fix in found.fix) is said
