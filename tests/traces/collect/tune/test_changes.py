"""Each change takes hold of a script that does not know of it, and leaves its losses as they were where it should."""

from __future__ import annotations

from pathlib import Path

import pytest

from running.fused import fused_on_cpu
from traces.collect.tune.run import run
from traces.collect.tune.trial import Asked, Changes, Ran, Script

pytestmark = pytest.mark.slow

SCRIPT = """
import sys
import torch
from torch.utils.data import DataLoader, Dataset

torch.set_num_threads(1)

class Data(Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        noise = torch.rand(1).item() if "--random" in sys.argv else 0.0
        return torch.full((8,), (index % 7) / 7 + noise), index % 2

if __name__ == "__main__":
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for epoch in range(3):
        for inputs, labels in DataLoader(Data(), batch_size=8, shuffle=True):
            optimizer.zero_grad(set_to_none=False)
            loss = torch.nn.functional.cross_entropy(model(inputs), labels)
            loss.backward()
            optimizer.step()
    open("/result-of-training", "w")
"""


def tried(tmp_path: Path, changes: Changes, *arguments: str) -> Ran:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT, "utf-8")
    asked = Asked(changes=changes, warmup=4, steps=20, seed=3, timeout_s=240)
    return run(Script(target=str(script), arguments=arguments), asked, tmp_path / "log")


def test_changes_take_hold_and_the_same_seed_gives_the_same_losses(tmp_path: Path) -> None:
    plain = tried(tmp_path, {})
    assert (plain.ending, len(plain.times_ns), plain.source) == ("measured", 20, "optimizer")
    lines = SCRIPT.splitlines()
    assert ["DataLoader(" in lines[one["line"] - 1] for one in plain.calls["loader"]] == [True]
    assert ["Adam(" in lines[one["line"] - 1] for one in plain.calls["optimizer"]] == [True]
    assert len(plain.losses) >= 24
    changes: Changes = {"in-memory": "batches", "set-to-none": True, "collector": "spaced", "threads": 2}
    changed = tried(tmp_path, changes)
    assert changed.ending == "measured"
    assert changed.applied == changes
    assert changed.losses == plain.losses
    assert not Path("/result-of-training").exists()


@pytest.mark.scripts
def test_workers_and_optimizers_take_hold_as_well(tmp_path: Path) -> None:
    plain = tried(tmp_path, {})
    # Before torch 2.4 the CPU has no fused optimizers.
    way = "fused" if fused_on_cpu() else "foreach"
    workers = tried(tmp_path, {"workers": 1, "prefetch": 4, "persistent": True, "optimizer": way})
    assert set(workers.applied) == {"workers", "prefetch", "persistent", "optimizer"}
    assert workers.losses[:24] == pytest.approx(plain.losses[:24], rel=1e-4)
    assert not Path("/result-of-training").exists()


@pytest.mark.scripts
def test_what_the_script_has_already_takes_no_hold(tmp_path: Path) -> None:
    """`workers=0` was tried in turns on a loader without workers: what chance made of it could have been recommended."""
    assert tried(tmp_path, {"workers": 0}).applied == {}
    assert tried(tmp_path, {"workers": 1, "prefetch": 2}).applied == {"workers": 1}


@pytest.mark.scripts
def test_random_samples_are_not_held_in_memory(tmp_path: Path) -> None:
    found = tried(tmp_path, {"in-memory": "batches"}, "--random")
    assert found.applied == {}
    assert "draws random numbers" in found.refused["in-memory"]


@pytest.mark.scripts
def test_half_precision_shows_in_the_losses(tmp_path: Path) -> None:
    found = tried(tmp_path, {"autocast": "bfloat16"})
    assert found.applied == {"autocast": "bfloat16"}
    assert found.ending == "measured"
