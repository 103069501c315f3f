"""Memory that is set to a value is named in what a run computes, with the op that asks for it."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.clocked import Clocked
from rules import RULES
from stories.models import layers, layers_back, update

FILL = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul>>(int)"


def world(dur: float, *, zeros: bool) -> Clocked:
    """Steps of 22 ms and more, in which tensors are filled for so many microseconds."""
    built = Clocked()
    for _ in built.steps(4):
        layers(built, 4)
        if zeros:
            begin = built.now
            for depth, op in enumerate(("aten::zeros", "aten::zero_", "aten::fill_")):
                built.op(op, begin + depth * 0.5, 14 - depth)
            correlation = built.runtime("cudaMemsetAsync", begin + 4, 5)
            start = max(begin + 11, built.busy_until[7] + 1)
            facts = {"device": 0, "stream": 7, "correlation": correlation, "bytes": 1 << 30}
            built.event("Memset (Device)", "gpu_memset", start, dur, pid=0, tid=7, args=facts)
            built.busy_until[7] = start + dur
            built.now = begin + 16
        else:
            built.kernel_of("aten::full/aten::fill_", FILL, dur)
        layers_back(built, 4)
        update(built)
    return built


def said(built: Clocked) -> str:
    return explain_facts(Facts(built.trace()), rules=RULES).analysis.summary.verdict.text


@pytest.mark.parametrize(("zeros", "op"), [(True, "aten::zeros"), (False, "aten::full")])
def test_a_good_part_is_named_with_its_op(zeros: bool, op: str) -> None:
    found = explain_facts(Facts(world(6_000, zeros=zeros).trace()), rules=RULES).analysis
    # The finding says for which op: the verdict does not say so again.
    assert found.summary.verdict.text.endswith("setting memory to a value 21 %.")
    assert f"most of it for `{op}`" in next(one.why for one in found.findings if one.rule == "KE013")
    without = explain_facts(
        Facts(world(6_000, zeros=zeros).trace()), rules=tuple(rule for rule in RULES if rule.meta.code != "KE013")
    )
    assert f"setting memory to a value 21 %, most of it in `{op}`" in without.analysis.summary.verdict.text


@pytest.mark.parametrize("zeros", [True, False])
def test_a_little_is_not(zeros: bool) -> None:
    assert "setting memory" not in said(world(1_000, zeros=zeros))


def test_kernels_that_fill_are_no_pointwise_ones_beside_it() -> None:
    assert "pointwise" not in said(world(6_000, zeros=False))
