"""ID004, of what usual steps hold beside training: four recorded steps of 10 ms, of a run of 100, and 60 looks at the stack."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.assemble.verdict import verdict_on_run
from analyzer.cause_names import CAUSES
from analyzer.facts import Facts
from analyzer.finding import Finding, State
from building.builders import TraceBuilder
from rules.idle.work_between_steps import RULE
from running.one_rule import judged, run

MS = 1_000_000
STEP = 10_000
NODE = "autograd::engine::evaluate_function: "
TRAINS = {
    "functions": [["Net.forward", "model.py"]],
    "line": 10,
    "in_function": "main",
    "in_file": "train.py",
    "own": True,
}
LOOKS = 60


def course(function: str, file: str, looks: int) -> dict[str, Any]:
    """What the hook tells of a run of 100 equal steps, in so many looks at which a function was seen."""
    place = TRAINS | {"functions": [[function, file]], "line": 12}
    rows = [place | {"samples": looks}, TRAINS | {"samples": LOOKS - looks}]
    usual = {"samples": LOOKS, "places": [row for row in rows if row["samples"]]}
    return {
        "ns": 0, "before_ns": 0, "after_ns": 0, "own_ns": 0, "steps": 100, "profiled_steps": 0, "profiled_ns": 0,
        "times": [[100, 1000 * MS]], "longest": [], "other_batches_ns": 0, "stopped": False,
        "between": {"sample_ns": 50 * MS, "samples": 0, "cpu_ns": 0, "places": [], "usual": usual},
    }  # fmt: skip


def world(
    function: str = "evaluate",
    file: str = "train.py",
    *,
    looks: int = 30,
    beside: float = 5_000,
    computes: float = 3_000,
    loop: str | None = None,
    device: str | None = None,
) -> TraceBuilder:
    """Steps of a forward pass, a backward pass and an update, with something behind it.

    Args:
        function: What was seen in the run beside training.
        file: Its file.
        looks: How often it was seen.
        beside: What lies in a recorded step between the update and the next forward pass, in us.
        computes: How much of that is in ops.
        loop: The framework that runs the loop.
        device: A device, or none.
    """
    used = {"imported": {loop.partition(".")[0]: None}, "loop": [loop], "data": []} if loop else None
    told = {"run": course(function, file, looks)} | ({"frameworks": used} if used else {})
    builder = TraceBuilder(device, advisor=told)
    for number in range(4):
        at, passes = number * STEP, STEP - 1_000 - beside
        builder.step(number, at, STEP)
        builder.op("aten::linear", at, passes / 2 - 1, **{"Sequence number": number})
        builder.op(f"{NODE}AddmmBackward0", at + passes / 2, passes / 2 - 10, **{"Sequence number": number})
        builder.optimizer(at + passes + 10, 980)
        builder.op("aten::_fused_adam_", at + passes + 20, 950)
        if computes:
            builder.op("aten::linear", at + passes + 1_000, computes)
        if device:
            builder.launch(at, kernel_start=at + 5, kernel_dur=passes)
    return builder


def found(builder: TraceBuilder) -> Finding:
    return judged(RULE, builder).finding


def test_an_evaluation_in_each_step_is_told_with_its_share_and_its_line() -> None:
    result = judged(RULE, world())
    assert result.ratio == pytest.approx(0.5, rel=0.01)
    one = result.finding
    assert one.title == "Evaluation within the steps"
    assert one.saving.kernel_ns == pytest.approx(4 * 3 * MS, rel=0.01)
    assert one.saving.claims.total_ns == pytest.approx(4 * 2 * MS, rel=0.01)
    assert one.location is not None
    assert (one.location.file, one.location.line) == ("train.py", 12)
    assert "if step % 1000 == 0" in one.fix[0].code
    assert "inference_mode" in one.references[0]


@pytest.mark.parametrize("function", ["test", "Trainer.test", "run_test", "validate", "val_epoch"])
def test_other_names_of_an_evaluation(function: str) -> None:
    assert found(world(function)).title == "Evaluation within the steps"


def test_no_more_is_claimed_than_the_looks_found_nor_than_the_recording_has() -> None:
    assert judged(RULE, world(looks=12)).ratio == pytest.approx(0.2, rel=0.01)
    assert judged(RULE, world(looks=42)).ratio == pytest.approx(0.5, rel=0.01)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"looks": 0}, "nothing was seen"),
        ({"looks": 4}, "too few looks"),
        ({"beside": 100, "computes": 0}, "the recorded steps have no time for it: the name is of a part of the model"),
        ({"function": "Net.predict"}, "training may predict"),
        ({"function": "generate"}, "a teacher, or a policy"),
        ({"function": "test_candidate"}, "something is tried, which may be part of training"),
        ({"function": "latest"}, "another word"),
        ({"function": "Validator.forward", "file": "validation/model.py"}, "a file's name is no function's"),
        ({"function": "_validate_sample", "file": "torch/distributions/distribution.py"}, "torch looks at arguments"),
        ({"function": "checkpoint", "file": "torch/utils/checkpoint.py"}, "activations are recomputed"),
        ({"device": "NVIDIA H100"}, "kernels tell what a device does"),
    ],
)
def test_quiet_where_it_is_training(options: dict[str, Any], why: str) -> None:
    assert run(RULE, world(**options)).state is State.CLEAR, why


@pytest.mark.parametrize(
    ("loop", "function", "file", "said"),
    [
        (
            "transformers.trainer",
            "Trainer._evaluate",
            "transformers/trainer.py",
            'eval_strategy="steps", eval_steps=50',
        ),
        ("transformers.trainer", "Trainer._save_checkpoint", "transformers/trainer.py", "save_steps=50"),
        # Batches of the evaluation are drawn in these steps as well: they are none of the training's.
        ("lightning.pytorch", "_EvaluationLoop.run", "lightning/pytorch/loops/evaluation_loop.py", ""),
        ("lightning.pytorch", "validate", "train.py", "val_check_interval=50"),
        ("ignite.engine", "evaluate_now", "train.py", "-@trainer.on(Events.ITERATION_COMPLETED(every=1))"),
    ],
)
def test_a_framework_is_told_its_setting(loop: str, function: str, file: str, said: str) -> None:
    assert said in found(world(function, file, loop=loop)).fix[0].code


def test_the_verdict_says_so() -> None:
    def text(builder: TraceBuilder) -> str:
        facts = Facts(builder.trace())
        return verdict_on_run(facts, {cause: facts.time.waterfall.owned(cause).total_ns for cause in CAUSES}).text

    assert text(world()).endswith("Of its usual steps 50 % is evaluation.")
    assert "usual steps" not in text(world(looks=0))


def evaluated(
    numbers: tuple[int | None, ...], *, trains_behind: bool = True, device: str | None = None
) -> TraceBuilder:
    """Four steps with an evaluation of two layers between the update and the next forward pass.

    Args:
        numbers: Autograd's next number at each layer, from the step's first on; None where it records nothing.
        trains_behind: Whether steps end with an update.
        device: A device, or none.
    """
    builder = TraceBuilder(device, advisor={"run": course("evaluate", "train.py", 30)})
    for step in range(4):
        at = step * STEP
        builder.step(step, at, STEP)
        for place, number in enumerate(numbers):
            carried = {} if number is None else {"Sequence number": 10 * step + number}
            builder.op("aten::linear", at + 10 + 2_000 * place, 1_900, **carried)
        builder.op("aten::linear", at + 5_000, 1_000, **{"Sequence number": 10 * step + 8})
        builder.op(f"{NODE}AddmmBackward0", at + 7_000, 1_000, **{"Sequence number": 10 * step + 8})
        if trains_behind:
            builder.optimizer(at + 8_500, 1_000)
    return builder


@pytest.mark.parametrize(
    ("numbers", "of"),
    [
        ((1, 2), (8, 8)),
        # Under `no_grad()` ops carry no number, or all the same one where no weight wants a gradient.
        ((None, None), (8, 0)),
        ((8, 8), (8, 0)),
        ((None, 1), (8, 4)),
    ],
)
def test_an_evaluation_that_autograd_records_is_told(numbers: tuple[int | None, ...], of: tuple[int, int]) -> None:
    counted = Facts(evaluated(numbers).trace()).model.recorded_beside
    assert (counted.layers, counted.recorded) == of
    found = judged(RULE, evaluated(numbers)).finding
    told = of[1] * 2 >= of[0]
    assert (f"Of 8 layers there in the recorded steps autograd records {of[1]}" in found.why) is told
    assert any("@torch.inference_mode()" in advice.code for advice in found.fix) is told


def test_a_pass_behind_the_last_update_may_be_one_of_training() -> None:
    builder = evaluated((None,))
    builder.op("aten::linear", 4 * STEP - 400, 300, **{"Sequence number": 60})
    assert Facts(builder.trace()).model.recorded_beside.recorded == 0


def test_where_nothing_is_updated_nothing_is_an_evaluation() -> None:
    assert Facts(evaluated((1, 2), trains_behind=False).trace()).model.recorded_beside.layers == 0
