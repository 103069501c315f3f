"""Programs that never call prof.step(): steps come from what repeats, and the source says from what."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from building.builders import TraceBuilder


def facts(builder: TraceBuilder) -> Facts:
    return Facts(builder.trace())


def test_ranges_a_serving_engine_writes_are_requests() -> None:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        builder.annotation(f"execute_context_{number}(64)_generation_0(0)", at, 8_000)
        builder.launch(at + 100, kernel_start=at + 200, kernel_dur=7_000)
    steps = facts(builder).steps
    assert steps.source.startswith("inferred:annotation execute_context")
    assert steps.requests
    assert steps.frame["dur_ns"].tolist() == [10_000_000] * 3 + [8_000_000]


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("execute_context_0(0)_generation_4(4)", "step"),
        ("gpu_model_runner: forward", "step"),
        ("run_batch", "step"),
        ("step[DECODE bs=4]", "step"),
        ("denoising step", "step"),
        ("decode_token", "step"),
        ("token", "step"),
        ("request", "request"),
        ("request step", "request"),
        ("generate", "request"),
        ("predict", "request"),
        ("passage", "request"),
    ],
)
def test_a_pass_of_the_model_is_no_request(name: str, noun: str) -> None:
    """A token of 24 ms was called a request; what answers one as a whole is one."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        builder.annotation(name, at, 9_900)
        builder.launch(at + 100, kernel_start=at + 200, kernel_dur=9_000)
    steps = facts(builder).steps
    assert (steps.requests, steps.noun) == (True, noun)


LENGTHS = (8_000, 3_000, 9_500, 6_000)


def marked(name: str) -> TraceBuilder:
    """Four requests of unequal lengths, with pauses, each within a range of this name."""
    builder = TraceBuilder()
    for number, length in enumerate(LENGTHS):
        at = number * 10_000
        builder.annotation(name.format(number), at, length)
        builder.launch(at + 100, kernel_start=at + 200, kernel_dur=length - 500)
    return builder


@pytest.mark.parametrize(
    "name",
    [
        "execute_context_{0}(64)_generation_1(2)", "execute_{0}_context_3(sq128sk256)_generation_2(sq1sk{0})",
        "step[EXTEND bs={0} toks=107]", "scheduler.run_batch", "## forward {0} ##",
        "gpu_model_runner: execute_model", "gpu_model_runner: forward",
        "[Executor] _forward_step {0}: 0 ctx reqs, 4 gen reqs", "run_batch", "engine_step", "## forward ##",
        "[pl][profile]run_training_batch", "[pl][profile][Strategy]SingleDeviceStrategy.training_step",
        "[pl][profile][Strategy]SingleDeviceStrategy.validation_step",
        "[pl][profile][Strategy]DDPStrategy.test_step", "[pl][profile][Strategy]DDPStrategy.predict_step",
        "Trainer.training_step", "train_step_{0}", "step_{0}", "iter {0}", "batch{0}", "decode", "prefill_step",
    ],
)  # fmt: skip
def test_what_frameworks_write_around_an_iteration_is_a_step(name: str) -> None:
    steps = facts(marked(name)).steps
    assert steps.source.startswith("inferred:annotation")
    assert steps.frame["start_ns"].tolist() == [0, 10_000_000, 20_000_000, 30_000_000]


@pytest.mark.parametrize(
    ("name", "one_pass"),
    [
        ("execute_context_0(0)_generation_{0}(2)", True), ("execute_{0}_context_3(sq128sk256)_generation_2(sq1sk{0})", True),
        ("execute_new_1_cached_{0}", True), ("gpu_model_runner: execute_model", True), ("scheduler.run_batch", True),
        ("step[DECODE bs={0}]", True), ("decode[bs={0} tok=2]", True),
        ("request", False), ("decode", True), ("engine_step", True),
    ],
)  # fmt: skip
def test_what_engines_put_around_a_pass_of_the_model_is_one(name: str, one_pass: bool) -> None:
    """A text that is generated takes a pass for each token: a token was called a request, and nothing told what that is."""
    steps = facts(marked(name)).steps
    assert (steps.requests, steps.one_pass) == (True, one_pass)


def test_a_request_that_was_not_marked_makes_the_one_before_longer() -> None:
    builder = marked("execute_context_{0}(64)_generation_1(2)")
    builder.events.remove(next(event for event in builder.events if str(event["name"]).startswith("execute_context_2")))
    assert facts(builder).steps.frame["dur_ns"].tolist() == [10_000_000, 20_000_000, 9_500_000 - 3_500_000]


