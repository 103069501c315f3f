"""XF008: a model whose four layers lie on two devices in turn, so that 16 MiB cross between them four times a step."""

from __future__ import annotations

import pytest

from analyzer.finding import State
from building.clocked import Clocked
from rules.transfer.copies_between_devices import RULE
from running.one_rule import judged, run
from stories.devices import A100
from stories.models import layers

MIB = 1 << 20


def world(*, rate: float = 4_000, crossings: int = 4, beside: bool = False, device: str = "cuda") -> Clocked:
    """Five steps.

    Args:
        rate: Bytes a microsecond of each copy.
        crossings: Copies of 16 MiB in a step.
        beside: Whether they run on a stream of their own, beside the layers.
        device: Kind of the device.
    """
    cards = {"deviceProperties": [{**A100, "id": 0}, {**A100, "id": 1}]}
    world = Clocked(device, top=cards if device == "cuda" else {})
    stream = 9 if beside else 7
    for _ in world.steps(5):
        for _ in range(crossings):
            layers(world, 1)
            world.op("aten::to", world.now, 12)
            call = world.runtime("cudaMemcpyPeerAsync", world.now + 2, 6)
            start = world.now + 10 if beside else max(world.now + 10, world.busy_until[7] + 1)
            dur = 16 * MIB / rate
            facts = {"device": 0, "stream": stream, "correlation": call, "bytes": 16 * MIB}
            world.event("Memcpy PtoP (Device -> Device)", "gpu_memcpy", start, dur, pid=0, tid=stream, args=facts)
            world.busy_until[stream] = start + dur
            world.now += 14
        layers(world, 8)
        world.optimizer(world.now, 100)
        world.now += 110
    return world


def test_copies_between_devices_are_told_with_their_speed() -> None:
    found = judged(RULE, world())
    assert "64 MiB in 4 copies a step, 4.0 GB/s. That is less than PCIe 3.0 moves" in found.finding.why
    assert found.finding.saving.claims.total_ns == pytest.approx(5 * 4 * 16 * MIB / 4, rel=1e-3)
    assert "nvidia-smi topo -m" in found.finding.fix[0].code


def test_a_fast_link_is_not_looked_at_first() -> None:
    found = judged(RULE, world(rate=20_000)).finding
    assert "go through the host" not in found.why
    assert "`DistributedDataParallel`" in found.fix[0].code


def test_few_or_hidden_copies_cost_nothing() -> None:
    assert run(RULE, world(rate=100_000)).state is State.CLEAR
    assert run(RULE, world(crossings=1, beside=True)).state is State.CLEAR
    assert run(RULE, world(crossings=0)).state is State.NOT_APPLICABLE


def test_the_command_is_of_the_devices_maker() -> None:
    codes = " ".join(fix.code for fix in judged(RULE, world(device="rocm")).finding.fix)
    assert "rocm-smi --showtopo" in codes
    assert "nvidia" not in codes
