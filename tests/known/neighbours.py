"""Worlds beside those of the other tables, in which only the property in question differs.

`python tests/confusion.py` prints a row for each thing that is said.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from analyzer.facts import Facts
from building.builders import TraceBuilder
from building.clocked import Clocked
from known.sayings import Saying, explained, found
from known.scenarios import tests_of
from programs.evaluating import passes, turns
from programs.generation import prompted
from stories.models import NVJET

_STEP = 10_000.0


def _passes(*graphs: str, read: str) -> TraceBuilder:
    """Twelve rounds of replayed graphs, one for each name; the host receives something behind the graph called `read`."""
    world = Clocked(marks=False)
    for _ in range(12):
        for name in graphs:
            world.graph([(f"{name}_{index}", 40) for index in range(30)])
            if name == read:
                world.copied("DtoH", 64)
    return world


def _guessed(*, prepares: bool) -> TraceBuilder:
    """Twelve passes whose results the host receives; in front of them it works for as long as they take, or it does not."""
    world = Clocked(marks=False)
    if prepares:
        for _ in range(60):
            world.host_op("aten::sort", 500)
    for _ in range(12):
        for index in range(40):
            world.kernel_of("aten::mm", f"k{index % 8}" if index < 39 else "argmax", 60)
        world.copied("DtoH", 64)
    return world


def _left(*, own: bool) -> TraceBuilder:
    """Three steps of 20 ms of kernels, which 28 ms of others come before: of the step itself, or launched before the recording."""
    builder = TraceBuilder()
    for index in range(10):
        call = builder.runtime("cudaLaunchKernel", 50_005 + index * 8, 5) if own else 90_000 + index
        builder.kernel("gemm", 50_100 + index * 2_800, 2_799, correlation=call)
    for number in range(3):
        at = 50_000 + number * 10_000
        builder.step(number, at, 10_000)
        for index in range(10):
            start = 78_102 + number * 20_000 + index * 2_000
            builder.launch(at + index * 900 + 100, kernel_start=start, kernel_dur=1_999)
    return builder


def _early(gap: float) -> TraceBuilder:
    """Kernels that seem to start 6 us before their launches, so far apart; the clocks of host and device differ."""
    builder = TraceBuilder()
    for number in range(4):
        at = number * _STEP
        builder.step(number, at, _STEP)
        for index in range(int(_STEP / (gap + 40))):
            launch = at + index * (gap + 40)
            builder.op(f"aten::op{index % 9}", launch, gap + 38)
            builder.launch(launch + gap, kernel_start=launch + gap - 6, kernel_dur=40, name="k", op=None)
    return builder


def _calls(frame: str) -> TraceBuilder:
    """Steps of which half is a function's, with stacks; the loop is the program's own."""
    world = Clocked()
    for _ in world.steps(5):
        with world.stack("train.py(20): main", frame):
            world.idle(5_000)
        with world.stack("train.py(20): main", "train.py(41): forward"):
            for _ in range(10):
                world.kernel_of("aten::mm", NVJET, 500)
            world.synchronize()
    return world


def _names(frame: str) -> bool:
    """Whether the function is told as the program's own, which it may change."""
    one = found("PY001", _calls(frame))
    return one is not None and one.location is not None and one.location.function == frame.rpartition(" ")[2]


def _fires(code: str, builder: TraceBuilder) -> bool:
    return any(one.rule == code for one in explained(builder).findings)


def _first_ms(builder: TraceBuilder) -> float:
    return float(Facts(builder.trace()).steps.frame["dur_ns"].iloc[0]) / 1e6


def _period(builder: TraceBuilder) -> str:
    """What steps were guessed from."""
    return Facts(builder.trace()).steps.source


def _impossible(builder: TraceBuilder, *, last: float | None = None) -> bool:
    """Whether a kernel is said to be none that can be; where stated, the last one takes as long."""
    if last is not None:
        next(event for event in reversed(builder.events) if event["cat"] == "kernel")["dur"] = last
    return any("cannot be" in one.message for one in Facts(builder.trace()).health.symptoms)


def _sparse(*, tied: bool) -> bool:
    """Whether a fused optimizer is said to refuse the gradient of a table, to which a head is tied or not."""
    one = found("OP002", tests_of("OP006").world(device="cuda", optimizer="Adagrad", each=6_000, lists=True, tied=tied))
    return one is not None and any("refuse its gradients" in fix.note for fix in one.fix)


def _copied(read: str) -> bool:
    """Whether small tensors are told to be copied to the host, where an op reads one a step."""
    one = found("SY001", tests_of("SY001").world(read=read))
    return one is not None and '`.to("cpu")`' in one.why and ".item()" not in one.fix[0].code


def _noun(**what: Any) -> str:
    """What a pass of a program that trains nothing is called."""
    return Facts(passes(**what).trace()).steps.noun


