"""The whole statement that a line belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from traces.collect.script.statements import statement_at

SCRIPT = """\
def train():
    loader = DataLoader(
        data,
        batch_size=4,
    )
    for x in DataLoader(
        data
    ):
        opt = Adam(p); step = 1
    text = '''a
b'''
    many = [
{rows}
    ]
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT.format(rows="\n".join(f"        {number}," for number in range(20))))
    return str(path)


@pytest.mark.parametrize("line", [2, 3, 5])
def test_a_call_over_several_lines_is_whole_and_goes_left(script: str, line: int) -> None:
    assert statement_at(script, line) == "loader = DataLoader(\n    data,\n    batch_size=4,\n)"


def test_what_holds_other_statements_is_a_line(script: str) -> None:
    assert statement_at(script, 1) == "def train():"
    assert statement_at(script, 6) == "for x in DataLoader("


def test_statements_of_one_line_stay_together(script: str) -> None:
    assert statement_at(script, 9) == "opt = Adam(p); step = 1"
    assert statement_at(script, 10) == "text = '''a\nb'''"


def test_what_nobody_wants_to_read_is_not_told(script: str) -> None:
    assert statement_at(script, 12) is None


def test_no_python_and_no_file_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("  make it so\n")
    assert statement_at(str(path), 1) == "make it so"
    assert statement_at(str(tmp_path / "gone.py"), 3) == ""
