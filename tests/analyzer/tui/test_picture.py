from __future__ import annotations

import re

import pytest

from analyzer.tui.picture import main, without_network
from showing.ui import loader_bound


@pytest.mark.slow
def test_the_picture_asks_nobody_for_a_font(tmp_path):
    trace, target = loader_bound().write(tmp_path / "trace.json"), tmp_path / "findings.svg"
    assert main([str(trace), "-o", str(target), "--size", "100x30"]) == 0
    svg = target.read_text(encoding="utf-8")
    assert "@font-face" not in svg
    assert not re.findall(r"url\(\s*[\"']?(?:https?:)?//", svg)
    assert "Findings" in svg
    assert "Quit" in svg


def test_fonts_of_the_reader_take_the_place_of_the_one_from_a_server():
    svg = '@font-face { src: url("https://cdnjs.example/x.woff2"); } .t { font-family: Fira Code, monospace; }'
    assert without_network(svg).startswith(".t { font-family: ui-monospace")
