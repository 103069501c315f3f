"""CO004: one process drives two devices through nn.DataParallel."""

from __future__ import annotations

import pytest

from analyzer.engine import run_rules
from analyzer.engine.trust import grade
from analyzer.facts import Facts
from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from rules.communication.data_parallel import RULE
from rules.communication.exposed import RULE as EXPOSED
from rules.communication.poor_overlap import RULE as OVERLAP
from running.one_rule import judged, run

BROADCAST = "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
REDUCE = "ncclDevKernel_Reduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def world(
    *, devices: int = 2, name: str = "DataParallel.forward", sent: float = 0, summed: float = 0, busy: float = 800
) -> TraceBuilder:
    """Three steps of 1 ms with a kernel on each device, parameters sent in the pass and gradients added up behind it."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * 1_000.0
        builder.step(number, at, 1_000)
        builder.annotation(name, at, 400)
        for device in range(devices):
            start = at + 100 + 10 * device
            builder.launch(at + 10 * device, kernel_start=start, kernel_dur=busy / (device + 1), device=device)
        free = at + 100 + busy
        for at_host, kernel, dur in ((at + 380, BROADCAST, sent), (at + 410, REDUCE, summed)):
            if dur:
                builder.launch(at_host, kernel_start=free, kernel_dur=dur, name=kernel, stream=20, op=None)
                free += dur
    return builder


def test_fires_without_a_saving_it_cannot_know() -> None:
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step, found.finding.steps_seen) == (Severity.INFO, 0, 3)
    assert "2 devices" in found.finding.why
    assert "busy 40 % to 80 %" in found.finding.why
    assert "--nproc_per_node=2" in found.finding.fix[0].note
    # DataParallel splits a batch over the devices; with a process a device each draws one of its own.
    assert any("`batch_size` is then that of one process: a part in 2 of it" in fix.note for fix in found.finding.fix)


def test_collectives_of_the_pass_are_likely_to_go_and_those_behind_it_may() -> None:
    found = judged(RULE, world(sent=120, summed=160, busy=500))
    assert found.ns_per_step == 280_000
    assert found.usual_ns_per_step == 120_000
    assert "280 us (28 %) in collectives with nothing beside them" in found.finding.why


def test_nobody_else_claims_what_it_does() -> None:
    facts = Facts(world(sent=120, summed=160, busy=500).trace())
    runs = {one.rule.meta.code: one for one in run_rules(facts, (RULE, EXPOSED, OVERLAP), grade(facts))}
    assert {code: one.state for code, one in runs.items()} == {
        "CO004": State.FIRED, "CO001": State.CLEAR, "CO002": State.NOT_APPLICABLE,
    }  # fmt: skip


def test_ranks_that_are_apart_have_collectives_of_their_own() -> None:
    facts = Facts(world(name="DistributedDataParallel.forward", devices=1, sent=120, summed=160, busy=500).trace())
    runs = {one.rule.meta.code: one for one in run_rules(facts, (RULE, EXPOSED, OVERLAP), grade(facts))}
    assert {code: one.state for code, one in runs.items()} == {
        "CO004": State.NOT_APPLICABLE, "CO001": State.FIRED, "CO002": State.FIRED,
    }  # fmt: skip


def test_distributed_data_parallel_is_the_cure() -> None:
    assert run(RULE, world(name="DistributedDataParallel.forward")).state is State.NOT_APPLICABLE


@pytest.mark.parametrize(("devices", "state"), [(1, State.CLEAR), (2, State.FIRED)])
def test_boundary(devices: int, state: State) -> None:
    assert run(RULE, world(devices=devices)).state is state


def test_not_applicable_on_several_devices_without_the_module() -> None:
    assert run(RULE, world(name="Pipeline.forward")).state is State.NOT_APPLICABLE
