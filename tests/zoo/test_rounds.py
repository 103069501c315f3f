"""Presets that other programs disturbed are recorded again at the end, but not for ever."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

import analyses
from analyzer.cli import zoo
from traces.collect.zoo.preset import Preset
from traces.collect.zoo.session import Recorded


@pytest.mark.parametrize(("quiet_from", "judged"), [(1, True), (3, True), (4, False)])
def test_a_disturbed_preset_gets_more_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quiet_from: int, judged: bool
) -> None:
    tries: Counter[str] = Counter()

    def record(preset: Preset, folder: Path, attempts: int) -> Recorded:
        tries[preset.name] += 1
        busy = preset.name == "healthy" and tries[preset.name] < quiet_from
        return Recorded([folder / preset.name], 0.3 if busy else 0.01)

    explained = SimpleNamespace(explained=[SimpleNamespace(analysis=analyses.example())])
    monkeypatch.setattr("traces.collect.zoo.session.record_preset", record)
    monkeypatch.setattr("analyzer.job.explain_job", lambda paths: explained)
    total, skipped = zoo.run(tmp_path, ("healthy", "reads-loss"), timing=False)
    assert tries == {"healthy": min(quiet_from, 3), "reads-loss": 1}
    assert {score.name for score in total.scores} == {"reads-loss"} | ({"healthy"} if judged else set())
    assert skipped == ({} if judged else {"healthy": "other programs had the core for 30% of the time"})
    assert total.disturbed == (0 if judged else 1)
