"""SY001 to SY004: waits of several kinds in a row, of which each finds or leaves the queue that another one empties."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from analyzer.finding import State
from analyzer.rule import Rule
from building.clocked import Clocked
from rules.sync.blocking_copy_out import RULE as COPY_OUT
from rules.sync.dynamic_shape import RULE as SHAPE
from rules.sync.explicit_synchronize import RULE as EXPLICIT
from rules.sync.scalar_read import RULE as SCALAR
from running.one_rule import judged, run
from stories.models import ADD, NVJET, layers_back, update

RULES: dict[str, Rule] = {"scalar": SCALAR, "copy_out": COPY_OUT, "shape": SHAPE, "explicit": EXPLICIT}
_WAITS: dict[str, Callable[[Clocked], object]] = {
    "scalar": Clocked.read_value,
    "copy_out": lambda built: built.copied("DtoH", 4_096, path="aten::to/aten::_to_copy/aten::copy_"),
    "shape": lambda built: built.read_value("aten::nonzero"),
    "explicit": Clocked.synchronize,
}
# 29 launches of 29 us less kernels of 4 us, in all steps but the first.
LATE_NS = 29 * 25_000 * 5 / 6


def world(*kinds: str, kernels: float = 4, refill: str = "small ops", trains: bool = True) -> Clocked:
    """Steps of training, of 30 small ops in front of products; where the last one ends, the host waits for it in some ways.

    Args:
        kinds: What waits, in order.
        kernels: Of the small ops, microseconds.
        refill: What the host does first in a step, for 0.9 ms: small ops, an op at work on the host, or its own code.
        trains: Whether there are a backward pass and an update.
    """
    built = Clocked()
    for _ in built.steps(6):
        if refill == "small ops":
            for _ in range(30):
                built.kernel_of("aten::add", ADD, kernels, host=28)
        elif refill == "own code":
            built.kernel_of("aten::add", ADD, kernels)
            built.idle(900)
        else:
            # Until the first kernel the wait owns what follows it.
            built.kernel_of("aten::add", ADD, kernels)
            built.host_op("aten::_fft_r2c", 900)
        built.kernel_of("aten::linear/aten::addmm", NVJET, 1_500)
        if trains:
            layers_back(built, 2, 0.7)
            update(built, dur=200)
        else:
            for _ in range(6):
                built.kernel_of("aten::linear/aten::addmm", NVJET, 500)
        for kind in kinds:
            _WAITS[kind](built)
    return built


@pytest.mark.parametrize(
    "kinds",
    [
        ("scalar", "copy_out"), ("copy_out", "scalar"), ("shape", "scalar"), ("explicit", "scalar"),
        ("copy_out", "explicit", "shape", "scalar"),
    ],
)  # fmt: skip
def test_waits_in_a_row_are_told_once_by_the_rule_of_the_first(kinds: tuple[str, ...]) -> None:
    built = world(*kinds)
    found = judged(RULES[kinds[0]], built)
    assert found.finding.saving.usual_claims is not None
    # What the host does between the waits, and until the first kernel, comes on top.
    assert 0.9 * LATE_NS < found.finding.saving.usual_claims.total_ns / 6 < 1.05 * LATE_NS + 40_000 * (1 + len(kinds))
    assert "where it waits as well" in found.finding.why
    assert "one that stays costs nearly as much as all" in found.finding.fix[-1].note
    for other in kinds[1:]:
        assert run(RULES[other], built).state is State.CLEAR


def test_a_wait_alone_has_no_others() -> None:
    alone = judged(SCALAR, world("scalar")).finding
    assert "as well" not in alone.why
    assert not any("one that stays" in advice.note for advice in alone.fix)


def test_a_wait_that_is_hidden_by_others_is_not_told_to_lose_nothing() -> None:
    quiet = run(SCALAR, world("copy_out", "scalar", kernels=40))
    assert quiet.state is State.CLEAR
    hidden = run(COPY_OUT, world("shape", "copy_out"))
    assert hidden.state is State.CLEAR
    assert "loses nothing" not in hidden.reason


@pytest.mark.parametrize("kinds", [("scalar", "copy_out"), ("shape", "scalar"), ("copy_out",)])
def test_quiet_where_the_device_has_work_as_long_as_the_host_launches(kinds: tuple[str, ...]) -> None:
    for kind in kinds:
        assert run(RULES[kind], world(*kinds, kernels=40)).state is State.CLEAR


def test_a_short_copy_leaves_behind_what_the_host_launches_late() -> None:
    found = judged(COPY_OUT, world("copy_out"))
    assert "had queued nothing behind" in found.finding.why
    assert found.finding.saving.usual_claims is not None
    assert 0.9 * LATE_NS < found.finding.saving.usual_claims.total_ns / 6 < 1.05 * LATE_NS + 80_000


@pytest.mark.parametrize("refill", ["an op at work", "own code"])
def test_the_host_may_work_on_what_it_has_copied(refill: str) -> None:
    assert run(COPY_OUT, world("copy_out", refill=refill)).state is State.CLEAR


def test_answers_have_to_be_copied() -> None:
    assert run(COPY_OUT, world("copy_out", trains=False)).state is State.CLEAR
