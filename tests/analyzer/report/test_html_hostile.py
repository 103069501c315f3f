"""The page in a real browser: hostile names, wherever a trace can choose one, execute nothing, and nothing is requested."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import msgspec
import pytest

from analyzer.job import explain_job
from analyzer.ranks.files import encode
from analyzer.ranks.summary import FindingPart
from analyzer.report import html, svg
from analyzer.report.comparison import html as comparison_page
from analyzer.report.from_trace import FromTrace
from jobs.simulated import MS, Job
from showing import analyses, comparisons
from showing.browser import document_and_requests, needs_chromium, title_of
from showing.traced import curve, lanes_of, operator

pytestmark = [needs_chromium, pytest.mark.slow]
PAYLOADS = (
    "</script><script>document.title='owned';fetch('http://canary.invalid/a')</script>",
    "<img src=http://canary.invalid/b onerror=\"document.title='owned'\">",
    "\"><svg onload=document.title='owned'><style>@import 'http://canary.invalid/c'</style>",
    "</style><link rel=stylesheet href=http://canary.invalid/d>",
    "</title><iframe src=http://canary.invalid/e></iframe>",
    "<!--<script>document.title='owned'",
    "{{ 7*7 }}{% raw %}",
    "javascript:document.title='owned'",
    "http://canary.invalid/f",
)


def attacked():
    """The example with a payload in every string a trace can choose."""
    base = analyses.example()
    replace = msgspec.structs.replace
    names = iter(PAYLOADS * 200)
    every = " ".join(PAYLOADS)

    def spoil(one):
        fixes = tuple(replace(fix, code=every, note=every) for fix in one.fix)
        columns = (analyses.doc.Column(title=every, unit="text"),)
        table = analyses.doc.Table(title=next(names), columns=columns, rows=tuple((one,) for one in PAYLOADS))
        place = analyses.doc.Location(file=next(names), line=1, function=next(names))
        return replace(
            one, id=next(names), rule=next(names)[:12], name=every, family=every, title=every, why=every, caveats=(every,),
            fix=fixes, evidence=(*one.evidence, table, analyses.bars(every, "ns", **{every: 1.0})), verify=every,
            location=place, references=PAYLOADS, saving=replace(one.saving, basis=every),
        )  # fmt: skip

    trace = replace(
        base.trace, name=PAYLOADS[0], sha256=every, device=replace(base.trace.device, name=every),
        versions=analyses.doc.Versions(torch=every, cuda=every, rocm=every, python=every),
    )  # fmt: skip
    lanes = tuple(
        replace(lane, name=next(names), spans=tuple(replace(span, label=next(names)) for span in lane.spans))
        for lane in base.timeline.lanes
    )
    reasons = tuple(analyses.doc.Reason(code=None, message=payload, count=1) for payload in PAYLOADS)
    return replace(
        base, trace=trace, findings=tuple(map(spoil, base.findings)), timeline=replace(base.timeline, lanes=lanes),
        checks=tuple(replace(one, reason=every, title=every) for one in base.checks),
        trust=analyses.doc.Trust(verdict="caution", reasons=reasons), tool=replace(base.tool, version=every),
        steps=tuple(replace(row, reason=every if row.reason else None) for row in base.steps),
        summary=replace(base.summary, verdict=replace(base.summary.verdict, text=every)),
    )  # fmt: skip


def test_hostile_names_run_nothing_and_request_nothing(tmp_path):
    page = tmp_path / "page.html"
    attack = comparisons.against(attacked(), comparisons.hostile(PAYLOADS), PAYLOADS[1])
    page.write_text(html.render(attack), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document).startswith("PyTorch performance report")
    assert [address for address in asked if "canary" in address] == []
    assert 'href="javascript:' not in document
    # Our own script ran: it shows what only works with it.
    assert re.search(r'class="copy needs-script">Copy', document)


def test_hostile_names_of_a_job_run_nothing(tmp_path):
    """A summary may come from anybody, and every rank may have another text in every place."""
    made = Job(dp=2, late_host={1: 8 * MS}).run()
    every = " ".join(PAYLOADS)
    files = []
    for rank in range(2):
        summary = made.summary(rank)
        replace = msgspec.structs.replace
        hostile = replace(
            summary, file=every, tool_version=every, host=every, device=every, doubts=(every,), verdict=every, backend=every,
            trust="caution", bound_by=every, kinds=tuple(every for _ in summary.kinds),
            groups=tuple(replace(one, name=every, description=every) for one in summary.groups),
            kernels=tuple(replace(one, name=f"{every}{one.name}") for one in summary.kernels),
            findings=(FindingPart(id=every, rule=every, title=every, severity=every, ns_per_step=5_000_000),),
        )  # fmt: skip
        files.append(tmp_path / f"rank_{rank}<img src=x onerror=document.title='owned'>.json")
        files[-1].write_bytes(encode(hostile, compress=False))
    page = tmp_path / "page.html"
    page.write_text(html.render(explain_job(files, only_first=True).first.analysis), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert "canary" in document, "the names are on the page"
    assert title_of(document).startswith("PyTorch performance report")
    assert [address for address in asked if "canary" in address] == []
    assert 'href="javascript:' not in document


def test_this_test_would_see_an_attack(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>fine</title><p>{PAYLOADS[1]}{PAYLOADS[3]}", encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document) == "owned"
    assert any("canary.invalid/b" in address for address in asked)


def test_the_policy_would_stop_what_escaping_missed(tmp_path):
    page = tmp_path / "page.html"
    text = html.render(analyses.example()).replace("<main>", f"<main>{PAYLOADS[0]}{PAYLOADS[1]}{PAYLOADS[3]}")
    page.write_text(text, encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document) != "owned"
    assert [address for address in asked if "canary" in address] == []


def test_picture_with_hostile_names_runs_and_requests_nothing(tmp_path):
    picture = tmp_path / "picture.svg"
    picture.write_text(svg.render(attacked()), encoding="utf-8")
    document, asked = document_and_requests(picture, tmp_path / "profile")
    assert "owned" not in title_of(document)
    assert [address for address in asked if "canary" in address] == []
    # A browser stops at what is no XML, and would run nothing of it either.
    drawn = list(ElementTree.parse(picture).iter())
    assert {one.tag.rpartition("}")[2] for one in drawn} <= {
        "svg",
        "title",
        "style",
        "rect",
        "g",
        "text",
        "path",
        "line",
    }
    assert not any(name.startswith("on") or "href" in name for one in drawn for name in one.attrib)
    assert any("canary" in (one.text or "") for one in drawn)


def test_comparison_of_hostile_names_runs_and_requests_nothing(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(comparison_page.render(comparisons.hostile(PAYLOADS)), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert "owned" not in title_of(document)
    assert [address for address in asked if "canary" in address] == []


def test_hostile_names_in_the_timeline_run_nothing(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(html.render(attacked(), lanes_of(PAYLOADS, PAYLOADS[0])), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document).startswith("PyTorch performance report")
    assert [address for address in asked if "canary" in address] == []
    assert re.search(r'id="viewer" class="viewer needs-script" data-from="0"', document)


def test_hostile_names_in_tables_and_memory_run_nothing(tmp_path):
    rows = tuple(operator(payload, 1_000) for payload in PAYLOADS)
    page = tmp_path / "page.html"
    curves = tuple(curve(payload, device=payload) for payload in PAYLOADS)
    page.write_text(html.render(attacked(), FromTrace(None, rows, rows, curves)), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document).startswith("PyTorch performance report")
    assert [address for address in asked if "canary" in address] == []
    assert 'class="sort"' in document
