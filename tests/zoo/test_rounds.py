"""Presets that other programs disturbed, or that failed, are recorded again at the end, but not for ever."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from analyzer.cli.commands import zoo
from analyzer.cli.commands.zoo.score import Score, lines
from showing import analyses
from traces.collect.zoo.preset import Preset
from traces.collect.zoo.session import Recorded


def score(name: str, **wrong: float) -> Score:
    """A preset in which nothing but `wrong` is wrong."""
    return Score(name, frozenset(), {}, wrong, None, None, 1)


@pytest.mark.parametrize(
    ("faults", "looks", "precision"), [([False], 1, None), ([True, False], 2, None), ([True, True], 2, 0.0)]
)
def test_what_fails_is_looked_at_once_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, faults: list[bool], looks: int, precision: float | None
) -> None:
    answers = iter(faults)
    explained = SimpleNamespace(explained=[SimpleNamespace(analysis=analyses.example())])
    monkeypatch.setattr("traces.collect.zoo.session.record_preset", lambda *_: Recorded([tmp_path / "t"], 0.01))
    monkeypatch.setattr("analyzer.job.explain_job", lambda paths: explained)
    monkeypatch.setattr(
        "analyzer.cli.commands.zoo.score.judge",
        lambda *_: score("healthy", **({"DL001": 0.2} if next(answers) else {})),
    )
    total, _ = zoo.run(tmp_path, ("healthy",), timing=False)
    assert list(answers) == []
    assert total.again == (("healthy",) if looks > 1 else ())
    assert total.precision == precision
    assert any("second" in line for line in lines(total, {})) is (looks > 1)


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
    monkeypatch.setattr("analyzer.cli.commands.zoo.score.judge", lambda preset, found, timed: score(preset.name))
    total, skipped = zoo.run(tmp_path, ("healthy", "reads-loss"), timing=False)
    assert tries == {"healthy": min(quiet_from, 3), "reads-loss": 1}
    assert {score.name for score in total.scores} == {"reads-loss"} | ({"healthy"} if judged else set())
    assert skipped == ({} if judged else {"healthy": "other programs had the core for 30% of the time"})
    assert total.disturbed == (0 if judged else 1)


def test_presets_that_no_time_is_left_for_are_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 250))
    explained = SimpleNamespace(explained=[SimpleNamespace(analysis=analyses.example())])
    monkeypatch.setattr(zoo, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr("traces.collect.zoo.session.record_preset", lambda *_: Recorded([tmp_path / "t"], 0.01))
    monkeypatch.setattr("analyzer.job.explain_job", lambda paths: explained)
    monkeypatch.setattr("analyzer.cli.commands.zoo.score.judge", lambda preset, found, timed: score(preset.name))
    names = ("healthy", "reads-loss", "convolutions", "attention")
    total, skipped = zoo.run(tmp_path, names, timing=False)
    assert [score.name for score in total.scores] == list(names[:2])
    assert list(skipped) == list(names[2:])
    assert total.too_busy


def test_a_preset_that_cannot_run_leaves_the_others_their_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def record(preset: Preset, folder: Path, attempts: int) -> Recorded:
        if preset.name == "healthy":
            raise RuntimeError("CUDA out of memory. Tried to allocate 9 GiB\nmore")
        (folder / "reads-loss.json.gz").write_bytes(bytes(1_600_000))
        return Recorded([folder / preset.name])

    explained = SimpleNamespace(explained=[SimpleNamespace(analysis=analyses.example())])
    monkeypatch.setattr("traces.collect.zoo.session.record_preset", record)
    monkeypatch.setattr("analyzer.job.explain_job", lambda paths: explained)
    monkeypatch.setattr("analyzer.cli.commands.zoo.score.judge", lambda preset, found, timed: score(preset.name))
    total, _ = zoo.run(tmp_path, ("healthy", "reads-loss"), timing=False)
    assert [score.name for score in total.scores] == ["reads-loss"]
    assert total.disturbed == 0
    assert total.problems == [
        "healthy failed: CUDA out of memory. Tried to allocate 9 GiB",
        "reads-loss.json.gz has 1.6 MB, more than 1.5",
    ]