def _late(function: str) -> bool:
    """Whether a read is blamed for idle time behind it, in which the host is in a function."""
    world = Clocked()
    for _ in world.steps(6):
        with world.stack("train.py(20): main", function):
            world.idle(900)
        for _ in range(8):
            world.kernel_of("aten::mm", NVJET, 500)
        world.read_value()
    return found("SY001", world) is not None


def _used(kinds: str, **how: Any) -> int:
    """How many marked steps figures are made from, of those that train and those that only run the model."""
    return Facts(turns(kinds, marks=True, **how).trace()).steps.count


def _moves(*, beside: bool) -> TraceBuilder:
    """Batches of 5 ms a step, in front of 4.9 ms of kernels, or beside those of the step before."""
    builder = TraceBuilder()
    for number in range(5):
        at = number * _STEP
        builder.step(number, at, _STEP)
        builder.copy("HtoD", at, 8, start=at + 10, dur=4_980, size=64 << 20, pinned=True, stream=20)
        start = at + 10 if beside else at + 5_000
        builder.launch(at + 20, kernel_start=start, kernel_dur=at + 9_950 - start, name="gemm", op="aten::mm")
    return builder


def _said(what: str, of: str, true: bool, said: Callable[[], bool]) -> Saying:
    return Saying(what, of, true, said)


_ONE, _TWO = "sequence of 30", "sequence of 60"
_OWN, _INSTALLED = "prepare.py(12): prepare", "/opt/env/lib/python3.11/site-packages/shop/prepare.py(12): prepare"

NEIGHBOURS = (
    _said("a replayed graph is a step", "one a round", True, lambda: _ONE in _period(_passes("target", read="target"))),
    _said("a replayed graph is a step", "two a round", False, lambda: _ONE in _period(_passes("draft", "target", read="target"))),
    _said("two graphs are a step", "two a round", True, lambda: _TWO in _period(_passes("draft", "target", read="target"))),
    _said("two graphs are a step", "one a round", False, lambda: _TWO in _period(_passes("target", read="target"))),
    _said("a guess covers the window", "nothing but passes", True, lambda: "kernel" in _period(_guessed(prepares=False))),
    _said("a guess covers the window", "30 ms of the host in front", False, lambda: "kernel" in _period(_guessed(prepares=True))),
    _said("a backlog is the first step's", "launched in it", True, lambda: _first_ms(_left(own=True)) > 40),
    _said("a backlog is the first step's", "launched before", False, lambda: _first_ms(_left(own=False)) > 40),
    _said("launches come late, clocks 6 us apart", "gaps of 2 ms", True, lambda: _fires("ID001", _early(2_000))),
    _said("launches come late, clocks 6 us apart", "gaps of 5 us", False, lambda: _fires("ID001", _early(5))),
    _said("a function is the program's own", "of its folder", True, lambda: _names(_OWN)),
    _said("a function is the program's own", "of any package", False, lambda: _names(_INSTALLED)),
    _said("a kernel cannot be", "45 ms in passes of 3", True, lambda: _impossible(prompted(45_000, waits=True), last=45_000)),
    _said("a kernel cannot be", "45 ms in a pass of 60", False, lambda: _impossible(prompted(45_000, waits=True))),
    _said("a kernel cannot be", "45 ms, and the next ones queue", False, lambda: _impossible(prompted(45_000, waits=False))),
    _said("fused, but not for the table", "it may be sparse", True, lambda: _sparse(tied=False)),
    _said("fused, but not for the table", "a head is tied to it", False, lambda: _sparse(tied=True)),
    _said("a copy is read, no item", "`.to(\"cpu\")`", True, lambda: _copied("aten::copy_")),
    _said("a copy is read, no item", "`.item()`", False, lambda: _copied("aten::item")),
    _said("the host was late by a read", "its own code behind", True, lambda: _late("train.py(40): step")),
    _said("the host was late by a read", "a profiler behind", False, lambda: _late("torch/profiler/profiler.py(700): step")),
    _said("figures are of training alone", "an evaluation behind it", True, lambda: _used("tttttteeeeeeeeee") == 6),
    _said("figures are of training alone", "rollouts behind it", False, lambda: _used("tttttteeeeeeeeee", loader=False) == 6),
    _said("it answers requests", "nothing is named", True, lambda: _noun(name="batch") == "request"),
    _said("it answers requests", "it checks what comes", True, lambda: _noun(name="batch", checks="validate") == "request"),
    _said("it answers requests", "a loader", False, lambda: _noun(loader=True) == "request"),
    _said("it answers requests", "passes in `evaluate`", False, lambda: _noun(name="batch", function="evaluate") == "request"),
    _said("copies wait in front of kernels", "5 ms before 5", True, lambda: _fires("XF002", _moves(beside=False))),
    _said("copies wait in front of kernels", "5 ms beside 10", False, lambda: _fires("XF002", _moves(beside=True))),
)  # fmt: skip
