"""A change as a diff of the user's own call."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from analyzer.tune.catalogue import BY_NAME
from analyzer.tune.diff import Place, advice, diff
from traces.collect.tune.trial import Value

SCRIPT = '''"""A script."""
import torch
from torch.utils.data import DataLoader

data = list(range(10))
loader = DataLoader(
    data, batch_size=2,
    num_workers=0,  # slow
)
other = DataLoader(data, batch_size=len("äö"))
optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.1,)
'''
ADAM = "optimizer = torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))], lr=0.1, fused=True"


@pytest.mark.parametrize(
    ("name", "value", "line", "called", "added"),
    [
        ("workers", 4, 7, "DataLoader", "    num_workers=4,  # slow"),
        ("workers", 4, 10, "DataLoader", 'other = DataLoader(data, batch_size=len("äö"), num_workers=4)'),
        ("persistent", True, 6, "DataLoader", "    num_workers=0, persistent_workers=True  # slow"),
        ("optimizer", "fused", 11, "Adam", ADAM),
        ("threads", 2, 0, "", "torch.set_num_threads(2)"),
        ("in-memory", "samples", 10, "DataLoader", 'other = DataLoader(_in_memory(data), batch_size=len("äö"))'),
    ],
)  # fmt: skip
def test_the_call_is_changed_and_the_file_still_parses(
    name: str, value: Value, line: int, called: str, added: str, tmp_path: Path
) -> None:
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, "utf-8")
    found = diff(BY_NAME[name], value, Place(str(path), line, called))
    new = [one[1:] for one in found.splitlines() if one.startswith("+") and not one.startswith("+++")]
    assert any(one.startswith(added.split("  #")[0].rstrip(",)")) for one in new), found
    ast.parse(applied(SCRIPT, found))


def applied(text: str, found: str) -> str:
    """The text after the diff, hunk by hunk."""
    lines, result, at = text.splitlines(), list[str](), 0
    for line in found.splitlines()[2:]:
        if line.startswith("@@"):
            begin = int(line.split()[1].lstrip("-").split(",")[0]) - 1
            result += lines[at:begin]
            at = begin
        elif line.startswith("-"):
            at += 1
        elif line.startswith("+"):
            result.append(line[1:])
        else:
            result.append(lines[at])
            at += 1
    return "\n".join([*result, *lines[at:]]) + "\n"


def test_batches_in_memory_give_what_the_loader_gave(tmp_path: Path) -> None:
    script = """import torch
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.arange(12).reshape(6, 2), torch.arange(6))
loader = DataLoader(data, batch_size=4)
batches = [[part.tolist() for part in batch] for batch in loader]
"""
    path = tmp_path / "train.py"
    path.write_text(script, "utf-8")
    before: dict[str, object] = {}
    exec(compile(script, "before", "exec"), before)
    for how in ("batches", "samples"):
        after: dict[str, object] = {}
        changed = applied(script, diff(BY_NAME["in-memory"], how, Place(str(path), 5, "DataLoader")))
        exec(compile(changed, "after", "exec"), after)
        assert after["batches"] == before["batches"]


def test_a_call_that_is_a_librarys_is_told_in_words() -> None:
    assert diff(BY_NAME["workers"], 4, None) == ""
    assert advice(BY_NAME["workers"], 4) == "loader: num_workers=4"
    assert diff(BY_NAME["workers"], 4, Place("/nowhere.py", 1, "DataLoader")) == ""
