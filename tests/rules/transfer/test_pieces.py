"""XF001 and XF002 where large copies take turns with kernels: weights that are kept on the host are no batches."""

from __future__ import annotations

import pytest

from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.transfer.exposed_input_copies import RULE as EXPOSED
from rules.transfer.pageable_copies import RULE as PAGEABLE
from running.one_rule import judged


def world(*, pieces: int, kernels: int, together: bool = False) -> TraceBuilder:
    """Three steps of 100 ms: so many copies of 3 ms, each before its kernels of 0.5 ms; or all of them before all kernels."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 100_000.0
        builder.step(number, at, 100_000)
        order = (
            ["copy"] * pieces + ["kernel"] * (pieces * kernels)
            if together
            else (["copy"] + ["kernel"] * kernels) * pieces
        )
        for what in order:
            if what == "copy":
                builder.copy("HtoD", at, 3_010, start=at + 5, dur=3_000, size=8 << 20)
                at += 3_015
            else:
                builder.launch(at, kernel_start=at + 6, kernel_dur=500, call_dur=4, op="aten::mm")
                at += 508
    return builder


@pytest.mark.parametrize("rule", [EXPOSED, PAGEABLE])
def test_pieces_between_kernels_are_weights_rather_than_batches(rule: Rule) -> None:
    found = judged(rule, world(pieces=20, kernels=3))
    assert "They take turns with kernels: weights or activations" in found.finding.why
    assert "atches" not in (found.finding.title or "atches")
    assert not any("DataLoader" in fix.code or "iter(loader)" in fix.code for fix in found.finding.fix)
    # What stays on the device is not sent: all of the copies may go.
    assert found.ns_per_step >= 20 * 3_000_000


@pytest.mark.parametrize("rule", [EXPOSED, PAGEABLE])
@pytest.mark.parametrize("arguments", [{"pieces": 20, "kernels": 3, "together": True}, {"pieces": 2, "kernels": 12}])
def test_batches_are_sent_before_their_kernels(rule: Rule, arguments: dict[str, int]) -> None:
    found = judged(rule, world(**arguments)).finding
    assert "take turns" not in found.why
    assert found.title is None
    assert any("loader" in fix.code for fix in found.fix)
