"""Calls of modules as ranges: recorded, read and taken off again where they cost too much."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from analyzer.facts import Facts
from traces.collect.trace_advisor_hook.marks.module_marks import ModuleMarks
from traces.reader.read import read
from traces.trace import Capability, Trace

torch = pytest.importorskip("torch")


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        if x is None:
            raise ValueError("nothing to do")
        return torch.relu(self.linear(x))


def recorded(marks: ModuleMarks, path: Path, run) -> Trace:
    """What the profiler writes of three steps, the marks being on in all of them."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        marks.start(warming_up=False)
        for _ in range(3):
            run()
        marks.stop()
    profiler.export_chrome_trace(str(path))
    return read(path)


def test_modules_are_ranges_named_by_their_place_in_the_model(tmp_path):
    model = torch.nn.Sequential(Block(), Block())
    trace = recorded(ModuleMarks("always"), tmp_path / "t.json", lambda: model(torch.ones(4, 8)).sum().backward())
    rows = Facts(trace).model.modules.rows
    assert [row.path[-1] for row in rows] == [
        "Sequential",
        "0 (Block)",
        "0.linear (Linear)",
        "1 (Block)",
        "1.linear (Linear)",
    ]
    assert {row.calls for row in rows} == {3}
    assert all(row.forward_ns > 0 and row.backward_ns > 0 for row in rows)
    # They are no Python stacks, and no ops.
    assert Capability.STACKS not in trace.capabilities
    assert not trace.ops["name"].astype(str).str.startswith("nn.Module").any()


def test_a_call_that_raises_ends_its_range_and_the_next_is_its_neighbour(tmp_path):
    model = torch.nn.Sequential(Block())

    def run() -> None:
        with pytest.raises(ValueError, match="nothing to do"):
            model(None)
        model(torch.ones(4, 8))

    trace = recorded(ModuleMarks("always"), tmp_path / "t.json", run)
    rows = {row.path: row.calls for row in Facts(trace).model.modules.rows}
    assert rows[("Sequential",)] == rows["Sequential", "0 (Block)"] == 6


@pytest.mark.parametrize(("step_ns", "stays"), [(10**12, True), (1, False)])
def test_marks_that_nobody_asked_for_stay_only_where_they_cost_little(step_ns, stays):
    marks = ModuleMarks("cheap")
    marks.start(warming_up=True)
    try:
        torch.nn.Identity()(None)
        marks.call_ns = 1_000.0
        marks.warmed_up(1, step_ns)
        assert marks.on is stays
    finally:
        marks.stop()


def test_marks_that_were_asked_for_stay_and_say_what_they_cost():
    marks = ModuleMarks("always")
    marks.start(warming_up=True)
    try:
        for _ in range(10):
            torch.nn.Identity()(None)
        marks.call_ns = 1_000.0
        marks.warmed_up(2, 10_000)
        assert (marks.on, marks.cost_ratio) == (True, 0.5)
    finally:
        marks.stop()


@pytest.mark.parametrize("wanted", ["", "always"])
def test_nothing_of_the_program_is_left_changed(wanted, monkeypatch):
    hooks = torch.nn.modules.module
    before = len(hooks._global_forward_hooks), len(hooks._global_forward_pre_hooks)
    marks = ModuleMarks(wanted)
    marks.start(warming_up=True)
    assert marks.on is bool(wanted)
    marks.stop()
    assert (len(hooks._global_forward_hooks), len(hooks._global_forward_pre_hooks)) == before


def test_a_program_that_compiles_is_left_alone(monkeypatch):
    class Frames:
        FRAME_COUNTER = 1

    monkeypatch.setitem(sys.modules, "torch._dynamo.convert_frame", Frames)
    marks = ModuleMarks("always")
    marks.start(warming_up=True)
    assert not marks.on


def test_a_call_that_began_before_the_recording_and_ends_in_it_goes_on() -> None:
    """Torch took the end of a range that it never opened for a fault, and the script ended by it (2.15)."""
    marks, model = ModuleMarks("always"), torch.nn.Linear(2, 2)
    marks.enter(model, ())
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
        marks.leave(model, (), None)
    assert marks.stack() == []
