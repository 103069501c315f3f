"""KE011: Triton's autotuner, which runs a kernel dozens of times between cleared caches; and worlds that look alike."""

from __future__ import annotations

from contextlib import nullcontext

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from analyzer.finding import State
from building.clocked import Clocked
from rules import RULES
from rules.kernels.algorithm_search import RULE
from rules.sync.explicit_synchronize import RULE as SYNCHRONIZE
from running.one_rule import judged, run
from stories.models import ADD, NVJET

KERNEL = "causal_conv1d_fwd_kernel"


def world(
    tuned: tuple[int, ...] = (1, 3),
    *,
    events: bool = True,
    cleared: bool = True,
    names: int = 1,
    within: str | None = None,
) -> Clocked:
    """Six steps of products; in some, eight configurations of a kernel are compiled and run twenty times each."""
    built = Clocked()

    def event() -> None:
        if events:
            built.runtime("cudaEventRecord", built.now, 3)
            built.now += 4

    def timed() -> None:
        for index in range(160):
            if index and index % 20 == 0:
                built.synchronize()
                built.idle(4_000)
            if cleared:
                built.kernel_of("aten::zero_", "Memset (Device)", 40, api="cudaMemsetAsync")
            event()
            built.kernel_of(None, KERNEL + "_" * (index % names), 60 + index // 20, api="cuLaunchKernel")
            event()
        built.synchronize()

    for number in built.steps(6):
        for _ in range(20):
            built.kernel_of("aten::mm", NVJET, 900)
            built.kernel_of("aten::add", ADD, 50)
        if number in tuned:
            with built.within(within) if within else nullcontext():
                timed()
        built.kernel_of("CausalConv", KERNEL, 60, api="cuLaunchKernel")
    return built


@pytest.mark.parametrize("within", [None, "CausalConvFunction"])
def test_fires_where_steps_tune(within: str | None) -> None:
    found = judged(RULE, world(within=within))
    assert f"runs `{KERNEL}` 320 times to find its fastest configuration, in 2 of 6 steps" in found.finding.why
    assert "key=" in found.finding.fix[0].code


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ({"tuned": ()}, State.NOT_APPLICABLE),
        ({"tuned": (0,)}, State.NOT_APPLICABLE),
        # A library clears what its kernel adds to, and times nothing.
        ({"events": False}, State.NOT_APPLICABLE),
        ({"cleared": False}, State.NOT_APPLICABLE),
        # Other kernels in turn are work of the program's.
        ({"names": 5}, State.NOT_APPLICABLE),
    ],
)
def test_only_one_kernel_again_and_again_between_events(arguments: dict[str, object], state: State) -> None:
    assert run(RULE, world(**arguments)).state is state  # type: ignore[arg-type]


def test_no_advice_for_the_waits_of_the_tuner() -> None:
    result = run(SYNCHRONIZE, world())
    assert result.state is State.CLEAR
    assert "KE011" in result.reason
    assert run(SYNCHRONIZE, world(events=False)).state is State.FIRED
    analysis = explain_facts(Facts(world().trace()), rules=RULES).analysis
    large = {finding.rule for finding in analysis.findings if finding.severity in ("high", "medium")}
    assert "KE011" in large
    assert not {"SY003", "PY001", "OP003", "ID001"} & large
    assert analysis.summary.verdict.bound_by == "compile"
