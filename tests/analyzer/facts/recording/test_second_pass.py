"""Places from a second pass with stacks, in a recording that has none."""

from typing import Any

import pytest

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine, Stacks
from analyzer.facts.recording.second_pass import places
from building.builders import TraceBuilder


def _builder(table: Any) -> TraceBuilder:
    builder = TraceBuilder(top={"advisor": {"where": table}}).step(1, 0, 100)
    builder.op("aten::item", 10, 20)
    return builder


def _row(**changes: Any) -> dict[str, Any]:
    return {"op": "aten::item", "file": "src/train.py", "line": 12, "function": "step", "count": 3} | changes


def _line(table: Any, start_us: int = 10) -> CodeLine | None:
    trace = _builder(table).trace()
    item = trace.ops.iloc[0]
    return Stacks(trace).commonest([item["thread"]], [item["start_ns"]], int(item["thread"]))


def test_an_op_is_found_where_the_second_pass_saw_it() -> None:
    assert _line([_row(), _row(file="src/other.py", count=1)]) == CodeLine("src/train.py", None, "step", 12)


def test_an_op_that_is_called_everywhere_is_nowhere() -> None:
    assert _line([_row(), _row(line=40)]) is None


@pytest.mark.parametrize(
    "table",
    [
        None,
        "x",
        [1],
        [{}],
        [_row(op=3)],
        [_row(line="12")],
        [_row(count=True)],
        [_row(file="torch/nn/modules/module.py")],
        [_row(op="aten::add")],
    ],
)
def test_nothing_is_believed_of_the_table(table: Any) -> None:
    assert _line(table) is None


def test_recorded_stacks_win() -> None:
    builder = _builder([_row()]).python("other.py(5): main", 0, 100)
    trace = builder.trace()
    assert Stacks(trace).known
    assert places(Facts(trace).trace.meta) == {"aten::item": "src/train.py(12): step"}
    item = trace.ops.iloc[0]
    assert Stacks(trace).commonest([item["thread"]], [item["start_ns"]], int(item["thread"])) == CodeLine(
        "other.py", None, "main", 5
    )


def test_what_the_backward_pass_calls_has_no_line() -> None:
    builder = _builder([_row()])
    builder.op("autograd::engine::evaluate_function: MulBackward0", 40, 20)
    builder.op("aten::item", 45, 5)
    trace = builder.trace()
    items = trace.ops[trace.ops["name"] == "aten::item"]
    found = Stacks(trace).nearest(int(items["thread"].iloc[0]), items["start_ns"].to_numpy())
    assert found.tolist() == ["src/train.py(12): step", ""]
