"""What a browser prints of a page."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from analyzer.explain import analyse_with_facts
from analyzer.report import html
from analyzer.report.from_trace import from_trace
from showing import analyses
from showing.browser import needs_chromium, run

pytestmark = [
    needs_chromium,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("pdftotext") is None, reason="needs pdftotext: apt-get install poppler-utils"),
]
SHARED = Path(__file__).resolve().parents[4] / "shared" / "traces"


def printed_text(page, folder):
    """What a browser prints of the page, as text."""
    printed = folder / "page.pdf"
    run(page, folder / "profile", f"--print-to-pdf={printed}", "--no-pdf-header-footer", "--virtual-time-budget=2000")
    assert printed.read_bytes().startswith(b"%PDF")
    return subprocess.run(["pdftotext", printed, "-"], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("everything", [False, True])
def test_prints_all_findings_open_and_tables_only_where_asked_for(everything, tmp_path):
    page = tmp_path / "page.html"
    text = html.render(analyses.example())
    page.write_text(text.replace('id="print-all"', 'id="print-all" checked') if everything else text, encoding="utf-8")
    text = printed_text(page, tmp_path)
    assert "running += loss.detach()" in text
    assert text.count("Check that it worked") >= len(analyses.example().cards)
    passed = next(check for check in analyses.example().checks if check.state == "clear")
    assert (passed.title in " ".join(text.split())) is everything


@pytest.mark.parametrize("name", ["kineto_resnet50_workers0_a.pt.trace", "hta_a100_ddp_resnet"])
def test_a_recorded_job_prints_on_three_pages(name, tmp_path):
    """With three cards, notes, and a roofline, memory or modules."""
    trace = SHARED / f"{name}.json.gz"
    if not trace.exists():
        pytest.skip(f"{trace.name} is not beside this checkout")
    explained = analyse_with_facts(trace)
    page = tmp_path / "page.html"
    page.write_text(html.render(explained.analysis, from_trace(explained)), encoding="utf-8")
    text = printed_text(page, tmp_path)
    pages = re.findall(rb"/Type\s*/Page\b", (tmp_path / "page.pdf").read_bytes())
    assert len(pages) <= 3
    # Where nothing but tables stands below it, a heading goes with them.
    assert bool(re.search(r"^Operators$", text, re.MULTILINE)) is (explained.analysis.hardware.operators != ())
    # What names the lanes of the step is as large as a footnote.
    placed = subprocess.run(
        ["pdftotext", "-bbox", tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True
    ).stdout
    heights = [
        float(last) - float(first) for first, last in re.findall(r'yMin="(\S+)" xMax="\S+" yMax="(\S+)">CPU</', placed)
    ]
    assert max(heights) > 6.0
    # Boxes to tick are for the screen.
    assert "If these were fixed" not in text
    assert text.count("Check that it worked") == len(explained.analysis.cards)
