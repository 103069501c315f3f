import pytest

from analyzer.page.words import safe
from showing import analyses


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("nul\x00", r"nul\x00"),
        ("\x9b31m", r"\x9b31m"),
        ("a\r\nb\tc", "a  b c"),
        ("kernel<4>[float][/half]", "kernel<4>[float][/half]"),
        ("\udc80 lone", r"\udc80 lone"),
    ],
)
def test_control_and_direction_characters_are_shown_not_sent(name, shown):
    assert safe.clean(name) == shown


@pytest.mark.parametrize("name", analyses.HOSTILE_NAMES)
def test_name_is_one_printable_line_of_limited_width(name):
    shown = safe.name(name, 40)
    assert shown.isprintable()
    assert safe.columns(shown) <= 40


def test_long_name_keeps_both_ends():
    shown = safe.name("begin" + "x" * 500 + "end")
    assert shown.startswith("begin")
    assert shown.endswith("end")


@pytest.mark.parametrize("width", [20, 60, 100])
def test_wrapped_lines_fit_whatever_the_words(width):
    lines = safe.wrap(" ".join(analyses.HOSTILE_NAMES), width)
    assert max(map(safe.columns, lines)) <= width


def test_a_number_stays_with_its_unit():
    assert safe.wrap("aaaa bbbb 142 ms", 13) == ["aaaa bbbb", "142 ms"]


def test_code_keeps_its_lines_and_indentation():
    assert safe.code("a:\n    b\x07\n\tc") == ["a:", r"    b\x07", "    c"]


def test_padding_fills_and_cuts_by_columns():
    assert safe.pad("漢", 4) == "漢  "
    assert safe.columns(safe.pad("漢" * 9, 4)) <= 4
