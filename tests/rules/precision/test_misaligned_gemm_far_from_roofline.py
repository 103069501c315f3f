"""PR003 stands for KE005 where misaligned products are most of what is far from its roofline; elsewhere both are told."""

from __future__ import annotations

import pytest

from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules import RULES

DEVICE = {
    "id": 0, "name": "NVIDIA A100-SXM4-80GB", "totalGlobalMem": 85_174_779_904, "computeMajor": 8, "computeMinor": 0, "numSms": 108,
}  # fmt: skip
GEMM = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x3_nn"


def facts_with(*products: tuple[list[list[int]], float]) -> Facts:
    """Three steps of 10 ms with products of these sizes, each of so many microseconds."""
    builder = TraceBuilder(top={"deviceProperties": [DEVICE]})
    for number in range(3):
        clock = at = number * 10_000.0
        builder.step(number, at, 10_000)
        for index, (shapes, dur) in enumerate(products):
            begin = at + 60 * index
            builder.op("aten::mm", begin, 50, **{"Input Dims": shapes, "Input type": ["c10::BFloat16"] * 2})
            builder.launch(begin, kernel_start=max(clock, begin) + 10, kernel_dur=dur, name=GEMM, op=None)
            clock = max(clock, begin) + 10 + dur
    return Facts(builder.trace())


# Of 137 GFLOP, 0.44 ms at the peak; of as many in half a tile's columns.
ODD = [[4096, 4096], [4096, 4097]]
NARROW = [[65_536, 4096], [4096, 24]]


@pytest.mark.parametrize(
    ("products", "cards"),
    [
        (((ODD, 8_500.0),), {"PR003"}),
        # Most of what is far from its roofline is another product.
        (((ODD, 2_000.0), (NARROW, 7_500.0)), {"PR003", "KE005"}),
    ],
)
def test_misaligned_sizes_are_told_once(products: tuple[tuple[list[list[int]], float], ...], cards: set[str]) -> None:
    findings = explain_facts(facts_with(*products), rules=RULES).analysis.findings
    told = {one.rule: one for one in findings if one.rule in ("PR003", "KE005")}
    assert set(told) == {"PR003", "KE005"}
    assert bool(told["KE005"].explained_by) is ("KE005" not in cards)


@pytest.mark.parametrize(("dur", "calls"), [(9_900.0, 1), (1_200.0, 8)])
def test_padding_promises_no_more_than_it_usually_brings(dur: float, calls: int) -> None:
    findings = explain_facts(facts_with(*((ODD, dur),) * calls), rules=RULES).analysis.findings
    far = next(one for one in findings if one.rule == "KE005")
    padded = next(one for one in findings if one.rule == "PR003")
    assert far.explained_by == (padded.id,)
    # At a twentieth of the peak as at a third: misalignment is no reason for the rest.
    assert far.saving.expected_ns == pytest.approx(dur * 1_000 * calls / 3, rel=0.05)
