"""Which line calls which operator, in a pass with stacks."""

import json
from pathlib import Path

from traces.collect.script.evidence import where_table


def _event(name: str, category: str, start: float, duration: float) -> dict[str, object]:
    return {"name": name, "cat": category, "tid": 1, "ts": start, "dur": duration, "ph": "X"}


def test_the_backward_pass_does_not_outvote_the_line_of_the_forward_pass(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("")
    node = "autograd::engine::evaluate_function: SelectBackward0"
    events = [
        _event("train.py(20): main", "python_function", 0, 100),
        _event("train.py(10): looped_loss", "python_function", 10, 20),
        _event("aten::select", "cpu_op", 12, 2),
        _event(node, "cpu_op", 40, 10),
        _event("aten::select", "cpu_op", 42, 2),
        _event("aten::select", "cpu_op", 45, 2),
        _event("autograd::engine::evaluate_function: OwnBackward", "cpu_op", 60, 20),
        _event("train.py(30): backward", "python_function", 62, 15),
        _event("aten::mul", "cpu_op", 65, 5),
        _event("aten::mul", "cpu_op", 90, 5),
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    rows = {(row["op"], row["line"], row["count"]) for row in where_table(tmp_path / "trace.json", (tmp_path,))}
    assert {row for row in rows if row[0].startswith("aten")} == {
        ("aten::select", 10, 1), ("aten::mul", 30, 1), ("aten::mul", 20, 1),
    }  # fmt: skip
    assert (node, 20, 1) in rows


def test_a_function_that_ran_before_the_profiler_began_is_told_by_its_first_line(tmp_path: Path) -> None:
    """Its frame has the line that ran when the profiler began, all others that of `def`."""
    script = "import torch\n\n\ndef step(x):\n    return x + 1\n\n\ndef main():\n    x = 1\n    for _ in range(9):\n"
    script += "        x = step(x)\n"
    (tmp_path / "train.py").write_text(f"{script}    return '\\d'\n\n\nmain()\n")
    events = [
        _event("train.py(15): <module>", "python_function", 0, 100),
        _event("train.py(11): main", "python_function", 0, 100),
        _event("aten::mul", "cpu_op", 5, 5),
        _event("train.py(4): step", "python_function", 20, 20),
        _event("aten::add", "cpu_op", 25, 5),
    ]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    rows = {(row["op"], row["function"], row["line"]) for row in where_table(tmp_path / "trace.json", (tmp_path,))}
    assert rows == {("aten::mul", "main", 8), ("aten::add", "step", 4)}


def test_a_file_that_is_no_python_keeps_the_line_that_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def main(:\n")
    events = [_event("train.py(11): main", "python_function", 0, 100), _event("aten::mul", "cpu_op", 5, 5)]
    (tmp_path / "trace.json").write_text(json.dumps({"traceEvents": events}))
    assert [row["line"] for row in where_table(tmp_path / "trace.json", (tmp_path,))] == [11]
