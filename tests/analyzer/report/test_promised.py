"""The picture of what was promised beside what came."""

from __future__ import annotations

import re

import msgspec
import pytest

from analyzer.report.comparison import html
from analyzer.report.drawing.promised import promises
from analyzer.report.drawing.shapes import NARROW, width_of
from showing import comparisons


def width(body: str, kind: str) -> float:
    """How wide the first shape of a kind is."""
    return float(re.search(rf'class="{kind}" x="[\d.]+" y="[\d.]+" width="([\d.]+)"', body).group(1))


def test_bars_and_band_are_on_one_scale():
    pair = comparisons.pair()
    drawing = promises(pair)
    change = pair.change
    # 4 ms were promised; what came is as long as its share of the median says.
    across = width(drawing.body, "promise") / 4_000_000
    median = pair.before.median_ns * across
    assert width(drawing.body, "band") == pytest.approx((change.high_ratio - change.low_ratio) * median, abs=1)
    came = float(re.search(r'class="came" d="M([\d.]+) ', drawing.body).group(1))
    begin = float(re.search(r'class="promise" x="([\d.]+)"', drawing.body).group(1))
    assert came - begin == pytest.approx(-change.ratio * median, abs=1)
    assert "3.0 ms less" in drawing.label
    assert "Promised, and what came" in html.render(pair)


def test_a_telephone_has_names_above_bars_of_its_own():
    pair = comparisons.pair()
    drawing = promises(pair, NARROW)
    assert drawing.width == NARROW
    ends = [float(x) + float(wide) for x, wide in re.findall(r'x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', drawing.body)]
    assert max(ends) <= NARROW
    assert drawing.label == promises(pair).label
    name = float(re.search(r'class="halo" x="0" y="([\d.]+)"', drawing.body).group(1))
    bar = float(re.search(r'class="promise" x="0" y="([\d.]+)"', drawing.body).group(1))
    assert name < bar
    page = html.render(pair)
    # What came stands over its line, and inside the picture.
    begin, said = re.search(r'class="strong" x="([\d.]+)" y="14">([^<]*)', drawing.body).groups()
    assert 0 <= float(begin) <= NARROW - width_of(said)
    assert re.search('class="narrow"><div[^>]*aria-label="What was promised', page)


def test_only_what_vanished_or_shrank_was_put_to_the_test():
    # XF001 is new after: nothing was promised of it.
    assert "XF001" not in promises(comparisons.pair()).body


def test_without_a_verdict_nothing_came_that_could_be_drawn():
    pair = comparisons.pair()
    undecided = msgspec.structs.replace(pair, change=msgspec.structs.replace(pair.change, kind="inconclusive"))
    for comparison in (undecided, msgspec.structs.replace(pair, change=None), comparisons.empty()):
        assert promises(comparison) is None
        assert "Promised, and what came" not in html.render(comparison)
