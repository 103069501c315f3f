"""Loops of a file, and which of them turn within a step."""

from pathlib import Path

import pytest

from traces.collect.script.loops import loops_around

_SCRIPT = """\
for epoch in range(3):
    for x, y in loader:
        step(x, y)
        for kept, weight in zip(a, b):
            kept.mul_(0.9)
        total = sum(
            f(one)
            for one in x
        )

def follow(a, b):
    for one in a:
        def inner():
            return one
        while one:
            one += 1
"""


@pytest.mark.parametrize(
    ("line", "ends", "loops"),
    [
        (5, (), [1, 2, 4]),
        (5, (3,), [4]),
        (3, (3,), []),
        (7, (3,), [6]),
        (10, (), []),
        (16, (), [12, 15]),
        (14, (), []),
        (12, (), [12]),
    ],
)
def test_loops_around_a_line(tmp_path: Path, line: int, ends: tuple[int, ...], loops: list[int]) -> None:
    file = tmp_path / "train.py"
    file.write_text(_SCRIPT)
    assert loops_around(str(file), line, frozenset(ends)) == loops


@pytest.mark.parametrize("text", ["for x in (", "", "\0"])
def test_what_is_no_python_has_no_loops(tmp_path: Path, text: str) -> None:
    file = tmp_path / "train.py"
    file.write_text(text)
    assert loops_around(str(file), 1) == []
    assert loops_around(str(tmp_path / "none.py"), 1) == []
