"""What advisor wrote itself is called what it is where a trace is asked for, not an error message of a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from analyzer.analysis.tuning import Tuning
from analyzer.cli.main import main
from analyzer.report.tuning import html, json
from building.builders import TraceBuilder

SAYS = {
    "report.json": "is a report that advisor wrote",
    "report.html": "is a page that advisor wrote",
    "comparison.json": "is a comparison that advisor wrote",
    "comparison.html": "is a page that advisor wrote",
    "rank.json": "is the summary of a rank",
    "tuning.json": "is the result of a tuning",
    "tuning.html": "is a page that advisor wrote",
    ".advisor/baselines/before.json": "is a baseline that advisor keeps",
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written")
    builder = TraceBuilder()
    for number in range(5):
        builder.step(number, number * 10_000, 10_000).op("aten::mm", number * 10_000, 9_000)
    trace = str(builder.write(folder / "trace.json"))
    reports, comparisons = (
        [part for ending in ("json", "html") for part in ("-o", str(folder / f"{name}.{ending}"))]
        for name in ("report", "comparison")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(["explain", trace, *reports]) == 0
        assert main(["compare", trace, trace, *comparisons]) == 0
        assert main(["summarize", trace, "-o", str(folder / "rank.json")]) == 0
        assert main(["baseline", "save", "before", trace]) == 0
    tuning = Tuning(
        tool="0", script="train.py", arguments=(), machine="2 cores", torch=None, date="2026-11-29", seed=0, steps=40, warmup=9,
        baseline_step_ns=10**8, baseline_runs=5, noise_ratio=0.01, trials=(), recommended=(), together=None, by_hand=(),
        seconds=60.0, complete=True,
    )  # fmt: skip
    (folder / "tuning.json").write_text(json.render(tuning), encoding="utf-8")
    (folder / "tuning.html").write_text(html.render(tuning), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", SAYS)
def test_a_document_of_ours_is_no_trace_to_copy(
    name: str, written: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["slim", str(written / name), "-o", str(tmp_path / "small.json")]) == 3
    assert SAYS[name] in capsys.readouterr().err
    assert not (tmp_path / "small.json").exists()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("tuning.json", "is the result of a tuning, not a report of a run"),
        ("tuning.html", "is the result of a tuning, not a report of a run"),
        ("comparison.html", "is a comparison of two runs"),
        (".advisor/baselines/before.json", "`advisor explain TRACE --baseline FILE`"),
    ],
)
def test_what_is_no_report_of_a_run_is_not_explained(
    name: str, says: str, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The result of a tuning was said to be cut, or written by another version."""
    assert main(["explain", str(written / name)]) == 3
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "what"), [("rank.json", "summary"), ("report.json", "report"), ("report.html", "report")]
)
@pytest.mark.parametrize("option", ["--steps", "--select"])
def test_steps_and_rules_are_not_chosen_where_the_trace_is_gone(
    option: str, name: str, what: str, written: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a summary they were passed over without a word."""
    value = "1-2" if option == "--steps" else "DL"
    assert main(["explain", str(written / name), option, value]) == 2
    assert f"{name} is a {what}: its steps and rules were chosen" in capsys.readouterr().err
    assert main(["explain", str(written / name)]) == 0
