"""Samples on the GPU: rows put together there, batches indexed at once there, batches that the collate function sends, and none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.clocked import Clocked
from rules import RULES
from rules.data_loading.input_bound import RULE as INPUT_BOUND
from rules.data_loading.single_process_loader import RULE as SINGLE_PROCESS
from rules.data_loading.small_samples import RULE as SMALL_SAMPLES
from rules.data_loading.too_few_cores import RULE as TOO_FEW_CORES
from running.one_rule import judged, run
from stories.models import ADD, perceptron, perceptron_back, update

TOGETHER = "void at::native::(anonymous namespace)::CatArrayBatchedCopy_aligned16_contig<unsigned int, 1, 128, 1>"
Where = Literal["gpu", "host", "sent by collate", "sent by sample", "indexed at once"]
IN_TRAINER = {"imported": {"transformers": None}, "loop": ["transformers.trainer"], "data": []}
LOADER = {"batch_size": 256, "num_workers": 0, "pin_memory": False}


def world(where: Where, *, framework: str | None = None, advisor: dict[str, object] | None = None) -> Clocked:
    """Ten batches of 256 rows of two tensors, `where` they are put together, and a small network.

    Args:
        where: What the data set and the loop do.
        framework: A range of this name is around the loader's call, and sends the batch.
        advisor: What `advisor collect` would have recorded.
    """
    world = Clocked(advisor=advisor)
    for _ in world.steps(10):
        begin = world.now
        if where == "indexed at once":
            world.idle(300)
            for _ in range(2):
                world.kernel_of("aten::index", TOGETHER, 4, host=25)
        else:
            _rows(world, where)
        if where == "sent by collate":
            world.copied("HtoD", 256 * 5 * 4)
        world.loader(begin, world.now - begin)
        if where == "host":
            world.copied("HtoD", 256 * 5 * 4)
        if framework is not None:
            world.annotation(framework, begin - 1, world.now - begin + 1)
        perceptron(world, 3, 6)
        perceptron_back(world, 3, 6)
        update(world, "Adam", dur=30)
    return world


def _rows(world: Clocked, where: Where) -> None:
    for _ in range(256):
        for _ in range(2):
            world.host_op("aten::select/aten::as_strided", 2)
        if where == "sent by sample":
            world.copied("HtoD", 5 * 4)
        world.idle(4)
    for _ in range(2):
        if where in ("gpu", "sent by sample"):
            with world.within("aten::stack"):
                world.kernel_of("aten::cat", TOGETHER, 4, host=200)
        else:
            world.host_op("aten::stack/aten::cat", 180)


def said(builder: Clocked) -> Iterator[str]:
    for one in explain_facts(Facts(builder.trace()), rules=RULES).analysis.findings:
        for fix in one.fix:
            yield f"{one.rule}: {fix.code}\n{fix.note}"


def test_rows_on_the_gpu_are_indexed_there_and_nobody_is_told_of_workers_or_pinned_memory() -> None:
    told = list(said(world("gpu")))
    assert any(text.startswith("DL006") and "device=data[0].device" in text for text in told)
    assert any(text.startswith("DL001") and "device=data[0].device" in text for text in told)
    assert any("batch_size=None" in text for text in told)
    assert not [text for text in told if "num_workers=4" in text or "pin_memory=True" in text or "torch.save" in text]
    found = judged(SMALL_SAMPLES, world("gpu")).finding
    assert "on the GPU already" in found.why
    assert not [caveat for caveat in found.caveats if "fit in memory" in caveat]
    assert run(SINGLE_PROCESS, world("gpu")).state is State.NOT_APPLICABLE


def test_rows_on_the_host_may_go_to_workers() -> None:
    told = list(said(world("host")))
    assert [text for text in told if text.startswith("DL002") and "num_workers=4" in text]
    assert not [text for text in told if "the loader itself sends" in text or "GPU already" in text]
    assert "on the GPU already" not in judged(SMALL_SAMPLES, world("host")).finding.why


def test_cores_are_no_limit_of_what_the_gpu_puts_together() -> None:
    known = {"loader": LOADER, "usable_cores": 2}
    assert run(TOO_FEW_CORES, world("gpu", advisor=known)).state is State.NOT_APPLICABLE
    assert run(TOO_FEW_CORES, world("host", advisor=known)).state is not State.NOT_APPLICABLE


@pytest.mark.parametrize("where", ["sent by collate", "sent by sample"])
def test_what_the_loader_sends_itself_is_left_to_the_loop_before_there_are_workers(where: Where) -> None:
    (advice, *_) = [fix for fix in judged(SINGLE_PROCESS, world(where)).finding.fix if "num_workers" in fix.code]
    assert "return CPU tensors, and send the batch in the loop" in advice.note
    # What kernels put together beside what is sent may be on the GPU already.
    assert ("keep this there too" in advice.note) is (where == "sent by sample")


def test_a_range_of_a_framework_that_sends_the_batch_is_none_of_the_loaders() -> None:
    around = Facts(world("host", framework="[_TrainingEpochLoop].train_dataloader_next").trace())
    assert around.input.on_device.calls == 10
    assert not around.input.on_device.sends


def test_batches_that_are_indexed_at_once_already_are_not_told_to_be() -> None:
    found = judged(INPUT_BOUND, world("indexed at once")).finding
    (advice,) = found.fix
    assert "put together" not in advice.note
    assert "randperm" in advice.code
    assert run(SMALL_SAMPLES, world("indexed at once")).state is not State.FIRED


@pytest.mark.parametrize(
    ("advisor", "code"),
    [
        ({"loader": LOADER, "dataset": {"name": "TensorDataset", "length": 9_000, "sample_bytes": 40}}, "dataset.tensors"),
        ({"loader": LOADER, "frameworks": IN_TRAINER}, "def __getitems__"),
    ],
)  # fmt: skip
def test_the_code_is_that_of_the_program(advisor: dict[str, object], code: str) -> None:
    assert code in judged(INPUT_BOUND, world("gpu", advisor=advisor)).finding.fix[0].code


def test_samples_that_draw_numbers_draw_them_for_a_batch() -> None:
    known = {"loader": LOADER, "dataset": {"length": 9_000, "random": True}}
    assert "for a whole batch at once" in judged(INPUT_BOUND, world("gpu", advisor=known)).finding.fix[0].note
    assert "for a whole batch at once" not in judged(INPUT_BOUND, world("gpu")).finding.fix[0].note


@pytest.mark.parametrize(("op", "sliced"), [("aten::argmax", False), ("_C_cache_ops::reshape_and_cache", True)])
def test_a_model_that_only_runs_takes_slices_in_order(op: str, *, sliced: bool) -> None:
    evaluated = Clocked()
    for _ in evaluated.steps(10):
        begin = evaluated.now
        _rows(evaluated, "gpu")
        evaluated.loader(begin, evaluated.now - begin)
        perceptron(evaluated, 6, 6)
        evaluated.kernel_of(op, ADD, 6)
    (first, *_) = judged(INPUT_BOUND, evaluated).finding.fix
    assert ("begin : begin + batch_size" in first.code) is sliced
    # Where nobody knows whether training is to follow, both orders are told of.
    assert ("in their order" in first.note) is not sliced


@pytest.mark.parametrize("where", ["gpu", "host"])
def test_an_order_matters_to_no_training(where: Where) -> None:
    assert "in their order" not in "".join(said(world(where)))
