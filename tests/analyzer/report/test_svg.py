"""The picture: well-formed, self-contained, harmless."""

import re
import xml.etree.ElementTree as tree

import msgspec
import pytest

from analyzer.analysis.evidence import Intervals
from analyzer.page.step.lanes import MOST_PIECES
from analyzer.report import svg
from analyzer.report.drawing.shapes import NARROW, WIDTH, width_of
from analyzer.report.drawing.timeline import timeline
from analyzer.report.drawing.waterfall import steps, waterfall
from analyzer.units import duration
from showing import analyses

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
]  # fmt: skip
NAME = re.compile(r'<text class="name( end)?" x="([\d.]+)" y="[\d.]+">([^<]+)<')
TAGS = {"svg", "title", "style", "rect", "g", "text", "path"}


@pytest.mark.parametrize("build", EXAMPLES)
def test_picture_holds_shapes_and_text_only_and_asks_for_nothing(build):
    text = svg.render(build())
    root = tree.fromstring(text)
    assert {element.tag.rpartition("}")[2] for element in root.iter()} <= TAGS
    names = {name for element in root.iter() for name in element.attrib}
    assert not [name for name in names if name.startswith("on") or "href" in name]
    assert "url(" not in text
    assert text == svg.render(build())


def test_everything_lies_inside():
    root = tree.fromstring(svg.render(analyses.example()))
    drawn = [element for element in root.iter("{http://www.w3.org/2000/svg}rect") if element.get("width") != "100%"]
    assert drawn
    for element in drawn:
        assert float(element.get("x", 0)) + float(element.get("width")) <= 960.6


def test_a_device_is_filled_as_high_as_it_is_busy():
    heights = {}
    for build in (analyses.example, analyses.half_idle):
        root = tree.fromstring(svg.render(build()))
        boxes = {
            element.get("class"): float(element.get("height"))
            for element in root.iter("{http://www.w3.org/2000/svg}rect")
            if (element.findtext("{http://www.w3.org/2000/svg}title") or "").startswith("backward: ")
        }
        heights[build] = boxes["c-compute"]
        assert ("as high as the device is busy" in " ".join(root.itertext())) is (build is analyses.half_idle)
    assert heights[analyses.half_idle] == pytest.approx(heights[analyses.example] / 4, abs=0.1)


@pytest.mark.parametrize("across", [WIDTH, NARROW])
def test_a_timeline_is_drawn_for_its_width_with_letters_of_one_size(across):
    """A wide one on a telephone had letters of 8 pixels; about the middle of a bracket at an edge, a wider font is cut off."""
    drawn = timeline(analyses.example(), None, across)
    assert drawn is not None
    assert f'viewBox="0 0 {across} ' in str(drawn.svg)
    names = [(float(x), end == " end", words) for end, x, words in NAME.findall(drawn.body)]
    assert names
    for x, ends, words in names:
        assert (x - width_of(words) if ends else across - x - width_of(words)) >= 0
        assert not ends or x > across / 2
    boxes = re.findall(r'<rect[^>]* x="([\d.]+)"[^>]* width="([\d.]+)"', drawn.body)
    assert max(float(x) + float(width) for x, width in boxes) <= across + 0.6


@pytest.mark.parametrize("draw", [steps, waterfall])
def test_bars_are_drawn_for_their_width(draw):
    drawn = draw(analyses.example(), NARROW)
    boxes = re.findall(r'<rect[^>]* x="([\d.]+)"[^>]* width="([\d.]+)"', drawn.body)
    assert max(float(x) + float(width) for x, width in boxes) <= NARROW + 0.6
    assert drawn.label == draw(analyses.example()).label


def test_the_name_of_many_pieces_stands_at_the_left_of_its_strip():
    example = analyses.example()
    first = next(one for one in example.cards if one.rule == "DL002")
    spans = tuple((300_000_000 + at * 1_000_000, 300_500_000 + at * 1_000_000) for at in range(MOST_PIECES + 1))
    where = Intervals(title="where", step=example.timeline.step, spans=spans)
    many = msgspec.structs.replace(first, evidence=(where,))
    drawn = timeline(msgspec.structs.replace(example, findings=(many,)))
    assert drawn is not None
    assert 'class="strip"' in drawn.body
    (x,) = {x for _, x, words in NAME.findall(drawn.body) if words.startswith(first.rule)}
    assert x == "76"


