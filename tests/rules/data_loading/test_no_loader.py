"""DL001 where the loop draws from an object that is no DataLoader: its batches are made in the training process."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import State
from building.builders import TraceBuilder
from rules.data_loading import input_bound, small_samples
from running.one_rule import judged, run

LIGHTNINGS = "[pl][profile][_TrainingEpochLoop].train_dataloader_next"
COLLECTED: dict[str, Any] = {"command": ["advisor", "collect", "train.py"], "loader": None}


def world(*, name: str = LIGHTNINGS, torchs: bool = False, advisor: dict[str, Any] | None = None) -> TraceBuilder:
    """Six steps of 100 ms on a CPU that draw a batch for 40 ms of each."""
    builder = TraceBuilder(None, advisor=COLLECTED if advisor is None else advisor)
    for number in range(6):
        at = number * 100_000
        builder.step(number, at, 100_000).annotation(name, at, 40_000)
        if torchs:
            builder.loader(at + 5, 39_990)
        builder.op("aten::linear", at + 40_000, 60_000)
    return builder


def test_an_iterable_that_lightning_draws_from_goes_into_a_worker() -> None:
    found = judged(input_bound.RULE, world())
    assert found.ratio == pytest.approx(0.4)
    assert "no DataLoader makes" in found.finding.why
    assert "IterableDataset" in found.finding.fix[0].code
    assert "num_workers=1" in found.finding.fix[0].code
    assert not any("dataset[index]" in advice.code for advice in found.finding.fix)
    result = run(small_samples.RULE, world())
    assert (result.state, "num_workers=0" in result.reason) == (State.NOT_APPLICABLE, False)


@pytest.mark.parametrize(
    ("torchs", "advisor"),
    [
        (True, COLLECTED),  # a loader of torch's inside the range
        (False, COLLECTED | {"loader": {"num_workers": 4}}),
        (False, {}),  # by hand: what draws there nobody knows
    ],
)
def test_where_a_loader_of_torchs_may_draw_nothing_is_said_of_another(torchs: bool, advisor: dict[str, Any]) -> None:
    found = judged(input_bound.RULE, world(torchs=torchs, advisor=advisor)).finding
    assert "for the DataLoader" in found.why
    assert not any("IterableDataset" in advice.code for advice in found.fix)
