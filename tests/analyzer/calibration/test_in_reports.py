"""What measured pairs say of a rule stands beside its findings, and makes them less sure where figures were exceeded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from analyzer.analysis import Calibrated, FindingDocument
from analyzer.calibration.pairs import Pair, records
from analyzer.cli.main import main
from analyzer.explain import Options, analyse
from analyzer.page.findings import savings
from analyzer.report import html, markdown, text
from analyzer.tui.draw.finding import story
from analyzer.tui.look.glyphs import UNICODE
from building.builders import TraceBuilder
from running.recorded import ROOT
from showing import ui
from traces.collect.output.attached import attach

SAMPLE = ROOT / "traces/samples/baseline.json.gz"


def pair(promised: float, measured: float, *, noise: float = 0.02, on_device: bool = True, kind: str = "bound") -> Pair:
    return Pair(
        rule="DL001", source="tune", name="workers=2", promised_ratio=promised, measured_ratio=measured, noise_ratio=noise,
        date="2026-11-22", kind=kind, on_device=on_device,  # type: ignore[arg-type]
    )  # fmt: skip


def found(trace: Path, *pairs: Pair) -> FindingDocument:
    analysis = analyse(trace, Options(select=("DL001",), calibrated=tuple(records(pairs))))
    return analysis.findings[0]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A loader keeps a device waiting: a bound."""
    return ui.loader_bound(memory=False).write(tmp_path / "trace.json")


KEPT = pair(0.4, 0.2)
EXCEEDED = pair(0.4, 0.5)


@pytest.mark.parametrize(
    ("pairs", "lower"),
    [
        ((), False),
        ((KEPT,), False),
        ((EXCEEDED,), True),
        ((KEPT, EXCEEDED), True),
        ((*[KEPT] * 9, EXCEEDED), False),  # one in ten is what noise does
        ((pair(0.4, 0.41),), False),  # beyond, but within the noise
        ((pair(0.4, 0.5, on_device=False),), False),  # without a device nothing is said of one
    ],
)
def test_figures_that_were_exceeded_beyond_noise_make_a_rule_less_sure(
    pairs: tuple[Pair, ...], lower: bool, trace: Path
) -> None:
    assert found(trace).confidence == "high"
    assert found(trace, *pairs).confidence == ("medium" if lower else "high")


def test_an_estimate_is_exceeded_beyond_the_range_that_is_quoted_beside_it() -> None:
    assert not pair(0.4, 0.49, noise=0.0, kind="estimate").is_exceeded
    assert pair(0.4, 0.51, noise=0.0, kind="estimate").is_exceeded
    assert pair(0.4, 0.41, noise=0.0, kind="bound").is_exceeded


def test_pairs_on_a_device_and_without_one_are_counted_apart() -> None:
    both = list(records([KEPT, EXCEEDED, pair(0.5, 0.5, on_device=False)]))
    assert [(one.on_device, one.pairs, one.within) for one in both] == [(False, 1, 1), (True, 2, 1)]


def test_every_document_says_how_often_the_bound_was_reached(trace: Path) -> None:
    calibrated = (Calibrated(rule="DL001", pairs=14, within=14, reached_ratio=0.62, on_device=True),)
    analysis = analyse(trace, Options(select=("DL001",), calibrated=calibrated))
    said = "On 14 measured pairs the fix brought 62 % of this bound in the median"
    assert savings.calibrated(analysis.findings[0]) == f"{said}."
    from analyzer.page.findings.card import card_of

    card = card_of(analysis.findings[0], analysis)
    for shown in (
        text.render(analysis),
        markdown.render(analysis),
        html.render(analysis),
        story(card, 90, UNICODE).plain,
    ):
        # In Markdown it is a part of a sentence.
        assert said[1:] in " ".join(shown.replace("\xa0", " ").replace("&nbsp;", " ").split())


def test_what_was_exceeded_is_said(trace: Path) -> None:
    said = savings.calibrated(found(trace, KEPT, EXCEEDED, EXCEEDED))
    assert "more came than was stated on 2, which lowers the confidence" in said


def test_explain_knows_the_pairs_that_ship(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(SAMPLE), "--isolated", "--full"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "measured pair without a device the fix brought" in shown


ROW = {
    "change": "workers=2", "rules": ["DL001"], "verdict": "helps", "measured_ratio": 0.64, "low_ratio": 0.6, "high_ratio": 0.67,
}  # fmt: skip


def tuned(trace: Path, rows: object) -> FindingDocument:
    attach(trace, "tuned", rows)
    return found(trace)


def test_a_recording_of_a_tuned_program_shows_measured_beside_promised(trace: Path) -> None:
    slower = ROW | {
        "change": "in-memory",
        "verdict": "worse",
        "measured_ratio": -0.1,
        "low_ratio": -0.2,
        "high_ratio": -0.05,
    }
    one = tuned(
        trace, [ROW, slower, ROW | {"rules": ["OP001"]}, ROW | {"change": "prefetch=4", "verdict": "no effect"}]
    )
    assert savings.tried(one) == (
        "Tried on this program: workers=2 saved 64 % of the step (60 to 67 %), "
        "in-memory made the step longer by 10 % (5.0 to 20 %), prefetch=4: no effect."
    )


def test_what_is_a_gain_in_longer_runs_only_says_so(trace: Path) -> None:
    one = tuned(trace, [ROW | {"change": "in-memory=samples", "pays_after_steps": 530}])
    assert savings.tried(one).endswith("saved 64 % of the step (60 to 67 %), in runs of more than 530 steps.")


@pytest.mark.parametrize(
    "rows",
    [
        [ROW | {"measured_ratio": 2.0}], [ROW | {"measured_ratio": "much"}], [ROW | {"verdict": "splendid"}], [ROW | {"rules": 3}],
        [ROW | {"pays_after_steps": 0}], {"a": 1}, "helps", [ROW] * 65, [ROW | {"change": "x" * 61}], [{}], 3,
    ],
)  # fmt: skip
def test_what_is_no_such_result_is_left_out(rows: object, trace: Path) -> None:
    assert tuned(trace, rows).tried == ()


def test_names_from_a_file_are_shown_and_not_sent(trace: Path) -> None:
    assert "\x1b" not in savings.tried(tuned(trace, [ROW | {"change": "\x1b[31mred"}]))


def test_attaching_leaves_the_events_as_they_are(tmp_path: Path) -> None:
    copy = tmp_path / "baseline.json"
    shutil.copy(SAMPLE, copy)  # compressed, whatever its name
    before = analyse(SAMPLE)
    attach(copy, "tuned", [ROW])
    after = analyse(copy)
    assert after.summary == before.summary
    assert [one.id for one in after.findings] == [one.id for one in before.findings]


def test_a_trace_of_others_gets_metadata_of_its_own(tmp_path: Path) -> None:
    builder = TraceBuilder()
    builder.step(0, 0, 100_000)
    path = builder.write(tmp_path / "trace.json")
    attach(path, "tuned", [ROW])
    assert b'"tuned"' in path.read_bytes()
