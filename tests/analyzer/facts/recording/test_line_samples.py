"""Lines as they were sampled, put together by line."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts.recording.line_samples import training_lines
from building.builders import TraceBuilder


def _row(function: str, ns: int, *, line: int = 16, begins: int = 15, loader: bool = True) -> dict[str, Any]:
    return {
        "file": "data.py", "line": line, "function": function, "begins": begins, "text": "x = [f(y) for y in z]",
        "loader": loader, "ns": ns,
    }  # fmt: skip


def _lines(*rows: dict[str, Any]) -> list[tuple[str, int, int, int]]:
    top = {"advisor": {"lines": {"training": {"total_ns": 100, "loader_ns": 100, "rows": list(rows)}}}}
    found = training_lines(TraceBuilder(top=top).step(1, 0, 100).trace().meta).lines
    return [(one.function, one.line, one.begins, one.ns) for one in found]


@pytest.mark.parametrize("inner", ["Rows.__getitem__.<listcomp>", "Rows.__getitem__.<locals>.<lambda>", "<genexpr>"])
def test_what_a_comprehension_takes_is_the_lines(inner: str) -> None:
    whole = ("Rows.__getitem__", 16, 15, 70)
    assert _lines(_row(inner, 48, begins=16), _row("Rows.__getitem__", 22), _row("Rows.__getitem__", 12, line=17)) == [
        whole,
        ("Rows.__getitem__", 17, 15, 12),
    ]


def test_the_same_line_outside_the_loader_stays_apart() -> None:
    assert len(_lines(_row("Rows.__getitem__", 22), _row("Rows.__getitem__", 12, loader=False))) == 2


def test_a_comprehension_over_lines_of_its_own_keeps_its_name() -> None:
    assert _lines(_row("main.<listcomp>", 48, begins=16)) == [("main.<listcomp>", 16, 16, 48)]


def _of_module(line: int, text: str, ns: int, *loops: int) -> dict[str, Any]:
    return {
        "file": "train.py", "line": line, "function": "<module>", "begins": 1, "text": text, "loader": False, "ns": ns,
        "loops": list(loops),
    }  # fmt: skip


def _found(taken_ratio: float, *rows: dict[str, Any]) -> int | None:
    top = {"advisor": {"lines": {"training": {"total_ns": 100, "loader_ns": 0, "rows": list(rows)}}}}
    lines = training_lines(TraceBuilder(top=top).step(1, 0, 100).trace().meta)
    return lines.loop("train.py", "<module>", None, taken_ratio, frozenset({"mul", "*"}))


_STEP = _of_module(20, "loss.backward()", 60)
_AVERAGE = (_of_module(26, "for kept, weight in zip(a, b):", 5, 26), _of_module(27, "kept.mul_(0.9)", 15, 26))


def test_a_loop_of_a_script_without_functions_is_told_by_its_share_and_its_words() -> None:
    assert _found(0.15, _STEP, *_AVERAGE) == 26


@pytest.mark.parametrize(
    ("taken", "rows"),
    [
        (0.9, (_STEP, *_AVERAGE)),
        (0.02, (_STEP, *_AVERAGE)),
        (0.15, (_STEP, *_AVERAGE, _of_module(31, "total += x * x", 20, 30))),
        (0.15, (_STEP, _of_module(31, "right += int(one)", 20, 30))),
        (0.15, (_STEP, _of_module(27, "kept.mul_(0.9)", 20))),
    ],
    ids=["far more", "far less", "two such loops", "other words", "no loop"],
)
def test_a_loop_that_may_be_another_one_names_no_line(taken: float, rows: tuple[dict[str, Any], ...]) -> None:
    assert _found(taken, *rows) is None


def test_of_loops_inside_each_other_the_innermost_is_meant() -> None:
    assert _found(0.2, _STEP, _of_module(28, "total -= x[i, j] * y", 20, 24, 27)) == 27


def test_an_inner_loop_that_takes_next_to_nothing_is_not_meant() -> None:
    rows = (_of_module(26, "y = x * 2", 19, 25), _of_module(28, "z = y * 3", 1, 25, 27))
    assert _found(0.2, _STEP, *rows) == 25
