"""The page without a browser: its structure, its policy, its data."""

from __future__ import annotations

import base64
import hashlib
import re

import msgspec
import pytest

from analyzer.opening import saved as load
from analyzer.report import html, json, markdown, redact
from analyzer.report.drawing import palette
from analyzer.report.html.step_section import step_section
from analyzer.tui.look import themes
from showing import analyses
from showing.pages import Page

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
]  # fmt: skip
INTERACTIVE = {"a", "button", "input", "summary"}


@pytest.mark.parametrize("build", EXAMPLES)
def test_structure_can_be_read_by_a_machine(build):
    text = html.render(build())
    page = Page(text)
    assert page.wrong == []
    assert page.open == []
    assert len(page.ids) == len(set(page.ids))
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert len(page.of("main")) == len(page.of("h1")) == len(page.of("title")) == 1
    steps = [after - before for before, after in zip(page.headings, page.headings[1:], strict=False)]
    assert max(steps) <= 1, "a heading skips a level"
    assert all("aria-hidden" in svg or (svg.get("role") == "img" and svg["aria-label"]) for svg in page.of("svg"))
    assert len(page.of("table")) == len(page.of("caption"))
    assert all("scope" in head for head in page.of("th"))
    assert all("tabindex" in region and region.get("aria-label") for region in page.of("div") if "role" in region)
    targets = [link["href"][1:] for link in page.of("a") if link["href"].startswith("#")]
    assert targets
    assert set(targets) <= set(page.ids)
    labelled = {label["for"] for label in page.of("label")}
    assert {field["id"] for field in page.of("input")} <= labelled


@pytest.mark.parametrize("build", EXAMPLES)
def test_nothing_is_asked_of_the_network_and_nothing_runs_but_one_script(build):
    text = html.render(build())
    page = Page(text)
    assert {"link", "img", "iframe", "object", "embed", "base", "form"}.isdisjoint(tag for tag, _ in page.tags)
    assert not [name for _, values in page.tags for name in values if name.startswith("on") or name in ("src", "style")]
    assert [script.get("type") for script in page.of("script")] == ["application/json", None]
    assert all(link["href"].startswith(("https://pytorch.org/", "#")) for link in page.of("a"))
    assert "@import" not in text.partition("</style>")[0]
    assert "url(" not in text.partition("</style>")[0]


