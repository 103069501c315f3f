"""Lines of a loader's workers are written although the epoch, and with it the worker, ends while they are sampled."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data._utils import worker

from traces.collect.trace_advisor_hook.sampling.worker_lines import request, wrap_workers


class Slow(Dataset[Any]):
    def __getitem__(self, index: int) -> Any:
        time.sleep(0.05)
        return torch.zeros(1)

    def __len__(self) -> int:
        return 16


def slow_collate(rows: list[torch.Tensor]) -> torch.Tensor:
    time.sleep(0.2)
    return torch.stack(rows)


class Quick(Slow):
    def __getitem__(self, index: int) -> Any:
        return torch.zeros(1)


@pytest.mark.parametrize(
    ("loader", "collates"),
    [
        (DataLoader(Slow(), batch_size=4, num_workers=1), False),
        (DataLoader(Quick(), batch_size=4, num_workers=1, collate_fn=slow_collate), True),
    ],
    ids=["data set", "collate function"],
)
def test_what_putting_samples_together_takes_is_told_apart(
    loader: DataLoader[Any], *, collates: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_worker_loop", worker._worker_loop)
    wrap_workers(str(tmp_path))
    Path(request(str(tmp_path), os.getpid())).touch()
    for _ in loader:
        pass
    (written,) = tmp_path.glob(f"lines-{os.getpid()}-*.json")
    told = json.loads(written.read_text())
    assert (told["collate_ns"] > told["loader_ns"] / 2) is collates


def test_what_a_worker_sampled_outlives_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_worker_loop", worker._worker_loop)
    wrap_workers(str(tmp_path))
    # The loader looks its worker's function up in the module each time.
    Path(request(str(tmp_path), os.getpid())).touch()
    for _ in DataLoader(Slow(), batch_size=4, num_workers=1):
        pass
    (written,) = tmp_path.glob(f"lines-{os.getpid()}-*.json")
    assert json.loads(written.read_text())["loader_ns"] > 0
