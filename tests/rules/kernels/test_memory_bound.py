"""KE009: additions of 4096 x 4096 in 16 bits on an MI300X, 101 MB each, which its memory moves in 19 us at best."""

from __future__ import annotations

import pytest

from analyzer.finding import Severity, State
from building.builders import TraceBuilder
from programs.hardware import POINTWISE
from rules.kernels.memory_bound import RULE
from running.one_rule import judged, run

SIZES = {"Input Dims": [[4096, 4096], [4096, 4096], []], "Input type": ["c10::BFloat16"] * 2 + ["Scalar"]}


def world(
    *, dur: float = 25, calls: int = 20, device: str = "rocm", shapes: bool = True, activity: float | None = None
) -> TraceBuilder:
    """Three steps of 2 ms with so many additions of so many us each."""
    builder = TraceBuilder(device)
    for number in range(3):
        at = number * 2_000.0
        builder.step(number, at, 2_000)
        for place in range(calls):
            when = at + place * 60
            builder.op("aten::add", when, 10, **(SIZES if shapes else {}))
            builder.launch(when + 2, kernel_start=when + 20, kernel_dur=dur, name=POINTWISE, op=None, call_dur=5)
            if activity is not None:
                builder.counter("DRAM BW (%)", when + 25, activity)
    return builder


def test_it_is_told_without_a_saving():
    found = judged(RULE, world())
    assert (found.severity, found.ns_per_step) == (Severity.INFO, 0)
    assert "take 25 % of the step; the longest, `aten::add`, reaches 76 %" in found.finding.why


@pytest.mark.parametrize(("calls", "state"), [(15, State.CLEAR), (16, State.FIRED)])
def test_boundary_of_the_share(calls, state):
    assert run(RULE, world(calls=calls)).state is state


# 100,663,296 bytes at 5.3 TB/s are 18.99 us: 60 % of the peak is 31.7 us.
@pytest.mark.parametrize(("dur", "state"), [(31.5, State.FIRED), (31.9, State.CLEAR)])
def test_boundary_of_the_peak(dur, state):
    assert run(RULE, world(dur=dur)).state is state


def test_the_counter_tells_it_where_shapes_do_not():
    assert "72 % active while the device is busy" in judged(RULE, world(shapes=False, activity=72)).finding.why
    assert run(RULE, world(shapes=False, activity=40)).state is State.CLEAR


def test_cannot_tell_without_either():
    assert run(RULE, world(shapes=False)).state is State.CANNOT_TELL


@pytest.mark.parametrize(("op", "first"), [("aten::mm", "larger batch"), ("aten::add", "torch.compile")])
def test_products_with_weights_want_more_rows_and_no_compiler(op: str, first: str) -> None:
    """Of one row: 90 MB of weights for each product."""
    builder = world()
    sizes = {"Input Dims": [[1, 4_096], [4_096, 11_008]], "Input type": ["c10::BFloat16"] * 2}
    for event in builder.events:
        if event["cat"] == "cpu_op" and op == "aten::mm":
            event |= {"name": op}
            event["args"] |= sizes
    fixes = judged(RULE, builder).finding.fix
    assert first in fixes[0].code
    assert any("torch.compile" in fix.code for fix in fixes) is (op == "aten::add")
