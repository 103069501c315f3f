"""How the zoo judges, on made-up answers."""

from dataclasses import replace
from pathlib import Path

import pytest

from showing import analyses

pytest.importorskip("torch")

from analyzer.cli.commands.zoo.chance import Estimate
from analyzer.cli.commands.zoo.score import Score, Total, judge, lines, size_problem
from analyzer.explain import Explained
from traces.collect.zoo import PRESETS
from traces.collect.zoo.preset import Preset, codes
from traces.collect.zoo.session import Timing

EXAMPLE = analyses.example()
FOUND = {finding.rule: finding.saving.ratio_max for finding in EXAMPLE.findings}
PLANTED, OTHER = sorted(FOUND, key=FOUND.__getitem__, reverse=True)[:2]


def _preset(**options: object) -> Preset:
    return Preset(name="made-up", loop=lambda device: iter(()), **options)  # type: ignore[arg-type]


def _score(gain: float, bound: float) -> Score:
    timing = Timing((1.0, 1.01, 1.0, 1.02), tuple(time * (1 - gain) for time in (1.0, 1.01, 1.0, 1.02)))
    return Score("made-up", codes("DL001"), {}, {}, Estimate(bound), timing, 1_000_000)


def test_right_missed_wrong_and_allowed() -> None:
    everything = frozenset(FOUND)
    score = judge(_preset(fires=codes(f"{PLANTED} ZZ999"), may=everything - {OTHER}), [Explained(EXAMPLE)], None)
    assert (score.right, set(score.missed)) == ({PLANTED}, {"ZZ999"})
    assert score.missed["ZZ999"] == "no such rule"
    assert set(score.wrong) == ({OTHER} if FOUND[OTHER] >= 0.02 else set())
    assert score.bound_ratio == pytest.approx(FOUND[PLANTED])
    assert judge(_preset(fires=everything), [Explained(EXAMPLE)], None).wrong == {}
    assert OTHER in judge(_preset(may=everything, silent=codes(OTHER)), [Explained(EXAMPLE)], None).wrong


def test_a_gain_beyond_its_bound_by_more_than_noise_is_a_failure() -> None:
    assert _score(gain=0.50, bound=0.40).overshoots
    assert not _score(gain=0.42, bound=0.40).overshoots
    assert not _score(gain=0.10, bound=0.40).overshoots
    assert "saves 50.0%" in Total((_score(0.50, 0.40),)).problems[0]


def test_what_a_bound_cannot_know_is_no_failure() -> None:
    score = _score(gain=0.50, bound=0.40)
    assert score.timing is not None
    warm = replace(score, timing=replace(score.timing, between=(0.61,) * 4))
    assert (warm.gain_ratio, warm.overshoots) == (pytest.approx(0.5), False)
    assert replace(score, timing=replace(score.timing, between=(0.50,) * 4)).overshoots


def test_precision_and_recall() -> None:
    good = _score(0.1, 0.4)
    bad = replace(good, right=frozenset(), missed={"SY001": "clear: nothing"}, wrong={"PY001": 0.2}, timing=None)
    total = Total((good, bad))
    assert total.rules == {"DL001": (1, 0, 0), "PY001": (0, 1, 0), "SY001": (0, 0, 1)}
    assert (total.precision, total.recall) == (0.5, 0.5)
    assert len(total.problems) == 2
    text = "\n".join(lines(total, {"gpu": "no CUDA device"}))
    assert "PY001 wrongly (20.0%); SY001 missed (clear: nothing)" in text
    assert "precision 0.500, recall 0.500" in text
    assert "skipped: no CUDA device" in text


def test_without_an_answer_nothing_is_said_to_be_right() -> None:
    quiet = replace(_score(0.1, 0.4), right=frozenset(), bound=None, timing=None)
    assert (Total((quiet,)).precision, Total((quiet,)).recall, Total((quiet,)).problems) == (None, None, [])
    assert lines(Total((quiet,)), {})[-1] == "precision unknown, recall unknown"
    assert Total(()).problems == ["no preset was judged"]


def test_a_busy_machine_is_a_failure_of_its_own() -> None:
    good = _score(0.1, 0.4)
    assert Total((good,) * 10, disturbed=1).problems == []
    assert Total((good,), disturbed=1).problems == ["1 presets could not be judged: the machine is too busy"]


def test_presets_are_sound() -> None:
    names = [preset.name for preset in PRESETS]
    assert len(names) == len(set(names))
    for preset in PRESETS:
        assert not preset.fires & preset.silent, preset.name
        assert not preset.fires & preset.may, preset.name
        if preset.remedy:
            remedy = next(other for other in PRESETS if other.name == preset.remedy)
            assert not preset.fires & remedy.fires, preset.name
            # Fewer periods know too little of what comes once in one.
            assert preset.active >= 5 * preset.period, preset.name
        assert preset.active % preset.period == 0, preset.name
    assert sum(not preset.fires and not preset.needs for preset in PRESETS) >= 4


def test_a_trace_too_large_to_keep(tmp_path: Path) -> None:
    (tmp_path / "t.json.gz").write_bytes(bytes(2_000))
    assert size_problem(tmp_path / "t.json.gz") == ""
    assert "2.0" not in size_problem(tmp_path / "t.json.gz", most=1_000)
    assert size_problem(tmp_path / "t.json.gz", most=1_000).startswith("t.json.gz has")
