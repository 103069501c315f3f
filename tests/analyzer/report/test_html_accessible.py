"""The page in a real browser: axe-core finds nothing that keeps anybody from reading it."""

from __future__ import annotations

import json
import re

import pytest

from analyzer.report import html
from analyzer.report.comparison import html as comparison_page
from analyzer.report.from_trace import FromTrace
from showing import analyses, comparisons
from showing.browser import axe, needs_chromium, run, title_of
from showing.traced import curve, lanes_of, operator

pytestmark = [needs_chromium, pytest.mark.slow]


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


def axe_violations(pages, tmp_path, width=1200):
    """By name, what axe finds wrong in pages with every section open: one browser looks at all of them."""
    for name, (text, dark) in pages.items():
        (tmp_path / f"{name}.html").write_text(with_axe(text, dark), encoding="utf-8")
    frames = "".join(f'<iframe id="{name}" src="{name}.html" width="{width}" height="900"></iframe>' for name in pages)
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


@pytest.mark.parametrize(("dark", "width"), [(False, 1200), (True, 1200), (False, 390)])
def test_axe_finds_no_violation(dark, width, tmp_path):
    made = {name: getattr(analyses, name)() for name in ("example", "healthy", "unusable", "cpu_only", "hostile")}
    pages = {name: html.render(one) for name, one in made.items()}
    pages |= {"pair": comparison_page.render(comparisons.pair()), "since": html.render(comparisons.since_baseline())}
    rows = tuple(operator(f"op{number}", 1_000 * number) for number in range(12))
    pages["traced"] = html.render(analyses.example(), FromTrace(lanes_of(["a", "b"]).lanes, rows, rows, (curve(),)))
    found = axe_violations({name: (text, dark) for name, text in pages.items()}, tmp_path, width)
    assert found == {name: [] for name in pages}


def test_axe_would_see_a_violation(tmp_path):
    grey = html.render(analyses.healthy()).replace(
        "</main>", '<p style="color:#ccc;background:#fff">grey</p></main>', 1
    )
    pages = {"sound": (html.render(analyses.healthy()), False), "spoilt": (grey, False)}
    found = axe_violations(pages, tmp_path)
    assert (found["sound"], [one[0] for one in found["spoilt"]]) == ([], ["color-contrast"])
