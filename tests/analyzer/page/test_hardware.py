"""The table of operators and the roofline: the same figures in every format, and none where shapes are missing."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as tree

import msgspec
import pytest

from analyzer.analysis import Analysis
from analyzer.page import hardware
from analyzer.page.words.shapes import shapes
from analyzer.report import html, markdown, svg, text
from analyzer.report.drawing.roofline import roofline
from analyzer.report.drawing.shapes import NARROW, width_of
from analyzer.units import rate
from programs.hardware import explained, products


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return explained(products(), tmp_path_factory.mktemp("known")).analysis


@pytest.fixture(scope="module")
def without_shapes(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    builder = products()
    for event in builder.events:
        for name in ("Input Dims", "Input type"):
            event.get("args", {}).pop(name, None)
    return explained(builder, tmp_path_factory.mktemp("without")).analysis


def test_a_row_says_what_an_operator_achieves(known: Analysis) -> None:
    first, second, third = hardware.rows(known)
    # 2 * 4096^3 in 400 us is 344 TFLOP/s of the 1307.4 that AMD states for bf16.
    assert (first.op, first.shapes) == ("aten::mm", "4096x4096, 4096x4096")
    assert (first.time, first.calls, first.flops, first.peak, first.side) == (
        "400 us",
        "1",
        "344 TFLOP/s",
        "26 %",
        "compute",
    )
    assert first.above == "295 us"
    assert second.flops == "172 TFLOP/s"
    # An addition has no products: three tensors of 32 MiB in 50 us.
    assert (third.op, third.flops, third.bytes, third.side) == ("aten::add", "-", "2.0 TB/s", "memory")


def test_every_format_shows_the_same_figures(known: Analysis) -> None:
    for shown in (text.render(known), markdown.render(known), html.render(known)):
        plain = shown.replace("\xa0", " ").replace("&nbsp;", " ")
        assert "344 TFLOP/s" in plain
        assert "295 us" in plain
        assert "1,307 TFLOP/s bf16" in plain
        # The only format used: no other peak is named.
        assert "fp64" not in plain.partition('"peaks"')[0]


def test_the_picture_has_a_dot_for_each_operator_with_products(known: Analysis) -> None:
    root = tree.fromstring(svg.render(known))
    dots = [one for one in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert len(dots) == 2
    assert float(dots[0].get("r", 0)) > float(dots[1].get("r", 0))
    assert "bf16 1,307 TFLOP/s" in " ".join(root.itertext())
    for dot in dots:
        assert 110 <= float(dot.get("cx", 0)) <= 948
        assert 14 <= float(dot.get("cy", 0)) <= 320
    # The slower one has fewer operations to a byte and achieves less: further left and lower.
    assert float(dots[1].get("cx", 0)) < float(dots[0].get("cx", 0))
    assert float(dots[1].get("cy", 0)) > float(dots[0].get("cy", 0))


def test_without_shapes_there_is_nothing(without_shapes: Analysis) -> None:
    assert hardware.rows(without_shapes) == ()
    assert roofline(without_shapes) is None
    for shown in (text.render(without_shapes), markdown.render(without_shapes), svg.render(without_shapes)):
        assert "FLOP/s" not in shown
    assert 'id="operators"' not in html.render(without_shapes)


def test_an_unusable_trace_gets_no_figures(known: Analysis) -> None:
    doubted = msgspec.structs.replace(known, trust=msgspec.structs.replace(known.trust, verdict="unusable"))
    assert hardware.rows(doubted) == ()
    assert hardware.utilisation(doubted) == ""


def test_unknown_peaks_give_rates_and_say_so(known: Analysis) -> None:
    found = known.hardware
    assert found is not None
    peaks = msgspec.structs.replace(found.peaks, source="unknown", flops_per_s={}, bytes_per_s=None)
    rows = tuple(
        msgspec.structs.replace(one, peak_ratio=None, side=None, above_roofline_ns=None, format=None)
        for one in found.operators
    )
    unknown = msgspec.structs.replace(
        known, hardware=msgspec.structs.replace(found, peaks=peaks, operators=rows, hfu_ratio=None)
    )
    assert "achieved rates only" in hardware.against(unknown)
    assert hardware.rows(unknown)[0].peak == "-"
    drawing = roofline(unknown)
    assert drawing is not None
    assert "roof" not in re.findall(r'class="(\w+)', drawing.body)


def test_a_telephone_has_a_roofline_of_its_own_width(known: Analysis) -> None:
    drawing = roofline(known, NARROW)
    assert drawing is not None
    assert drawing.width == NARROW
    places = [float(x) for x in re.findall(r'cx="([\d.]+)"', drawing.body)]
    assert places
    assert max(places) < NARROW
    marks = [float(x) for x in re.findall(r'class="quiet middle" x="([\d.]+)" y="336"', drawing.body)]
    # A power of ten takes up to 42 px as text.
    assert all(after - before > 42 for before, after in itertools.pairwise(marks))
    wide = roofline(known)
    assert wide is not None
    assert wide.label == drawing.label
    assert 'class="narrow"' in html.render(known)


def test_a_doubtful_operator_has_no_dot(known: Analysis) -> None:
    found = known.hardware
    assert found is not None
    fast = msgspec.structs.replace(
        found.operators[0], peak_ratio=None, above_roofline_ns=None, reason="faster than the peak"
    )
    doubted = msgspec.structs.replace(
        known, hardware=msgspec.structs.replace(found, operators=(fast, *found.operators[1:]))
    )
    assert len(hardware.dots(doubted)) == len(hardware.dots(known)) - 1


def test_the_ceiling_and_utilisation_are_sentences(known: Analysis) -> None:
    assert re.search(r"Model FLOPs utilisation \d", hardware.utilisation(known))
    assert "a step if every known operator were as fast as its roofline" in hardware.ceilings_line(known)
    assert hardware.utilisation(known) in text.render(known).replace("\n", " ")


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        ("[[64, 128], [], [128, 256]]", "64x128, 128x256"),
        ("[[[2, 3], [4]], [5]]", "[2x3, 4], 5"),
        ("", ""),
        ("nonsense", "nonsense"),
        ("{}", "{}"),
    ],
)
def test_shapes_as_people_write_them(recorded: str, said: str) -> None:
    assert shapes(recorded) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1307.4e12, "1,307 TFLOP/s"),
        (9.99e8, "999 MFLOP/s"),
        (9.999e8, "1.0 GFLOP/s"),
        (12e15, "12 PFLOP/s"),
        (3.2, "3 FLOP/s"),
    ],
)
def test_rates_are_in_powers_of_a_thousand(value: float, said: str) -> None:
    assert rate(value, "FLOP") == said


@pytest.mark.parametrize("width", [NARROW, 960])
@pytest.mark.parametrize(
    ("roofs", "named"),
    [
        ({"fp32": 67e12, "fp64": 67e12, "bf16": 990e12}, ["13 GB/s", "bf16 990 TFLOP/s", "fp32, fp64 67 TFLOP/s"]),
        ({"fp32": 21e9, "fp64": 24e9}, ["13 GB/s", "fp64 24 GFLOP/s; fp32 21 GFLOP/s"]),
    ],
)
def test_names_of_roofs_stand_on_nothing(
    known: Analysis, monkeypatch: pytest.MonkeyPatch, roofs: dict[str, float], named: list[str], width: int
) -> None:
    monkeypatch.setattr(hardware, "roofs", lambda analysis: hardware.Roofs(13e9, roofs))
    drawing = roofline(known, width)
    assert drawing is not None
    told = re.findall(r'<text class="([^"]*)" x="([\d.]+)" y="([\d.]+)">([^<]*)</text>', drawing.body)
    strong = [(float(x), float(y), kind, words) for kind, x, y, words in told if "strong" in kind]
    assert sorted(words for *_, words in strong) == named
    for x, _, kind, words in strong:
        # The figures of the axis end at 102.
        assert x - (width_of(words) if "end" in kind else 0) >= 102
    heights = [y for x, y, kind, _ in strong if "end" in kind and x > width / 2]
    assert all(abs(first - second) >= 14 for first, second in itertools.combinations(heights, 2))
