"""A rank that runs more kernels than its peers, as one that validates alone, is told from one of larger or slower kernels."""

from __future__ import annotations

import msgspec
import pytest

from analyzer.ranks.summary import KernelRow, RankSummary
from analyzer.ranks.waiting.causes import Why, why_late
from jobs.simulated import MS, Job

STEPS = 4


def rank(*kernels: tuple[str, str, int, float], python_ms: float = 0.0) -> RankSummary:
    """Kernels by name, shape, calls a step and milliseconds of each; and Python beside them."""
    made = Job(dp=2).run().summary(0)
    assert len(made.steps) == STEPS
    rows = tuple(
        KernelRow(name=name, shape=shape, count=calls * STEPS, dur_ns=int(calls * each * MS) * STEPS)
        for name, shape, calls, each in kernels
    )
    compute = sum(calls * each for _, _, calls, each in kernels)
    causes = {"compute": int(compute * MS), "python": int(python_ms * MS)}
    steps = tuple(msgspec.structs.replace(step, causes=causes) for step in made.steps)
    return msgspec.structs.replace(made, kernels=rows, steps=steps)


def why(late: RankSummary, excess_ms: float) -> Why:
    return why_late(late, [rank(("mm", shape_of(late), 4, 1.0))], excess_ms * MS)


def shape_of(late: RankSummary) -> str:
    return "a" if any(row.shape for row in late.kernels) else ""


@pytest.mark.parametrize("shape", ["", "a"])
def test_more_calls_are_what_the_others_do_not_run(shape: str) -> None:
    found = why(rank(("mm", shape, 10, 1.0), ("argmax", shape, 3, 0.1)), 6.3)
    assert (found.cause, found.runs_more) == ("imbalance", True)
    assert "6 more `mm` a step" in found.detail


@pytest.mark.parametrize(
    ("kernels", "cause"),
    [
        ([("mm", "b", 4, 2.5)], "imbalance"),
        ([("mm", "a", 4, 2.5)], "device"),
        ([("mm", "", 4, 2.5)], "not clear"),
    ],
    ids=["larger", "slower", "no shapes"],
)
def test_as_many_calls_that_take_longer_are_none(kernels: list[tuple[str, str, int, float]], cause: str) -> None:
    found = why(rank(*kernels), 6.0)
    assert (found.cause, found.runs_more) == (cause, False)


def test_a_little_more_beside_larger_ones_is_not_what_it_is_told_to_be() -> None:
    found = why(rank(("mm", "b", 4, 2.5), ("argmax", "a", 3, 0.1)), 6.3)
    assert (found.cause, found.runs_more) == ("imbalance", False)


@pytest.mark.parametrize(("python_ms", "cause"), [(4.0, "imbalance"), (0.0, "not clear")])
def test_python_between_them_is_part_of_it(python_ms: float, cause: str) -> None:
    found = why(rank(("mm", "", 10, 1.0), python_ms=python_ms), 10.0)
    assert found.cause == cause
    assert ("Python on its host beside" in found.detail) is (python_ms > 0)


@pytest.mark.parametrize(("each_ms", "cause"), [(0.001, "host"), (0.0, "not clear")])
def test_what_python_calls_between_is_part_of_what_its_host_does(each_ms: float, cause: str) -> None:
    """A rank that logs alone: 65 % of it is Python, and the rest the ops that read the loss."""
    late = rank(("mm", "a", 4, 1.0), ("aten::item", "a", 3_500, each_ms), python_ms=6.5)
    found = why_late(late, [rank(("mm", "a", 4, 1.0))], 10.0 * MS)
    assert (found.cause, found.runs_more) == (cause, each_ms > 0)
    assert ("3,500 more `aten::item` a step" in found.detail) is (each_ms > 0)
