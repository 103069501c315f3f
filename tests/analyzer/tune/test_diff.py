"""A change as a diff of the user's own call."""

from __future__ import annotations

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

from analyzer.tune.catalogue import BY_NAME
from analyzer.tune.diff import Place, advice, diff, patch
from running.fused import fused_on_cpu
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


def patched(folder: Path, *changes: tuple[str, Value, int, str]) -> str:
    """The script after the one patch of several changes, as `patch` makes it."""
    path = folder / "train.py"
    told = patch(
        [(BY_NAME[name], value, Place(str(path), line, called)) for name, value, line, called in changes], folder
    )
    (folder / "changes.diff").write_bytes(told.encode())
    done = subprocess.run(
        ["patch", "-p1", "-i", "changes.diff"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr + told
    return path.read_bytes().decode()


WHOLE = """import sys
from torch import nn, optim, set_num_threads
from torch.utils.data import DataLoader, TensorDataset
set_num_threads(8)
import torch as t
data = TensorDataset(t.arange(12).reshape(6, 2), t.arange(6))
loader = DataLoader(data, batch_size=4, num_workers=0, prefetch_factor=None)
model = nn.Linear(2, 1)
optimizer = optim.Adam(model.parameters(), lr=0.1, foreach=True)
optimizer.zero_grad(set_to_none=False)
batches = [[part.tolist() for part in batch] for batch in loader]"""
needs_patch = pytest.mark.skipif(shutil.which("patch") is None, reason="no patch on this machine")


@needs_patch
@pytest.mark.parametrize("how", ["batches", "samples"])
def test_all_changes_are_one_patch_and_the_script_runs_and_loads_the_same(how: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(WHOLE, "utf-8")
    before: dict[str, object] = {}
    exec(compile(WHOLE, "before", "exec"), before)
    text = patched(
        tmp_path, ("threads", 1, 0, ""), ("in-memory", how, 7, "DataLoader"), ("optimizer", "fused", 9, "Adam"),
        ("set-to-none", True, 0, ""),
    )  # fmt: skip
    assert "set_num_threads(1)" in text
    assert "set_num_threads(8)" not in text, "a line before it would be overruled"
    assert "foreach=False, fused=True" in text, "torch refuses both"
    assert "zero_grad(set_to_none=True)" in text
    after: dict[str, object] = {}
    runs = text if fused_on_cpu() else text.replace("fused=True", "fused=False")
    exec(compile(runs, "after", "exec"), after)
    assert after["batches"] == before["batches"]


@needs_patch
def test_arguments_of_workers_go_with_the_workers(tmp_path: Path) -> None:
    line = "loader = DataLoader(data, num_workers=4, prefetch_factor=8, persistent_workers=True)"
    (tmp_path / "train.py").write_text(line, "utf-8")
    assert (
        patched(tmp_path, ("workers", 0, 1, "DataLoader"))
        .rstrip()
        .endswith("num_workers=0, prefetch_factor=None, persistent_workers=False)")
    )
    (tmp_path / "train.py").write_text(line + "\n", "utf-8")
    text = patched(tmp_path, ("in-memory", "batches", 1, "DataLoader"))
    assert "num_workers=0, prefetch_factor=None, persistent_workers=False, collate_fn=" in text
    assert text.startswith("import torch\n"), "what is inserted names torch"


TOP = '"""A script."""\nimport torch\nfrom torch.utils.data import DataLoader\n'
LOADER = "loader = DataLoader(range(9), batch_size=3)\n"


@needs_patch
@pytest.mark.parametrize(
    "text",
    [
        f"{TOP}\n{LOADER}",
        f"{TOP}\n\n\n{LOADER}",
        f"{TOP}{LOADER}",
        f"# its licence\n\n{LOADER}",
        f'"""A script."""\n{LOADER}',
        f"#!/usr/bin/env python\n# its licence\n{LOADER}",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("how", ["batches", "samples"])
def test_what_is_inserted_stands_as_formatters_leave_it(text: str, end: str, how: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(text.replace("\n", end).encode())
    line = text.count("\n")
    after = patched(tmp_path, ("in-memory", how, line, "DataLoader"))
    assert after.count(end) == after.count("\n"), "lines end as they did"
    after = after.replace("\r\n", "\n")
    # A step's time tells nothing of what is done in front of the first one.
    assert "from the second epoch on" in after
    assert ("\n\n\ndef _in_memory" if how == "samples" else "\n\n\nclass _InMemory") in f"\n\n\n{after}"
    assert "\n\n\nloader = " in after
    assert ast.get_docstring(ast.parse(after)) == ast.get_docstring(ast.parse(text))
    assert after.startswith(text.partition("\n")[0]) or not text.startswith("#!")


@needs_patch
def test_a_form_feed_ends_no_line(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{TOP}\f\n# Data\n\f\n{LOADER}", "utf-8")
    assert "batch_size=3, num_workers=2)" in patched(tmp_path, ("workers", 2, 7, "DataLoader"))


@pytest.mark.parametrize(
    "line",
    [
        "loader = DataLoader(data, **options)",
        "loader = DataLoader(data, 4, True, None, None, 2)",
        "loader = make(data)",
    ],
)
def test_a_call_whose_arguments_are_not_all_seen_is_told_in_words(line: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(line, "utf-8")
    place = Place(str(tmp_path / "train.py"), 1, "DataLoader")
    assert diff(BY_NAME["workers"], 4, place) == ""
    assert patch([(BY_NAME["workers"], 4, place)], tmp_path) == ""


def test_a_patch_leaves_out_what_is_not_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT, "utf-8")
    (tmp_path / "other").mkdir()
    place = Place(str(tmp_path / "train.py"), 10, "DataLoader")
    assert patch([(BY_NAME["workers"], 4, place)], tmp_path / "other") == ""
    assert "--- a/train.py" in patch([(BY_NAME["workers"], 4, place)], tmp_path)
