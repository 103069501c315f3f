"""Programs that run many backward passes, or many small ops, for one update, on the CPU."""

from __future__ import annotations

from building.builders import TraceBuilder

STEP = 10_000
EVALUATES = "autograd::engine::evaluate_function: "
NODE = f"{EVALUATES}AddmmBackward0"


def sample_by_sample(
    passes: int = 20,
    *,
    update_each: bool = False,
    each: float = 40,
    adds_up: bool = False,
    receiving: int = 0,
    layer: str = "aten::linear",
) -> TraceBuilder:
    """Steps of 10 ms: a layer, its loss and its backward pass for every sample, 10 us of Python behind each; then one update.

    So many passes, the last ones, leave a gradient with a parameter; where it is 0, no trace of that is recorded.
    """
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        for sample in range(passes):
            when = at + (4 * each + 10) * sample
            for place, name in enumerate((layer, "aten::nll_loss", "aten::ones_like", NODE)):
                builder.op(name, when + place * each, each)
            if receiving:
                builder.op(f"{EVALUATES}torch::autograd::AccumulateGrad", when + 3 * each + 1, each - 2)
            if sample >= passes - receiving:
                builder.op("torch::autograd::AccumulateGrad", when + 3 * each + 2, each - 4)
            if adds_up:
                builder.op("torch::autograd::AccumulateGrad", when + 3 * each + 1, each - 2)
                builder.op("aten::add_", when + 3 * each + 2, each - 4)
            if update_each:
                builder.optimizer(when + 4 * each + 1, 5)
        end = at + (4 * each + 10) * passes
        builder.op("aten::relu", end, at + 9_000 - end)
        builder.optimizer(at + 9_000, 1_000)
        builder.op("aten::_fused_adam_", at + 9_005, 990)
    return builder


def of_history(name: str, unit: tuple[str, ...]) -> TraceBuilder:
    """Steps of 10 ms: a layer, its backward pass, and forty turns of small ops inside the optimizer's step."""
    builder = TraceBuilder(None)
    for number in range(3):
        at = number * STEP
        builder.step(number, at, STEP)
        builder.optimizer(at + 1, STEP - 2, name)
        for place, function in ((10, "aten::linear"), (1_100, NODE), (9_000, "aten::linear"), (9_450, NODE)):
            builder.op(function, at + place, 400)
        for index in range(40 * len(unit)):
            builder.op(unit[index % len(unit)], at + 2_200 + 12 * index, 10)
    return builder
