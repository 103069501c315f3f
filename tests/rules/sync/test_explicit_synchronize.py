"""SY003: a loop that calls torch.cuda.synchronize() after every step."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence, Severity, State
from building.builders import TraceBuilder
from building.dialects import rocm
from building.other_devices import xpu
from rules.sync.explicit_synchronize import RULE
from rules.sync.scalar_read import RULE as SCALAR
from running.one_rule import judged, run

STEP = 100_000


def world(
    *, refill: float = 30_000, wait: float = 40_000, in_op: str | None = None, only_last: bool = False
) -> TraceBuilder:
    """Steps of 100 ms: `refill` us of dispatch, then a kernel to the end of the step, for which the host waits."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, refill + 5)
        builder.launch(at + refill, kernel_start=at + refill + 5, kernel_dur=STEP - refill - 5, op=None)
        if only_last and number < 3:
            continue
        if in_op:
            builder.op(in_op, at + STEP - wait, wait)
        builder.runtime("cudaDeviceSynchronize", at + STEP - wait, wait)
    return builder


def test_fires_with_the_run_ahead_as_bound() -> None:
    found = judged(RULE, world())
    # The last call of the trace is the profiler's; the three before it cost the three gaps after them.
    assert found.finding.saving.claims.total_ns == 3 * 30_005_000
    assert (found.severity, found.confidence) == (Severity.HIGH, Confidence.HIGH)
    assert "cudaDeviceSynchronize" in found.finding.why
    assert found.finding.caveats


@pytest.mark.parametrize(
    ("name", "call", "fix"),
    [
        ("cudaDeviceSynchronize", "torch.cuda.synchronize()", "-    torch.cuda.synchronize()"),
        ("cudaStreamSynchronize", "stream.synchronize()", "-    torch.cuda.synchronize()"),
        # Who waits for one event needs what it stands for: to delete the wait would read a result that is not there yet.
        ("cudaEventSynchronize", "event.synchronize()", "+    copied.synchronize()"),
    ],
)
def test_names_the_call_of_torch_behind_each_kind_of_wait(name: str, call: str, fix: str) -> None:
    builder = world()
    for event in builder.events:
        if event["name"] == "cudaDeviceSynchronize":
            event["name"] = name
    found = judged(RULE, builder).finding
    assert f"as `{call}` calls it" in found.why
    assert fix in found.fix[0].code


def test_other_devices_have_functions_of_their_own() -> None:
    found = judged(RULE, xpu(world())).finding
    assert "as `torch.xpu.synchronize()` calls it" in found.why
    assert all("torch.cuda" not in fix.code for fix in found.fix)


def test_a_program_that_only_runs_its_model_is_shown_no_training_loop() -> None:
    assert "loss.backward()" not in judged(RULE, world()).finding.fix[0].code
    training = world()
    training.optimizer(10, 20)
    assert "loss.backward()" in judged(RULE, training).finding.fix[0].code


def test_the_profilers_own_does_not_count() -> None:
    result = run(RULE, world(only_last=True))
    assert result.state is State.NOT_APPLICABLE
    assert "profiler's own" in result.reason


def test_a_wait_inside_an_op_is_that_ops_business() -> None:
    assert run(RULE, world(in_op="aten::cudnn_convolution")).state is State.NOT_APPLICABLE
    read = world(in_op="aten::item")
    assert run(RULE, read).state is State.NOT_APPLICABLE
    assert run(SCALAR, read).state is State.FIRED


def test_a_call_that_returns_at_once_costs_nothing() -> None:
    assert run(RULE, world(wait=20)).state is State.CLEAR


# Three of four steps lose refill + 5 us.
@pytest.mark.parametrize(("refill", "state"), [(2_600, State.CLEAR), (2_700, State.FIRED)])
def test_boundary(refill: float, state: State) -> None:
    assert run(RULE, world(refill=refill)).state is state


def test_without_a_device_the_question_does_not_arise() -> None:
    builder = TraceBuilder(None)
    builder.step(0, 0, STEP)
    builder.op("aten::linear", 0, STEP)
    assert run(RULE, builder).state is State.NOT_APPLICABLE


@pytest.mark.parametrize("device", ["cuda", "rocm"])
def test_an_extension_that_waits_inside_its_own_op_is_told_by_the_op(device: str) -> None:
    builder = world(in_op="fastvideo::sliding_tile_attention")
    found = judged(RULE, builder if device == "cuda" else rocm(builder)).finding
    name = "cudaDeviceSynchronize" if device == "cuda" else "hipDeviceSynchronize"
    assert f"`{name}` inside `fastvideo::sliding_tile_attention`" in found.why
    (fix,) = found.fix
    assert f"`{'cuda' if device == 'cuda' else 'hip'}GetLastError`" in fix.code
    assert "torch.cuda.synchronize" not in fix.code


@pytest.mark.parametrize("op", ["aten::linalg_eigh", "autograd::engine::evaluate_function: X", "FooBackward0"])
def test_what_torch_waits_for_inside_its_own_ops_nobody_can_delete(op: str) -> None:
    assert run(RULE, world(in_op=op)).state is State.NOT_APPLICABLE


def test_a_wait_of_an_extension_beside_a_busy_device_costs_nothing() -> None:
    builder = world(in_op="fastvideo::sliding_tile_attention", refill=200, wait=300)
    assert run(RULE, builder).state is not State.FIRED
