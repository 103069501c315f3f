"""The page in a real browser: hostile names execute nothing, nothing is requested, and it can be read by everybody."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import msgspec
import pytest

from analyzer.cause_names import CAUSES
from analyzer.job import explain_job
from analyzer.ranks.files import encode
from analyzer.ranks.summary import FindingPart
from analyzer.report import html, svg
from analyzer.report.comparison import html as comparison_page
from analyzer.report.from_trace import FromTrace
from analyzer.views.memory_curve import Allocator, MemoryCurve
from analyzer.views.operator_rows import OperatorRow
from analyzer.views.slim_lanes import SlimLanes, SlimTrack
from jobs.simulated import MS, Job
from showing import analyses, comparisons
from showing.browser import document_and_requests, needs_chromium, run

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


def title_of(document: str) -> str:
    found = re.search(r"<title>(.*?)</title>", document)
    return found.group(1) if found else ""


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


def test_an_address_opens_its_finding(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(html.render(analyses.example()), encoding="utf-8")

    class Named(type(page)):
        def as_uri(self) -> str:
            return super().as_uri() + "#SY001-02aa"

    document = run(Named(page), tmp_path / "profile", "--dump-dom", "--virtual-time-budget=2000")
    assert re.search(r'<details class="finding medium" id="SY001-02aa" open="">', document)


def axe() -> Path:
    """axe-core, the accessibility checker: the one of the development extra, or AXE_CORE names another axe.min.js."""
    named = os.environ.get("AXE_CORE")
    package = importlib.util.find_spec("axe_core_python")
    assert named or (package is not None and package.origin), "pip install -e '.[dev]' brings axe-core"
    return Path(named) if named else Path(package.origin).parent / "axe.min.js"


WITH_FRAMES = """<!doctype html><title></title>%s
<script>
addEventListener('load', async function () {
  var found = {};
  for (var frame of document.querySelectorAll('iframe')) {
    var r = await frame.contentWindow.axe.run(frame.contentDocument);
    found[frame.id] = r.violations.map(v => [v.id, v.impact, v.nodes.length, v.nodes[0].html]);
  }
  document.title = 'axe' + JSON.stringify(found);
});
</script>"""


def axe_violations(pages, tmp_path):
    """By name, what axe finds wrong in pages with every section open: one browser looks at all of them."""
    for name, (text, dark) in pages.items():
        (tmp_path / f"{name}.html").write_text(with_axe(text, dark), encoding="utf-8")
    frames = "".join(f'<iframe id="{name}" src="{name}.html" width="1200" height="900"></iframe>' for name in pages)
    page = tmp_path / "every page.html"
    page.write_text(WITH_FRAMES % frames)
    alike = ("--allow-file-access-from-files", "--virtual-time-budget=60000", "--dump-dom")
    title = title_of(run(page, tmp_path / "profile", *alike))
    assert title.startswith("axe"), title
    unescaped = title[3:].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(unescaped)


def with_axe(text, dark):
    # The policy would keep axe out, so it is left out here; every section is opened so that all of it is looked at.
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("<details", "<details open")
    if dark:
        text = text.replace("@media (prefers-color-scheme:dark)", "@media all")
    return text.replace("</body>", f"<script>{axe().read_text(encoding='utf-8')}</script></body>")


@pytest.mark.parametrize("dark", [False, True])
def test_axe_finds_no_violation(dark, tmp_path):
    made = {name: getattr(analyses, name)() for name in ("example", "healthy", "unusable", "cpu_only", "hostile")}
    pages = {name: html.render(one) for name, one in made.items()}
    pages |= {"pair": comparison_page.render(comparisons.pair()), "since": html.render(comparisons.since_baseline())}
    rows = tuple(operator(f"op{number}", 1_000 * number) for number in range(12))
    pages["traced"] = html.render(analyses.example(), FromTrace(lanes_of(["a", "b"]).lanes, rows, rows, (curve(),)))
    found = axe_violations({name: (text, dark) for name, text in pages.items()}, tmp_path)
    assert found == {name: [] for name in pages}


def test_axe_would_see_a_violation(tmp_path):
    grey = html.render(analyses.healthy()).replace(
        "</main>", '<p style="color:#ccc;background:#fff">grey</p></main>', 1
    )
    pages = {"sound": (html.render(analyses.healthy()), False), "spoilt": (grey, False)}
    found = axe_violations(pages, tmp_path)
    assert (found["sound"], [one[0] for one in found["spoilt"]]) == ([], ["color-contrast"])


DRIVER = """<!doctype html><title>driver</title><iframe src="page.html" width="%WIDTH%" height="1500"></iframe><pre id="told"></pre>
<script>
addEventListener('load', function () {
  var inside = document.querySelector('iframe').contentWindow, page = inside.document, out = {};
  var lanes = page.getElementById('viewer-lanes'), box = page.getElementById('viewer');
  function span() { return [Number(box.dataset.from), Number(box.dataset.to)]; }
  function click(element) { element.dispatchEvent(new inside.MouseEvent('click', {bubbles: true})); }
  function later(act) { return new Promise(function (done) { act(); setTimeout(done, 80); }); }
  (async function () {
    out.hidden = box.hidden;
    out.wide = page.documentElement.scrollWidth <= inside.innerWidth;
    out.all = span();
    function turn() { lanes.dispatchEvent(new inside.WheelEvent('wheel', {deltaY: -500, clientX: 300, cancelable: true})); }
    await later(turn);
    out.unfocused = span();
    await later(function () { lanes.focus(); turn(); });
    out.wheel = span();
    await later(function () { lanes.dispatchEvent(new inside.KeyboardEvent('keydown', {key: '0', bubbles: true})); });
    out.reset = span();
    var search = page.getElementById('viewer-search');
    await later(function () { search.value = 'long'; search.dispatchEvent(new inside.Event('input')); });
    out.matches = page.getElementById('viewer-matches').textContent;
    await later(function () { search.dispatchEvent(new inside.KeyboardEvent('keydown', {key: 'Enter'})); });
    out.next = [span(), page.getElementById('viewer-told').textContent];
    await later(function () { click(page.querySelector('.show')); });
    out.shown = [span(), page.getElementById('viewer-told').textContent];
    document.getElementById('told').textContent = JSON.stringify(out);
  })();
});</script>"""


WHOLE = analyses.example().timeline.dur_ns


def lanes_of(names, detail=""):
    """A step of one lane: an event of 10 ms of each name, one after the other."""
    count = len(names)
    track = SlimTrack(
        "main thread",
        "host",
        0,
        [place * 10_000_000 for place in range(count)],
        [10_000_000] * count,
        list(range(count)),
        [0] * count,
        [0] * count,
    )
    return FromTrace(lanes=msgspec.json.encode(SlimLanes(6, WHOLE, list(names), CAUSES, [detail], [track], 0, 0)))


def driven(tmp_path, analysis, found, width=900, driver_text=DRIVER):
    (tmp_path / "page.html").write_text(html.render(analysis, found), encoding="utf-8")
    driver = tmp_path / "driver.html"
    driver.write_text(driver_text.replace("%WIDTH%", str(width)), encoding="utf-8")
    flags = ("--allow-file-access-from-files", "--dump-dom", "--virtual-time-budget=5000", "--window-size=1000,1600")
    told = re.search(r'<pre id="told">(.*?)</pre>', run(driver, tmp_path / "profile", *flags))
    return json.loads(told.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


@pytest.mark.parametrize("width", [900, 390])
def test_the_timeline_zooms_searches_and_shows_where_a_finding_lies(tmp_path, width):
    names = ["short"] * 3 + ["long_kernel", "other", "long_kernel"]
    told = driven(tmp_path, analyses.example(), lanes_of(names, "launched by linear, 64x128"), width)
    assert told["hidden"] is False
    assert told["wide"] is True
    assert told["all"] == [0, WHOLE]
    # The page scrolls until the lanes are clicked.
    assert told["unfocused"] == told["all"]
    begin, end = told["wheel"]
    assert 0 < begin < end < WHOLE
    assert told["reset"] == told["all"]
    assert told["matches"] == "2 events, 20 ms together; Enter: the next"
    (begin, end), words = told["next"]
    assert begin <= 30_000_000 < 40_000_000 <= end < WHOLE
    assert words.startswith("long_kernel: 10 ms, from 30.")
    assert ", launched by linear, 64x128" in words
    spans = next(piece.spans for piece in analyses.example().cards[0].evidence if hasattr(piece, "spans"))
    (begin, end), words = told["shown"]
    assert begin <= min(start for start, _ in spans)
    assert end >= max(stop for _, stop in spans)
    assert words.startswith(analyses.example().cards[0].rule)


def test_hostile_names_in_the_timeline_run_nothing(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(html.render(attacked(), lanes_of(PAYLOADS, PAYLOADS[0])), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document).startswith("PyTorch performance report")
    assert [address for address in asked if "canary" in address] == []
    assert re.search(r'id="viewer" class="viewer needs-script" data-from="0"', document)


def test_a_page_without_the_trace_has_no_viewer():
    assert 'id="viewer"' not in html.render(analyses.example())


def operator(name, device_ns, calls=1.0):
    return OperatorRow(name, "", calls, 1_000, 2_000, device_ns, device_ns, 0.1, None)


def curve(name="aten::empty", **changed):
    """Memory of a device that rises to 3 MiB in step 6."""
    allocators = (Allocator(name, 3 << 20, 2.0, 2 << 20, "[[8, 8]]"),)
    made = MemoryCurve(
        "GPU 0",
        0,
        9_000_000,
        (0, 1 << 20, 3 << 20, 0),
        (4 << 20,) * 4,
        3 << 20,
        6,
        False,
        (5, 6),
        (0, 4_000_000),
        allocators,
    )
    return msgspec.structs.replace(made, **changed)


TABLES = """<!doctype html><title>driver</title><iframe src="page.html" width="%WIDTH%" height="1500"></iframe><pre id="told"></pre>
<script>
addEventListener('load', function () {
  var inside = document.querySelector('iframe').contentWindow, page = inside.document, out = {};
  var table = Array.from(page.querySelectorAll('.scroll > table')).find(function (one) {
    return one.caption.textContent.startsWith('Every kernel');
  });
  function names() {
    return Array.from(table.tBodies[0].rows).filter(function (row) { return !row.hidden; })
      .map(function (row) { return row.cells[0].textContent; });
  }
  function press(title) {
    Array.from(table.querySelectorAll('.sort')).find(function (one) { return one.textContent === title; }).click();
    return [names(), Array.from(table.tHead.rows[0].cells).map(function (head) { return head.getAttribute('aria-sort'); })];
  }
  out.first = names();
  out.longest = press('GPU');
  out.shortest = press('GPU');
  out.named = press('Name');
  var field = table.parentElement.previousElementSibling.querySelector('input');
  field.value = 'GEMM b';
  field.dispatchEvent(new inside.Event('input'));
  out.found = names();
  out.said = table.parentElement.previousElementSibling.querySelector('[role=status]').textContent;
  document.getElementById('told').textContent = JSON.stringify(out);
});</script>"""


def test_tables_sort_by_what_figures_say_and_can_be_searched(tmp_path):
    # As text `900 us` stands before `2.0 ms`, and `12 ms` before both.
    times = {
        "gemm_b": 900_000,
        "gemm_a": 2_000_000,
        "none": 0,
        "add": 12_000_000,
        **{f"k{n}": 10 + n for n in range(8)},
    }
    kernels = tuple(operator(name, time) for name, time in times.items())
    told = driven(tmp_path, analyses.example(), FromTrace(kernels=kernels), driver_text=TABLES)
    assert told["first"] == list(times)
    measured = sorted((name for name in times if times[name]), key=times.__getitem__)
    assert told["longest"][0] == [*measured[::-1], "none"]
    # What has no figure stands last both ways.
    assert told["shortest"][0] == [*measured, "none"]
    assert [head for head in told["longest"][1] if head] == ["descending"]
    assert [head for head in told["shortest"][1] if head] == ["ascending"]
    assert told["named"][0] == sorted(times)
    assert told["found"] == ["gemm_b"]
    assert told["said"] == "1 of 12"


def test_hostile_names_in_tables_and_memory_run_nothing(tmp_path):
    rows = tuple(operator(payload, 1_000) for payload in PAYLOADS)
    page = tmp_path / "page.html"
    curves = tuple(curve(payload, device=payload) for payload in PAYLOADS)
    page.write_text(html.render(attacked(), FromTrace(None, rows, rows, curves)), encoding="utf-8")
    document, asked = document_and_requests(page, tmp_path / "profile")
    assert title_of(document).startswith("PyTorch performance report")
    assert [address for address in asked if "canary" in address] == []
    assert 'class="sort"' in document
