"""Code in a pane: nothing is lost, and no line leaves its indentation."""

from __future__ import annotations

import pytest

from analyzer.tui.draw.code import LEFT, RIGHT, beyond, code_block

LOOP = "for index in order:\n    if index:\n        batch = [part[index].pin_memory().to(device) for part in data]"
DIFF = " loader = DataLoader(\n     dataset, ...,\n+    num_workers=4, persistent_workers=True, pin_memory=True,\n )"


def pieces(code: str, language: str, width: int) -> list[str]:
    return [line.plain[1:].rstrip() for line in code_block(code, language, width)]


@pytest.mark.parametrize("width", [30, 44, 60])
@pytest.mark.parametrize(("code", "language"), [(LOOP, "python"), (DIFF, "diff")])
def test_a_long_line_goes_on_farther_in_than_it_begins(code: str, language: str, width: int) -> None:
    shown = pieces(code, language, width)
    assert "".join("".join(shown).split()) == "".join(code.split())
    assert all(len(line) <= width - 2 for line in shown)
    whole = [line.rstrip() for line in code.splitlines()]
    begun = next(at for at, line in enumerate(shown) if line not in whole)
    indent = 8 if language == "python" else 5
    assert shown[begun].startswith((" " * indent, "+" + " " * (indent - 1)))
    ended = len(shown) - (1 if language == "diff" else 0)
    assert shown[begun + 1 : ended]
    assert all(line.startswith(" " * indent) for line in shown[begun + 1 : ended])


def test_a_word_longer_than_the_pane_is_broken_and_loses_nothing() -> None:
    code = "    " + "x" * 50
    shown = pieces(code, "python", 24)
    assert "".join(line.strip() for line in shown) == "x" * 50
    assert all(len(line) <= 22 for line in shown)
    assert all(line.startswith("    ") for line in shown)


def test_wide_letters_are_counted_as_cells() -> None:
    shown = code_block("# " + "\u8a08" * 30, "python", 24)
    assert all(line.cell_length == 24 for line in shown)


def moved(code: str, language: str, width: int, shift: int) -> list[str]:
    return [line.plain[1:].rstrip() for line in code_block(code, language, width, shift)]


@pytest.mark.parametrize("width", [20, 30, 44, 90])
@pytest.mark.parametrize(("code", "language"), [(LOOP, "python"), (DIFF, "diff")])
def test_moved_sideways_each_line_stays_one_and_all_of_it_can_be_seen(code: str, language: str, width: int) -> None:
    whole = code.splitlines()
    most = beyond(code, language, width)
    assert most == max(0, max(map(len, whole)) - (width - 2))
    seen = [set[int]() for _ in whole]
    for shift in range(most + 1):
        shown = moved(code, language, width, shift)
        assert len(shown) == len(whole)
        for number, (line, text) in enumerate(zip(shown, whole, strict=True)):
            assert len(line) <= width - 2
            marks = 1 if language == "diff" else 0
            assert line[:marks] == text[:marks].rstrip() or line[:marks] == text[:marks]
            for at, char in enumerate(line[marks:], marks):
                if char not in (LEFT, RIGHT):
                    assert char == text[at + shift]
                    seen[number].add(at + shift)
    for number, text in enumerate(whole):
        assert {at for at, char in enumerate(text) if not char.isspace()} <= seen[number] | {0}


def test_unmoved_code_keeps_its_indentation_and_says_that_it_goes_on() -> None:
    shown = moved(LOOP, "python", 30, 0)
    assert shown[:2] == LOOP.splitlines()[:2]
    assert shown[2] == LOOP.splitlines()[2][:27] + RIGHT
    assert moved(LOOP, "python", 30, 4)[1].startswith("if index"), "what left the pane are blanks only"
    assert moved(LOOP, "python", 30, 12)[2].startswith(LEFT)


def test_code_that_fits_stays_where_it_is() -> None:
    assert moved("if fast:\n    x = 1", "python", 40, 8) == ["if fast:", "    x = 1"]