def test_requests_of_different_kinds_take_turns() -> None:
    builder = TraceBuilder()
    for number, length in enumerate(LENGTHS):
        at = number * 10_000
        builder.annotation("step[EXTEND bs=1 toks=107]" if number == 1 else f"step[DECODE bs={number}]", at, length)
        builder.launch(at + 100, kernel_start=at + 200, kernel_dur=length - 500)
    steps = facts(builder).steps
    assert steps.source == "inferred:annotation step"
    assert steps.frame["start_ns"].tolist() == [0, 10_000_000, 20_000_000, 30_000_000]


def test_ranges_on_another_thread_at_the_same_time_are_not_counted_too() -> None:
    builder = marked("execute_context_{0}(64)_generation_1(2)")
    for number, length in enumerate(LENGTHS):
        builder.annotation(
            f"execute_context_{number}(64)_generation_1(2)", number * 10_000 + 2_000, length / 2, thread=77
        )
    assert facts(builder).steps.frame["start_ns"].tolist() == [0, 10_000_000, 20_000_000, 30_000_000]


@pytest.mark.parametrize("name", ["forward_step", "## forward ##", "training_step"])
def test_ranges_of_micro_batches_are_no_steps_where_the_optimizer_tells_them(name: str) -> None:
    builder = TraceBuilder()
    for number in range(4):
        at = number * 10_000
        for part in range(3):
            builder.annotation(name, at + part * 3_000, 2_900)
            builder.launch(at + part * 3_000 + 10, kernel_start=at + part * 3_000 + 20, kernel_dur=2_000)
        builder.optimizer(at + 9_000, 900)
    steps = facts(builder).steps
    assert steps.source == "inferred:Optimizer.step"
    assert len(steps.frame) == 4


def test_optimizer_steps_end_training_steps() -> None:
    builder = TraceBuilder(None)
    for number in range(4):
        at = number * 10_000
        builder.op("aten::linear", at, 8_000)
        builder.optimizer(at + 8_000, 2_000)
    steps = facts(builder).steps
    assert steps.source == "inferred:Optimizer.step"
    assert not steps.requests
    assert steps.frame["end_ns"].tolist() == [10_000_000, 20_000_000, 30_000_000, 40_000_000]


def test_two_repetitions_are_no_rhythm() -> None:
    builder = TraceBuilder(None)
    for number in range(2):
        builder.op("aten::linear", number * 10_000, 8_000)
        builder.optimizer(number * 10_000 + 8_000, 2_000)
    assert facts(builder).steps.source == "whole-trace"


def test_without_marks_the_raw_window_is_the_whole_recording() -> None:
    builder = TraceBuilder(None)
    builder.op("aten::empty", 0, 5_000)
    for number in range(3):
        builder.annotation("train_step", 5_000 + number * 1_000, 1_000)
        builder.op("aten::linear", 5_000 + number * 1_000, 900)
    measured = facts(builder)
    assert measured.steps.raw_window.total_ns == 8_000_000
    assert measured.steps.window.total_ns == 3_000_000


def passes(*, backward: bool = True, optimizer: bool = False) -> TraceBuilder:
    """Four iterations whose only marks are the program's own ranges; two micro-batches each."""
    builder = TraceBuilder(None)
    for number in range(8):
        at = number * 10_000
        builder.annotation("forward", at, 4_000)
        builder.op("aten::linear", at, 4_000)
        if backward:
            builder.op("autograd::engine::evaluate_function: AddmmBackward0", at + 4_500, 4_000)
        if optimizer and number % 2:
            builder.optimizer(at + 9_000, 500)
    return builder


def test_a_forward_range_of_the_program_marks_steps_where_nothing_else_does() -> None:
    steps = facts(passes()).steps
    assert steps.source == "inferred:annotation forward"
    assert len(steps.frame) == 8


def test_the_optimizer_tells_steps_better_than_a_forward_range() -> None:
    assert facts(passes(optimizer=True)).steps.source == "inferred:Optimizer.step"


@pytest.mark.parametrize("backward", [True, False])
def test_a_backward_pass_is_training_without_an_optimizer_of_torch(backward: bool) -> None:
    measured = facts(passes(backward=backward))
    assert measured.steps.requests is not backward
    assert measured.model.may_serve is not backward