@pytest.mark.parametrize(("length_ns", "opacity"), [(40, "0.2"), (1_500_000, "0.8")])
def test_a_strip_shows_pieces_however_short(length_ns, opacity):
    """In a step of 412 ms a cell is 1.9 ms: pieces of 40 ns left their finding without a mark."""
    example = analyses.example()
    first = next(one for one in example.cards if one.rule == "DL002")
    spans = tuple((at * 30_000_000, at * 30_000_000 + length_ns) for at in range(MOST_PIECES + 1))
    where = Intervals(title="where", step=example.timeline.step, spans=spans)
    drawn = timeline(msgspec.structs.replace(example, findings=(msgspec.structs.replace(first, evidence=(where,)),)))
    assert drawn is not None
    strips = re.findall(r'class="strip"[^>]*opacity="([\d.]+)"', drawn.body)
    assert len(strips) >= MOST_PIECES
    assert opacity in strips


def test_picture_names_verdict_causes_and_findings():
    words = " ".join(tree.fromstring(svg.render(analyses.example())).itertext())
    for piece in (
        "412 ms a step, 148 ms at best",
        "input wait 142 ms",
        "DL002: at most 142 ms a step",
        "step 8",
    ):
        assert piece in words


def test_bars_of_few_steps_are_narrow_and_bear_their_times() -> None:
    analysis = analyses.example()
    few = msgspec.structs.replace(analysis, steps=analysis.steps[:3])
    drawing = steps(few)
    assert drawing is not None
    widths = [float(width) for width in re.findall(r'y="[\d.]+" width="([\d.]+)"', drawing.body)]
    assert len(widths) == 3
    assert max(widths) < 100
    for row in few.steps:
        assert duration(row.dur_ns) in re.sub("<title>.*?</title>", "", drawing.body)
    row = analysis.steps[0]
    many = msgspec.structs.replace(
        analysis, steps=tuple(msgspec.structs.replace(row, step=number) for number in range(40))
    )
    crowded = steps(many)
    assert crowded is not None
    assert duration(row.dur_ns) not in re.sub("<title>.*?</title>", "", crowded.body)


def _with_steps(times_ms, left_out=()):
    base = analyses.example()
    row = base.steps[0]
    rows = tuple(
        msgspec.structs.replace(row, step=number, dur_ns=ms * 1_000_000, used=number not in left_out, reason=None)
        for number, ms in enumerate(times_ms)
    )
    return msgspec.structs.replace(base, steps=rows)


def _bar_heights(drawing):
    return [float(found) for found in re.findall(r'<rect [^>]*height="([\d.]+)"', drawing.body)]


def test_a_warm_up_that_is_left_out_does_not_flatten_the_steps():
    cut = steps(_with_steps([4500, 140, 150, 145], left_out={0}))
    assert min(_bar_heights(cut)) > 0.9 * max(_bar_heights(cut))
    assert "4.5 s, cut" in cut.body
    # One that is used is what the drawing is about.
    whole = steps(_with_steps([4500, 140, 150, 145]))
    assert min(_bar_heights(whole)) < 0.1 * max(_bar_heights(whole))
    assert "cut" not in whole.body


def test_the_longest_step_has_its_words_and_no_bar_lies_over_others():
    """Words were given from the left: those of the step before took the room of the longest one's."""
    times = [100] * 30
    times[20], times[21] = 700, 900
    words = re.findall(r'<text class="middle strong"[^>]*>([^<]+)<', steps(_with_steps(times)).body)
    assert words == ["21: 900 ms"]
    times[20], times[25] = 100, 700
    words = re.findall(r'<text class="middle strong"[^>]*>([^<]+)<', steps(_with_steps(times)).body)
    assert words == ["21: 900 ms", "25: 700 ms"]
