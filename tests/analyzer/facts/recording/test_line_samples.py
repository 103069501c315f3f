"""Lines as they were sampled, put together by line."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts.recording.line_samples import training_lines
from builders import TraceBuilder


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
