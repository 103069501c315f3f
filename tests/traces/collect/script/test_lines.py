"""The line that loading spends its time at, from a real run, in the training process and in workers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch")

from traces.collect.script.session import ScriptConfig, Verdict, collect_script

SCRIPT = Path(__file__).parents[1] / "scripts" / "slow_dataset.py"
SLOW_LINE = 1 + next(n for n, line in enumerate(SCRIPT.read_text().splitlines()) if "sum(number" in line)


@pytest.mark.scripts
@pytest.mark.parametrize(("workers", "part"), [(0, "training"), (2, "workers")])
def test_the_slow_line_is_sampled_with_its_text(tmp_path: Path, workers: int, part: str) -> None:
    config = ScriptConfig(
        target=str(SCRIPT), arguments=(str(workers),), output=tmp_path / "t.json", evidence=True, stop=True
    )
    result = collect_script(config, lambda path: Verdict(usable=True))
    assert result.status == 0
    advisor = json.loads((tmp_path / "t.json").read_bytes())["advisor"]
    assert [(row["role"], row["name"].rpartition(".")[2]) for row in advisor["loader_code"]] == [
        ("dataset", "__getitem__")
    ]
    found = advisor["lines"][part]
    assert found["processes"] == max(1, workers)
    assert found["loader_ns"] > 0
    slow = sum(row["ns"] for row in found["rows"] if row["loader"] and row["line"] == SLOW_LINE)
    assert slow > 0.5 * found["loader_ns"]
    row = next(row for row in found["rows"] if row["loader"] and row["line"] == SLOW_LINE)
    assert row["text"] == "total = sum(number % 7 for number in range(20_000))"
    assert not Path(row["file"]).is_absolute()
