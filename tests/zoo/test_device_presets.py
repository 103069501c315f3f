"""The loops for a CUDA device, stepped on the CPU at a small size: that their Python is sound shows on any machine.

What they cost on a device, and what is said of them there, does not.
"""

from __future__ import annotations

import itertools
from unittest.mock import Mock

import pytest

pytest.importorskip("torch")

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

from traces.collect.zoo import PRESETS, device, efficiency
from traces.collect.zoo.preset import Preset

# On a device it has been fused for longer.
pytestmark = pytest.mark.skipif(torch.__version__ < (2, 4), reason="updates are fused on the CPU since torch 2.4")
ON_DEVICE = [preset for preset in PRESETS if preset.needs in ("cuda", "two-gpus")]
CPU = torch.device("cpu")


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """What would need a device, replaced by nothing; and sizes that a CPU does not notice."""
    calls = Mock()
    calls.graphed.side_effect = lambda model, samples: model
    mlp, fixed = device.mlp, device._fixed
    monkeypatch.setattr(device, "WIDE", 64)
    monkeypatch.setattr(device, "_MANY", 16)
    monkeypatch.setattr(efficiency, "_ROWS", 16)
    monkeypatch.setattr(efficiency, "_NUMBERS", 4096)
    monkeypatch.setattr(device, "mlp", lambda width, *rest, **more: mlp(min(width, 64), *rest, **more))
    monkeypatch.setattr(device, "_fixed", lambda at, rows=16: fixed(at, min(rows, 16)))
    monkeypatch.setattr(torch.cuda, "synchronize", calls.synchronize)
    monkeypatch.setattr(torch.cuda, "empty_cache", calls.empty_cache)
    monkeypatch.setattr(torch.cuda, "make_graphed_callables", calls.graphed)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: (calls.pin(), tensor)[1])
    return calls


@pytest.mark.parametrize("preset", ON_DEVICE, ids=lambda preset: preset.name)
def test_steps_train_without_end(preset: Preset, called: Mock) -> None:
    updates: list[object] = []
    hook = register_optimizer_step_post_hook(lambda *_: updates.append(None))
    try:
        assert sum(1 for _ in itertools.islice(preset.loop(CPU), 3)) == 3
    finally:
        hook.remove()
    assert len(updates) == 3


@pytest.mark.parametrize(
    ("name", "call", "times"),
    [
        ("gpu-synchronizes", "synchronize", 2 * 25),
        ("gpu-thrashes", "empty_cache", 2),
        ("gpu-graphed", "graphed", 1),
        ("gpu-pinned", "pin", 2),
    ],
)
def test_what_is_planted_is_done_in_every_step(name: str, call: str, times: int, called: Mock) -> None:
    (preset,) = (preset for preset in ON_DEVICE if preset.name == name)
    for _ in itertools.islice(preset.loop(CPU), 2):
        pass
    assert getattr(called, call).call_count == times
