"""The page in a real browser: its timeline zooms and searches, its tables sort, an address opens a finding."""

from __future__ import annotations

import json
import re

import pytest

from analyzer.report import html
from analyzer.report.from_trace import FromTrace
from showing import analyses
from showing.browser import needs_chromium, run
from showing.traced import WHOLE, lanes_of, operator

pytestmark = [needs_chromium, pytest.mark.slow]
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


def test_a_page_without_the_trace_has_no_viewer():
    assert 'id="viewer"' not in html.render(analyses.example())


def test_an_address_opens_its_finding(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(html.render(analyses.example()), encoding="utf-8")

    class Named(type(page)):
        def as_uri(self) -> str:
            return super().as_uri() + "#SY001-02aa"

    document = run(Named(page), tmp_path / "profile", "--dump-dom", "--virtual-time-budget=2000")
    assert re.search(r'<details class="finding medium" id="SY001-02aa" open="">', document)


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
