"""The bars of a job's ranks on a wide page and on a narrow one."""

from __future__ import annotations

import re

from analyzer.page.job import job_page
from analyzer.ranks.merge import merge
from analyzer.report.drawing.job import narrow_rank_bars, rank_bars
from analyzer.report.drawing.shapes import NARROW, width_of
from jobs.simulated import MS, Job


def test_on_a_narrow_page_no_words_are_cut_and_no_bar_is_left_out() -> None:
    page = job_page(merge(Job(dp=2, tp=2, pp=2, late_host={1: 8 * MS}).run().summaries(), name="job"))
    assert page is not None
    wide, narrow = rank_bars(page), narrow_rank_bars(page)
    assert wide is not None
    assert narrow is not None
    assert f'viewBox="0 0 {NARROW} ' in str(narrow.svg)
    placed = re.findall(r'<text[^>]* x="([\d.]+)"[^>]*>([^<]*)', narrow.body)
    assert len(placed) == len(page.bars) + 3
    assert all(float(x) + width_of(words) <= NARROW for x, words in placed)
    boxes = re.findall(r'<rect[^>]* x="([\d.]+)"[^>]* width="([\d.]+)"', narrow.body)
    assert len(boxes) == len(re.findall("<rect", wide.body))
    assert all(float(x) + float(width) <= NARROW for x, width in boxes)
    assert narrow.label == wide.label
