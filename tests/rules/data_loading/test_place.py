"""The user's own line in findings about loading."""

from __future__ import annotations

from typing import Any

import pytest

from analyzer.finding import Location, Table
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as DL001
from rules.data_loading.single_process_loader import RULE as DL002
from rules.data_loading.small_samples import RULE as DL006
from running.one_rule import judged

FUNCTIONS = [{"role": "dataset", "name": "Signals.__getitem__", "file": "data.py", "line": 12}]
LINES: dict[str, Any] = {
    "training": {
        "total_ns": 200,
        "loader_ns": 100,
        "rows": [
            {
                "loader": True, "file": "data.py", "line": 14, "function": "Signals.__getitem__", "begins": 12,
                "text": "image = decode(path)", "ns": 80,
            },
            {"loader": False, "file": "train.py", "line": 40, "function": "main", "begins": 30, "text": "", "ns": 100},
        ],
    }
}  # fmt: skip


# Four samples a batch, which fit in memory.
SMALL = {"loader": {"batch_size": 4}, "dataset": {"length": 40, "sample_bytes": 16}}


def world(**advisor: Any) -> TraceBuilder:
    builder = TraceBuilder(None, top={"advisor": {"usable_cores": 8, **SMALL, **advisor}})
    for number in range(3):
        at = number * 100_000
        builder.step(number, at, 100_000).loader(at, 40_000)
        builder.op("aten::linear", at + 40_000, 60_000)
    return builder


@pytest.mark.parametrize("rule", [DL001, DL002, DL006])
def test_a_sampled_line_is_named_with_its_share_and_text(rule: Any) -> None:
    found = judged(rule, world(loader_code=FUNCTIONS, lines=LINES)).finding
    assert found.location == Location("data.py", 14, "Signals.__getitem__", 12)
    assert found.why.endswith(
        "Sampled, 80 % of the loading is at data.py:14 in `Signals.__getitem__` (`image = decode(path)`)."
    )
    table = next(one for one in found.evidence if isinstance(one, Table))
    assert table.rows == (("data.py:14", "Signals.__getitem__", "image = decode(path)", 0.8),)


@pytest.mark.parametrize("rule", [DL001, DL002, DL006])
def test_without_samples_the_function_is_named_and_no_line(rule: Any) -> None:
    found = judged(rule, world(loader_code=FUNCTIONS)).finding
    assert found.location == Location("data.py", None, "Signals.__getitem__", 12)
    assert found.why.endswith(
        "Your own code in it: `Signals.__getitem__` (dataset in data.py, from line 12); "
        "`advisor collect --evidence train.py` samples its lines."
    )


@pytest.mark.parametrize("rule", [DL001, DL002, DL006])
def test_a_loader_without_code_of_the_user_names_nothing(rule: Any) -> None:
    found = judged(rule, world()).finding
    assert found.location is None
    assert "own code" not in found.why


@pytest.mark.parametrize("rule", [DL001, DL002, DL006])
def test_lines_that_are_little_of_the_loading_are_no_place_of_it(rule: Any) -> None:
    (row, *_), part = LINES["training"]["rows"], LINES["training"]
    lines = {"training": {**part, "rows": [{**row, "ns": 9}]}}
    found = judged(rule, world(loader_code=FUNCTIONS, lines=lines)).finding
    assert found.location is None
    assert "Sampled, 91 % of the loading is in no line of your own: in libraries, or other threads." in found.why
