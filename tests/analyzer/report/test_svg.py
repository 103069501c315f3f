"""The picture: well-formed, self-contained, harmless."""

import xml.etree.ElementTree as tree

import pytest

import analyses
from analyzer.report import svg

EXAMPLES = [
    analyses.example, analyses.healthy, analyses.cpu_only, analyses.no_steps, analyses.unusable, analyses.hostile,
]  # fmt: skip
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


def test_picture_names_verdict_causes_and_findings():
    words = " ".join(tree.fromstring(svg.render(analyses.example())).itertext())
    for piece in (
        "412 ms a step, 148 ms looks reachable",
        "input wait 142 ms",
        "DL002: at most 142 ms a step",
        "step 8",
    ):
        assert piece in words
