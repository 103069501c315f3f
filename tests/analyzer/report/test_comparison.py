"""A comparison in every format: complete, the same each time, harmless whatever its names are, and telling nobody's."""

from __future__ import annotations

import json
import re

import msgspec
import pytest

from analyzer.compare.comparison import compare
from analyzer.compare.gate import GateResult, apply_gate
from analyzer.config.limit import Limit
from analyzer.report.comparison import formats, schema, text
from analyzer.report.redact import Project
from analyzer.report.redact.runs import redact_runs
from analyzer.report.style import Style
from running.json_schema import jsonschema
from showing import comparisons
from showing.pages import Page
from showing.snapshots import CONDITIONS, finding, snapshot

COMMAND = re.compile(r"^::(error|warning|notice) title=[^:,]*::.+$")


EXAMPLES = [comparisons.pair, comparisons.hostile, comparisons.empty, comparisons.slower]
GATE = GateResult(passed=False, lines=("FAILED step_ns<=+3%: +15.0 % of the step before",))


def plain(text: str) -> str:
    """The text without the escapes of its format."""
    return text.replace("\xa0", " ").replace("&nbsp;", " ").replace("%25", "%")


@pytest.mark.parametrize("form", formats.MODULES)
@pytest.mark.parametrize("build", EXAMPLES)
def test_every_format_is_the_same_each_time_and_holds_no_control_character(form, build):
    text = formats.render(build(), GATE, form)
    assert text == formats.render(build(), GATE, form)
    assert text.endswith("\n")
    unprintable = {character for character in text if not character.isprintable()} - {"\n"}
    assert unprintable <= {"json": {"\u202e"}, "html": {"\xa0"}}.get(form, set())


@pytest.mark.parametrize("form", ["text", "markdown", "html", "github"])
def test_every_format_gives_the_answer_and_what_became_of_the_findings(form):
    text = plain(formats.render(comparisons.pair(), None, form))
    assert "30.0 % faster" in text
    assert re.search("fixed.*DL001|DL001.*fixed", text)
    assert "confirmed: 3.0 ms faster" in text
    assert re.search("new.*XF001|XF001.*new", text)


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
@pytest.mark.parametrize(("build", "told"), [(comparisons.pair, True), (comparisons.slower, False)])
def test_that_a_new_finding_may_be_an_old_one_is_said_in_every_format(build, told, form):
    text = " ".join(plain(formats.render(build(), None, form)).split())
    assert ("New ones may have been there before" in text) == told


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_title_of_a_finding_is_told_whole(width):
    """Where the figures leave it no room it was cut in its middle: `Data loader kee…ing waiting`."""
    title = "Steps that a CUDA graph could replay"
    found = msgspec.structs.replace(finding("DL001", 4_000_000), title=title)
    comparison = compare([snapshot(findings=(found,), quiet=())], [snapshot(7_000_000)])
    shown = text.render(comparison, None, Style(width=width)).partition("\nFindings\n")[2].partition("\n\n")[0]
    heads, *lines = shown.splitlines()
    begin, end = heads.index("rule"), heads.index("promised before")
    assert " ".join(" ".join(line[begin:end].split()) for line in lines) == f"DL001 {title}"


@pytest.mark.parametrize("form", ["text", "markdown", "html"])
def test_causes_kernels_ops_and_spread_are_there(form):
    text = plain(formats.render(comparisons.pair(), None, form))
    for part in ("-4.0 ms", "gemm", "aten::mm", "AddmmBackward0", "30 steps of 1 run, median 10 ms, 10 ms to 10 ms"):
        assert part in text


@pytest.mark.parametrize("form", ["text", "markdown", "html", "github"])
def test_a_failed_gate_is_said(form):
    assert "FAILED step_ns" in formats.render(
        comparisons.slower(), apply_gate(comparisons.slower(), (Limit("step_ns", 0.03),)), form
    )


@pytest.mark.parametrize("build", EXAMPLES)
def test_json_follows_the_shipped_schema(build):
    document = json.loads(formats.render(build(), GATE, "json"))
    jsonschema.Draft202012Validator(schema.schema()).validate(document)


def test_the_shipped_schema_is_the_one_of_the_classes():
    assert schema.SHIPPED.read_text("utf-8") == schema.render(), "run python -m analyzer.report.comparison.schema"


