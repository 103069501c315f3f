"""CO004: one process drives two devices through nn.DataParallel."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.communication.data_parallel import RULE
from running.one_rule import judged, run


def world(*, devices: int = 2, name: str = "DataParallel.forward") -> TraceBuilder:
    """Three steps of 1 ms with a kernel on each device."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 1_000.0
        builder.step(number, at, 1_000)
        builder.annotation(name, at, 400)
        for device in range(devices):
            start = at + 100 + 10 * device
            builder.launch(at + 10 * device, kernel_start=start, kernel_dur=800 / (device + 1), device=device)
    return builder


def test_fires_without_a_saving_it_cannot_know() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step, found.finding.steps_seen) == (Severity.INFO, 0, 3)
    assert "2 devices" in found.finding.why
    assert "busy 40 % to 80 %" in found.finding.why
    assert "--nproc_per_node=2" in found.finding.fix[0].note
    # DataParallel splits a batch over the devices; with a process a device each draws one of its own.
    assert any("`batch_size` is then that of one process: a part in 2 of it" in fix.note for fix in found.finding.fix)


def test_distributed_data_parallel_is_the_cure() -> None:
    assert run(RULE, world(name="DistributedDataParallel.forward")).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("devices", "state"), [(1, State.CLEAR), (2, State.FIRED)])
def test_boundary(devices: int, state: State) -> None:
    assert run(RULE, world(devices=devices)).state is state


def test_not_applicable_on_several_devices_without_the_module() -> None:
    assert run(RULE, world(name="Pipeline.forward")).state is State.NOT_APPLICABLE