def test_policy_names_the_script_and_the_style_that_are_there():
    text = html.render(analyses.example())
    policy = Page(text).of("meta")[2]["content"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for pattern in (r"<style>(.*?)</style>", r"<script>(.*?)</script>"):
        content = re.search(pattern, text, re.DOTALL).group(1)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_all_is_there_without_the_script():
    text = html.render(analyses.example())
    hidden = [values for tag, values in Page(text).tags if "hidden" in values]
    assert all("needs-script" in values["class"] for values in hidden)
    for piece in (
        "loss.detach()",
        "GPU idle in loader",
        "cudaStreamSynchronize",
        "ME002",
        "NVIDIA H100",
        "autograd::engine",
    ):
        assert piece in text


@pytest.mark.parametrize("build", EXAMPLES)
def test_the_page_opens_again_as_the_same_analysis(build, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html.render(build()), encoding="utf-8")
    assert load.is_report(path)
    assert load.load(path) == build()


def huge(findings: int, evidence: bool):
    base = analyses.example()
    one = base.findings[1] if evidence else msgspec.structs.replace(base.findings[1], evidence=())
    wide = tuple(
        analyses.doc.Series(title=f"s{number}", unit="ns", values=tuple(float(i) for i in range(4_000)))
        for number in range(8 if evidence else 0)
    )
    return msgspec.structs.replace(
        base,
        findings=tuple(
            msgspec.structs.replace(one, id=f"X-{i}", evidence=wide, explained_by=()) for i in range(findings)
        ),
    )


def test_data_that_are_too_large_lose_their_evidence_first(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html.render(huge(40, evidence=True)), encoding="utf-8")
    opened = load.load(path)
    assert len(opened.findings) == 40
    assert all(finding.evidence == () for finding in opened.findings)
    assert "without the evidence" in path.read_text(encoding="utf-8")


def test_data_that_never_fit_are_left_out_and_said_to_be(tmp_path):
    path = tmp_path / "report.html"
    path.write_text(html.render(huge(2_500, evidence=False)), encoding="utf-8")
    assert "write them with -o report.json" in path.read_text(encoding="utf-8")
    with pytest.raises(load.UnreadableTraceError, match="without its data"):
        load.load(path)


def test_a_crowded_timeline_stays_small():
    lanes = tuple(
        analyses.doc.Lane(name=f"lane {row}", kind="host", spans=tuple(
            analyses.doc.Span(start_ns=i * 1_000_000, dur_ns=900_000, label="", cause=("input", "sync")[i % 2])
            for i in range(400)))
        for row in range(9)
    )  # fmt: skip
    crowded = analyses.example(timeline=analyses.doc.Timeline(step=4, dur_ns=403_000_000, lanes=lanes))
    drawn = re.findall(r"<svg viewBox=\"0 0 960.*?</svg>", html.render(crowded), re.DOTALL)
    assert max(piece.count("<rect") for piece in drawn) <= 2_000


def test_unusable_trace_gets_no_figures():
    text = html.render(analyses.unusable())
    shown = text.partition('<script type="application/json"')[0]
    assert "prof.step()" in shown
    assert "8,120 of 12,431 launches have no kernel." in shown
    assert "a step now" not in shown
    assert "reachable" not in shown


def opened_and_led_to(text: str) -> tuple[list[str], list[str]]:
    """Which findings are open, and where the line leads that says what to change first."""
    return re.findall(r'<details class="finding \w+" id="([^"]+)" open', text), re.findall(
        r'<p class="first"><strong>First:</strong> <a href="#([^"]+)">', text
    )


def test_what_to_change_first_stands_at_the_top_and_leads_to_its_finding():
    analysis = analyses.example()
    text = html.render(analysis)
    best, second = analysis.cards[:2]
    assert opened_and_led_to(text) == ([best.id], [best.id])
    assert text.index('<p class="first">') < text.index('id="where"')
    assert best.title in text.partition('<p class="first">')[2].partition("</p>")[0]
    # What the team lives with is nothing to begin with.
    findings = [
        msgspec.structs.replace(one, accepted="as it is") if one.id == best.id else one for one in analysis.findings
    ]
    assert opened_and_led_to(html.render(msgspec.structs.replace(analysis, findings=tuple(findings)))) == (
        [second.id], [second.id]
    )  # fmt: skip


@pytest.mark.parametrize("build", [analyses.healthy, analyses.unusable])
def test_where_nothing_is_to_change_no_line_says_what(build):
    assert opened_and_led_to(html.render(build())) == ([], [])


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_labels_can_be_read_on_every_cause(dark):
    causes, ink = (palette.DARK, "#121212") if dark else (palette.LIGHT, "#FFFFFF")
    assert min(contrast(colour, ink) for colour in causes.values()) >= 4.5


def test_colours_are_those_of_the_terminal():
    assert (palette.LIGHT, palette.DARK) == (themes.CAUSES_LIGHT, themes.CAUSES_DARK)


def test_same_analysis_same_page():
    assert html.render(analyses.example()) == html.render(analyses.example())


def test_slowest_step_is_drawn_where_there_is_one():
    assert "Step 6, the slowest: 457 ms" in html.render(analyses.example())
    assert "the slowest" not in html.render(analyses.example(slowest=None))


def ranked():
    rows = tuple(
        analyses.doc.RankRow(
            rank=rank, name=f"box-{rank}_1.2.pt.trace.json", step_ns=412_000_000, bound_by="communication",
            verdict="communication-bound", in_collectives_ns=None if rank else 90_000_000, late=rank == 0,
        )
        for rank in range(2)
    )  # fmt: skip
    return analyses.example(ranks=rows)


def test_ranks_stand_in_page_and_markdown():
    for text in (html.render(ranked()), markdown.render(ranked())):
        assert "late: the others wait for it" in text
    page = Page(html.render(ranked()))
    assert page.wrong == []


def test_names_of_other_ranks_machines_are_redacted():
    assert "box-1" not in json.render(redact.redact(ranked(), redact.Project()))


def test_a_small_finding_keeps_its_fix_folded():
    analysis = analyses.example()
    (small, *_) = analysis.minor
    advice = analyses.doc.Advice(language="python", code="loader.prefetch_factor = 4", note="Prefetch more.")
    changed = msgspec.structs.replace(small, fix=(advice,), verify="Record again.")
    findings = tuple(changed if one.id == small.id else one for one in analysis.findings)
    section = re.search(
        r"<h3>Notes.*?</ul>", html.render(msgspec.structs.replace(analysis, findings=findings)), re.DOTALL
    ).group()
    folded = re.search(r"<details><summary>What to change</summary>(.*?)</details>", section, re.DOTALL).group(1)
    assert "loader.prefetch_factor = 4" in folded
    assert "Record again." in folded
    bare = tuple(msgspec.structs.replace(one, fix=()) if one.id == small.id else one for one in analysis.findings)
    without = html.render(msgspec.structs.replace(analysis, findings=bare))
    assert without.count("What to change") == section.count("What to change") - 1


@pytest.mark.parametrize("slow", [True, False])
def test_no_bar_is_called_green_that_tells_of_a_slow_step(slow: bool) -> None:
    example = analyses.example()
    times = example.summary.step_ns
    steps = tuple(
        msgspec.structs.replace(row, used=True, dur_ns=times.median * (4 if slow else 1))
        if row.step == example.summary.representative_step
        else row
        for row in example.steps
    )
    line = step_section(msgspec.structs.replace(example, steps=steps)).steps_line
    assert "is drawn above" in line
    assert ("its bar is green" in line) is not slow
