"""DL001, DL003: a batch of many tensors that the loop receives one by one, as stacks show it, and workers that are late."""

from __future__ import annotations

import pytest

from analyzer.facts import Facts
from analyzer.rule import Rule
from building.clocked import Clocked
from rules.data_loading.input_bound import RULE as INPUT
from rules.data_loading.starved_by_workers import RULE as STARVED
from running.one_rule import judged
from stories.models import NVJET


def world(*, pieces: int) -> Clocked:
    """Steps that wait 40 ms for a batch: for a worker, or while they receive it piece by piece."""
    built = Clocked()
    for _ in built.steps(6):
        begin = built.now
        with built.stack("torch/utils/data/dataloader.py(733): __next__", "multiprocessing/queues.py(97): get"):
            built.idle(40_000 if not pieces else 800)
            for _ in range(pieces):
                with built.stack("torch/multiprocessing/reductions.py(559): rebuild_storage_fd"):
                    built.idle(40_000 / pieces)
        built.loader(begin, built.now - begin, workers=8)
        with built.stack("train.py(20): main"):
            for _ in range(30):
                built.kernel_of("aten::mm", NVJET, 900)
            built.synchronize()
    return built


@pytest.mark.parametrize("rule", [INPUT, STARVED])
def test_what_is_received_is_packed(rule: Rule) -> None:
    received = judged(rule, world(pieces=100)).finding
    assert "100 tensors a batch" in received.fix[0].note
    assert not any("num_workers" in fix.code for fix in received.fix)
    late = judged(rule, world(pieces=0)).finding
    assert any("num_workers" in fix.code for fix in late.fix)


def test_how_much_of_the_calls_it_is() -> None:
    assert Facts(world(pieces=100).trace()).input.receiving.ratio > 0.9
    assert Facts(world(pieces=0).trace()).input.receiving.tensors == 0
