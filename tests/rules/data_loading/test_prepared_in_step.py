"""DL010: 40 of 100 ms between the loader and the model, in which random numbers are drawn for the batch."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Confidence, State
from building.builders import TraceBuilder
from rules.data_loading.prepared_in_step import RULE
from running.one_rule import judged, run

STEP = 100_000
NODE = "autograd::engine::evaluate_function: "


def world(
    *,
    draws: str = "aten::uniform_",
    drawing: float = 20,
    layer: str = "aten::grid_sampler",
    taken: float = 40_000,
    cores: int | None = 8,
    used: float | None = None,
    workers: int = 0,
    wait: float = 500,
    device: str | None = None,
    loads: bool = True,
    loop: str | None = None,
    handed_ns: int | None = None,
) -> TraceBuilder:
    """Four steps: the loader, ops that keep no graph, a layer with its backward pass, an update.

    Args:
        draws: The op that draws numbers.
        drawing: How long that takes, in us.
        layer: The op that works on the batch.
        taken: How long both take with what lies around, in us.
        cores: Cores that the run may use.
        used: Cores that it uses.
        workers: Of the loader.
        wait: What the loader's call takes, in us.
        device: A device, or none.
        loads: Whether there is a loader.
        loop: Module that runs the loop, of a framework.
        handed_ns: What getting a tensor from another process takes.
    """
    known: dict[str, Any] = {
        "usable_cores": cores,
        "loader": {"num_workers": workers},
        "samples": {"process_cpu_cores": used},
        "hand_over": {"lower_quartile_ns": handed_ns},
    }
    if loop is not None:
        known["frameworks"] = {"imported": {loop.partition(".")[0]: None}, "loop": [loop], "data": []}
    builder = TraceBuilder(device, advisor=known)
    for number in range(4):
        at, first = number * STEP, 10 * number
        builder.step(number, at, STEP)
        if loads:
            builder.loader(at, wait, workers=workers)
        builder.op(draws, at + wait + 10, drawing, **{"Sequence number": first})
        builder.op(layer, at + wait + 20 + drawing, taken - 20 - drawing, **{"Sequence number": first})
        model = at + wait + taken
        builder.op("aten::conv2d", model, 20_000, **{"Sequence number": first})
        builder.op("aten::convolution", model + 5, 19_990, **{"Sequence number": first})
        builder.op("aten::relu", model + 20_000, 5_000, **{"Sequence number": first + 1})
        for place, name in enumerate(("ReluBackward0", "ConvolutionBackward0")):
            at_node = model + 25_100 + 10_000 * place
            builder.op(f"{NODE}{name}", at_node, 9_000, **{"Sequence number": first + 1 - place})
        builder.optimizer(at + STEP - 2_000, 1_500)
        if device:
            builder.launch(model, kernel_start=model + 5, kernel_dur=20_000)
    return builder


def test_fires_with_what_lies_between_loader_and_model() -> None:
    found = judged(RULE, world())
    assert found.ratio == pytest.approx(0.4, abs=0.001)
    assert found.finding.confidence is Confidence.MEDIUM
    assert "collate_fn=collate" in found.finding.fix[0].code


@pytest.mark.parametrize("handed_ns", [100_000, 5_000_000])
def test_a_batch_that_comes_from_a_worker_has_to_be_taken_over(handed_ns: int) -> None:
    """Where the loader alone hardly takes longer than that, too: what moves there is mostly the augmentation."""
    found = judged(RULE, world(handed_ns=handed_ns))
    assert found.ratio == pytest.approx(0.4 - handed_ns / 100_000_000, abs=0.001)
    assert "num_workers=7" in found.finding.fix[0].code


@pytest.mark.parametrize(
    ("cores", "used", "ratio"),
    [
        (2, None, 0.4),  # one worker needs 60 of 100 ms
        (3, None, 0.6),
        (3, 2.4, 0.2),  # 240 ms of work take 80 ms on three cores, whoever does it
    ],
)
def test_the_step_falls_no_further_than_the_cores_allow(cores: int, used: float | None, ratio: float) -> None:
    found = judged(RULE, world(cores=cores, used=used, taken=60_000, wait=100))
    assert found.ratio == pytest.approx(ratio, abs=0.002)
    assert found.finding.confidence is (Confidence.LOW if cores == 2 else Confidence.MEDIUM)


@pytest.mark.parametrize(("taken", "state"), [(9_900, State.CLEAR), (10_100, State.FIRED)])
def test_boundary(taken: float, state: State) -> None:
    assert run(RULE, world(taken=taken)).state is state


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"draws": "aten::mul"}, "no random numbers"),
        ({"layer": "aten::linear"}, "a frozen one"),
        ({"layer": "aten::batch_norm"}, "a frozen one"),
        ({"cores": 1}, "one core"),
        ({"cores": 2, "used": 2.0}, "keeps all its cores busy"),
        ({"draws": "aten::randn_like", "drawing": 10_100}, "noise of the size of the batch"),
        ({"workers": 2, "wait": 6_000}, "waits for the loader's workers already"),
    ],
)
def test_quiet_where_it_is_something_else_or_could_not_move(options: dict[str, Any], said: str) -> None:
    result = run(RULE, world(**options))
    assert result.state is State.CLEAR
    assert said in result.reason


@pytest.mark.parametrize("options", [{"loads": False}, {"device": "cuda"}])
def test_not_applicable_without_a_loader_or_with_a_device(options: dict[str, Any]) -> None:
    assert run(RULE, world(**options)).state is State.NOT_APPLICABLE


def test_a_loader_with_workers_that_keeps_up_takes_it_over() -> None:
    assert "num_workers=2" in judged(RULE, world(workers=2)).finding.fix[0].code


@pytest.mark.parametrize(
    ("loop", "said"),
    [
        (None, "images = augment(images)"),
        ("lightning.pytorch", "images = augment(images)"),
        ("transformers.trainer", "dataloader_num_workers="),
        ("fastai.learner", "batch_tfms=aug_transforms("),
    ],
)
def test_a_framework_that_makes_the_loader_is_told_where_its_workers_augment(loop: str | None, said: str) -> None:
    """There is no loop of the program's to change, and `batch_tfms` never run in a worker."""
    code = judged(RULE, world(loop=loop)).finding.fix[0].code
    assert said in code
    assert ("for images, labels in loader" in code) is (loop in (None, "lightning.pytorch"))