@pytest.mark.parametrize("build", EXAMPLES)
def test_the_page_is_sound_and_asks_for_nothing(build):
    text = formats.render(build(), GATE, "html")
    page = Page(text)
    assert (page.wrong, page.open) == ([], [])
    assert len(page.ids) == len(set(page.ids))
    assert len(page.of("main")) == len(page.of("h1")) == len(page.of("title")) == 1
    assert max(b - a for a, b in zip(page.headings, page.headings[1:], strict=False)) <= 1
    assert all("aria-hidden" in svg or (svg.get("role") == "img" and svg["aria-label"]) for svg in page.of("svg"))
    assert len(page.of("table")) == len(page.of("caption"))
    assert page.of("meta")[2]["content"].startswith("default-src 'none'")
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text)
    assert "onerror=alert(1)>" not in text.replace("&gt;", "")
    assert "7*7" in text or build is not comparisons.hostile


def test_names_of_a_trace_are_text_in_markdown_and_in_the_log():
    text = formats.render(comparisons.hostile(), GATE, "markdown")
    assert len(text) < 60_000
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert not re.search(r"<img|@all|#1|__b__|::error", outside)
    for line in formats.render(comparisons.hostile(), GATE, "github").splitlines():
        assert COMMAND.match(line), line


def test_a_log_shows_no_more_than_the_runner_does():
    lines = formats.render(comparisons.hostile(), GATE, "github").splitlines()
    assert sum(line.startswith("::warning") for line in lines) <= 10


def test_what_cannot_be_judged_is_a_warning():
    other = snapshot(conditions=msgspec.structs.replace(CONDITIONS, device="A100"))
    text = formats.render(compare([snapshot()], [other]), GateResult(True, ("not judged",), judged=False), "github")
    assert text.startswith("::warning title=advisor ")
    assert "Gate: not judged." in text


def test_runs_are_redacted_with_the_names_of_kernels_and_traces():
    secret = "ghp_0123456789abcdefABCDEF"
    run = snapshot(
        name="gpu-box-17_123.456.pt.trace.json",
        kernels_ns={"/home/alice/proj/k.py": 1.0, "/home/bob/k.py": 2.0, "/home/carol/k.py": 3.0},
        ops_ns={f"load {secret}": 4.0},
        operators_ns={"/home/bob/k.py": 2.0, "/home/carol/k.py": 3.0},
        findings=(finding("DL001", 5),),
    )
    project = Project(roots=("/home/alice/proj",), names=("gpu-box-17",))
    (redacted,) = redact_runs([run], project)
    assert redacted.name == "worker_123.456.pt.trace.json"
    assert redacted.kernels_ns == {"k.py": 1.0, "…/k.py": 5.0}
    assert redacted.ops_ns == {"load [redacted]": 4.0}
    assert redacted.operators_ns == {"…/k.py": 5.0}
    assert (redacted.sha256, redacted.steps_ns, redacted.findings) == (run.sha256, run.steps_ns, run.findings)
    assert redact_runs([redacted], project) == [redacted]


def test_text_draws_both_sides_on_one_scale():
    comparison = comparisons.pair()
    after_title = formats.render(comparison, None, "text").partition("Where each step goes\n")[2]
    before, after = (line.split(maxsplit=1)[1] for line in after_title.splitlines()[:2])
    assert abs(len(after) / len(before) - comparison.after.mean_ns / comparison.before.mean_ns) < 0.02
    assert " compute " in before
    assert " compute " in after


def ribbons(page):
    """Class and the x of each corner of every ribbon of the wide drawing, in order."""
    wide = page.partition('<div class="narrow">')[0]
    found = re.findall(r'<path class="ribbon( moved)? c-([a-z-]+)" d="M([^"]*)Z"', wide)
    return {cause: (bool(moved), [float(one.split()[0]) for one in path.split("L")]) for moved, cause, path in found}


def test_ribbons_lead_from_each_cause_to_itself_and_stress_what_moved():
    drawn = ribbons(formats.render(comparisons.pair(), None, "html"))
    moved, (left, right, right_after, left_after) = drawn["input"]
    assert moved
    assert right - left == pytest.approx(960 * 0.4, rel=0.01)
    # It is gone: a point.
    assert left_after == right_after
    same = snapshot(10_000_000, waterfall_ns={"compute": 6e6, "input": 4e6})
    still = ribbons(formats.render(compare([same], [same]), None, "html"))
    assert {moved for moved, _ in still.values()} == {False}


def test_every_chart_of_both_sides_has_one_as_wide_as_a_telephone():
    page = formats.render(comparisons.pair(), None, "html")
    narrow = re.findall(r'<div class="narrow">.*?viewBox="0 0 (\d+) ', page)
    # Bars, changes, promises, steps.
    assert narrow == ["360"] * 4
    names = re.findall(r'<rect class="c-([a-z-]+)" x="0" y="[^"]*" width="10"', page)
    # A sample of its colour stands at each cause's name.
    assert set(names) == {"compute", "input", "copy"}
