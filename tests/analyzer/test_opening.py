"""A report opened again shows what it holds."""

import pytest

from analyzer.opening.saved import is_report, load
from analyzer.report import json
from showing import analyses
from traces.errors import UnreadableTraceError

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
]  # fmt: skip


@pytest.mark.parametrize("build", EXAMPLES)
def test_json_opens_as_it_was_written(build, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.render(build()), encoding="utf-8")
    assert load(path) == build()


@pytest.mark.parametrize(
    "text",
    [
        '{"traceEvents": []}',
        "",
        "<html></html>",
        '{"schemaVersion": 1, "traceEvents": []}',
        "<!doctype html>hello",
        "[]",
    ],
)
def test_anything_else_is_left_to_the_reader_of_traces(text, tmp_path):
    path = tmp_path / "file"
    path.write_text(text)
    assert load(path) is None


def test_no_file_and_no_readable_name_are_no_report(tmp_path):
    assert not is_report(tmp_path / "absent")
    assert not is_report(tmp_path)


@pytest.mark.parametrize("cut", [100, 5_000])
def test_a_cut_report_says_so(cut, tmp_path):
    path = tmp_path / "report.json"
    path.write_text(json.render(analyses.example())[:cut])
    with pytest.raises(UnreadableTraceError, match="not a complete report"):
        load(path)


def test_a_later_minor_version_may_hold_more(tmp_path):
    path = tmp_path / "report.json"
    text = json.render(analyses.example()).replace(
        '"schema_version": "1.0"', '"schema_version": "1.7",\n  "new": [1]', 1
    )
    path.write_text(text)
    assert load(path).schema_version == "1.7"


async def test_the_terminal_shows_a_report_too(tmp_path):
    from analyzer.explain import Options
    from analyzer.report import html
    from analyzer.tui.work.job import job_for
    from analyzer.tui.work.messages import Analysed

    path = tmp_path / "report.html"
    path.write_text(html.render(analyses.example()), encoding="utf-8")
    posted = []
    job_for([path], Options()).run(posted.append)
    assert [type(message) for message in posted] == [Analysed]
