"""Whose code makes the batches: sampled lines, recorded stacks, or what the loader was made with; worlds with each, and none."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from building.builders import TraceBuilder

FUNCTIONS = [{"role": "dataset", "name": "Signals.__getitem__", "file": "data.py", "line": 12}]


def row(
    line: int, ns: int, *, loader: bool = True, function: str = "Signals.__getitem__", begins: int = 12
) -> dict[str, Any]:
    return {
        "loader": loader, "file": "data.py", "line": line, "function": function, "begins": begins, "text": f"text {line}", "ns": ns,
    }  # fmt: skip


def lines(*rows: dict[str, Any], kind: str = "training") -> dict[str, Any]:
    total = sum(one["ns"] for one in rows)
    part = {"processes": 1, "total_ns": 2 * total, "loader_ns": total, "rows": list(rows)}
    return {"interval_ns": 2_000_000, "steps": 9, "step_ns": 1, "training": None, "workers": None} | {kind: part}


def world(*, workers: int = 0, stacks: bool = False, **top: Any) -> Facts:
    builder = TraceBuilder(None, top={"advisor": top})
    for number in range(3):
        at = number * 1_000
        builder.step(number, at, 1_000).loader(at, 400, workers=workers)
        builder.op("aten::linear", at + 400, 600)
        if stacks:
            builder.python("train.py(30): main", at, 1_000)
            builder.python("data.py(12): __getitem__", at + 10, 300)
    return Facts(builder.trace())


def test_the_line_that_ran_longest_comes_first() -> None:
    code = world(loader_code=FUNCTIONS, lines=lines(row(14, 70), row(15, 30))).input.code
    assert code.place == CodeLine("data.py", 14, "Signals.__getitem__", 12)
    assert [(line.line, line.ns) for line in code.lines] == [(14, 70), (15, 30)]


def test_lines_outside_the_loader_are_not_its_own() -> None:
    code = world(lines=lines(row(90, 70, loader=False, function="step", begins=80))).input.code
    assert code.lines == ()
    assert code.place is None


def test_where_workers_load_their_lines_count() -> None:
    training, workers = lines(row(40, 90)), lines(row(14, 10), kind="workers")
    code = world(workers=2, lines=training | {"workers": workers["workers"]}).input.code
    assert [line.line for line in code.lines] == [14]


def test_recorded_functions_inside_the_loader_count_and_their_first_line_is_not_taken_for_the_place() -> None:
    code = world(stacks=True).input.code
    assert code.place == CodeLine("data.py", None, "__getitem__", 12)
    assert [place.function for place, _ in code.recorded] == ["__getitem__"]


def test_without_either_what_the_loader_was_made_with_is_named() -> None:
    assert world(loader_code=FUNCTIONS).input.code.place == CodeLine("data.py", None, "Signals.__getitem__", 12)


def test_a_loader_of_libraries_alone_has_no_place() -> None:
    assert world(loader_code=[]).input.code.place is None
    assert world().input.code.place is None


@pytest.mark.parametrize(
    "top",
    [
        {"loader_code": 7}, {"loader_code": [7, {}, {"role": "dataset"}]}, {"loader_code": [FUNCTIONS[0] | {"line": "12"}]},
        {"loader_code": [FUNCTIONS[0] | {"role": "<b>"}]}, {"lines": []}, {"lines": {"training": []}},
        {"lines": {"training": {"total_ns": 1, "loader_ns": -1, "rows": [row(1, 1)]}}},
        {"lines": lines(row(1, 1) | {"ns": True})}, {"lines": lines(row(1, 1) | {"text": None})},
    ],
)  # fmt: skip
def test_nothing_is_believed_about_the_shape_of_what_a_file_says(top: dict[str, Any]) -> None:
    assert world(**top).input.code.place is None
