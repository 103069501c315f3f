"""Events that nobody understood: no advice where they may be the device's work, caution where some of it may be."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.facts.health.symptom import Gravity, Symptom
from building.builders import TraceBuilder


def world(
    events: int, *, ops: int = 50, device: bool = False, category: str = "vpu_op", alone: bool = True, **args: object
) -> TraceBuilder:
    """Four steps of ops, 50 of which take a fifth of the step; between them unknown events of the given number in all."""
    builder = TraceBuilder(device="cuda" if device else None)
    for step in range(4):
        at = step * 10_000
        builder.step(step, at, 10_000)
        for index in range(ops):
            if device:
                builder.launch(at + index * 200, kernel_start=at + index * 200 + 10, kernel_dur=100, call_dur=40)
            else:
                builder.op("aten::mm", at + index * (10_000 // ops), 40)
    where = {"pid": 9, "tid": 9} if alone else {}
    for index in range(events):
        builder.event("exec", category, 60 + index * 200, 100, **where, **({"args": args} if args else {}))
    return builder


def found(builder: TraceBuilder) -> list[Symptom]:
    return [
        one for one in Facts(builder.trace()).health.symptoms if one.code == "PG005" and "does not know" in one.message
    ]


@pytest.mark.parametrize(("events", "gravity"), [(19, None), (20, Gravity.UNUSABLE), (200, Gravity.UNUSABLE)])
def test_beside_a_cpu_only_trace_they_end_all_advice(events: int, gravity: Gravity | None) -> None:
    assert [one.gravity for one in found(world(events))] == ([] if gravity is None else [gravity])


def test_beside_device_work_they_are_a_reason_for_caution() -> None:
    (one,) = found(world(100, device=True))
    assert one.gravity is Gravity.CAUTION
    assert one.count == 100
    assert "vpu_op" in one.message


def test_on_the_thread_of_the_ops_they_are_the_hosts() -> None:
    assert found(world(200, alone=False)) == []


def test_what_was_taken_for_device_work_is_said() -> None:
    (one,) = found(world(150, device=True, stream=3))
    assert one.gravity is Gravity.CAUTION
    assert one.message.startswith("150 of 350 kernels are events of categories that advisor does not know (vpu_op)")


def test_no_finding_and_no_verdict_stand_on_such_a_trace() -> None:
    # Ops 1 ms apart: no core is so slow that this would be the way from one op to the next.
    known = explain_facts(Facts(world(0, ops=10).trace())).analysis
    assert known.summary.verdict.bound_by == "python"
    assert [one for one in known.findings if one.rule == "PY001"]
    analysis = explain_facts(Facts(world(200, ops=10).trace())).analysis
    assert analysis.trust.verdict == "unusable"
    assert not [one for one in analysis.findings if one.rule == "PY001"]
