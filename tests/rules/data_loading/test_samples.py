"""The loader's rules on this project's own recordings: what they say, and which of them is the card."""

from __future__ import annotations

import pytest

from analyzer.analysis import Analysis
from analyzer.explain import Options, analyse
from recorded import SAMPLES


def loading(name: str) -> Analysis:
    return analyse(SAMPLES / f"{name}.json.gz", Options(select=("DL",)))


@pytest.mark.parametrize("name", ["baseline", "cnn_workers0"])
def test_small_data_in_the_training_process(name: str) -> None:
    analysis = loading(name)
    found = {finding.rule: finding for finding in analysis.findings}
    assert {"DL001", "DL002", "DL006"} <= set(found)
    # One action, one card: keep the data in memory. Every other finding points to it.
    assert [card.rule for card in analysis.findings if not card.explained_by] == ["DL006"]
    assert "randperm" in found["DL006"].fix[0].code
    # Two cores: no bound below what they can do, no more workers than one, and a warning.
    assert found["DL002"].confidence == "low"
    assert found["DL002"].saving.ratio_max <= found["DL001"].saving.ratio_max
    assert all("num_workers=2" not in fix.code for finding in analysis.findings for fix in finding.fix)


def test_the_baselines_workers_cannot_give_more_than_half() -> None:
    found = {finding.rule: finding for finding in loading("baseline").findings}
    # Two cores do the work of one in half the time at best; without loading a quarter of the step is left.
    assert found["DL002"].saving.stated_ratio == pytest.approx(0.5, abs=0.01)
    assert found["DL006"].saving.stated_ratio > 0.7


def test_workers_that_hide_the_loading() -> None:
    assert loading("cnn_workers2").findings == ()
