"""A single long call of the loader decides how much loading takes, and may not be loading at all."""

from __future__ import annotations

import pytest

from analyzer.finding import Confidence
from analyzer.rule import Rule
from building.builders import TraceBuilder
from rules.data_loading.input_bound import RULE as INPUT_BOUND
from rules.data_loading.single_process_loader import RULE as SINGLE_PROCESS
from rules.data_loading.small_samples import RULE as SMALL_SAMPLES
from running.one_rule import judged

KNOWN = {"loader": {"batch_size": 4}, "dataset": {"length": 1_000, "sample_bytes": 100}, "usable_cores": 8}
STEP = 10_000


def world(long: float, *, at_step: int = 4, marked: bool = False) -> TraceBuilder:
    """Eight steps that load for 4 ms each, four samples of three ops; one of them for `long` us more."""
    builder = TraceBuilder("cuda", advisor=KNOWN | {"gc_recorded": marked})
    at = 0.0
    for number in range(8):
        more = long if number == at_step else 0
        builder.step(number, at, STEP + more).loader(at, 4_000 + more)
        for sample in range(4):
            for place, name in enumerate(("aten::permute", "aten::contiguous", "aten::mul")):
                builder.op(name, at + sample * 1_000 + place * 300, 300)
        at += 4_000 + more
        builder.launch(at, kernel_start=at, kernel_dur=STEP - 4_000)
        at += STEP - 4_000
    return builder


RULES = pytest.mark.parametrize("rule", [INPUT_BOUND, SINGLE_PROCESS, SMALL_SAMPLES], ids=lambda rule: rule.meta.code)


@RULES
def test_it_is_said_and_nothing_is_sure(rule: Rule) -> None:
    found = judged(rule, world(76_000))
    assert found.confidence is Confidence.MEDIUM
    assert found.finding.caveats[-1] == (
        "One of 8 calls takes 80 ms, 74 % of all waiting; without it loading takes 3.5 ms a step. A pass of the garbage collector "
        "(`advisor collect` marks it, PY004), or a machine that was busy with something else, looks the same."
    )


def test_where_collections_are_marked_it_was_none() -> None:
    found = judged(INPUT_BOUND, world(76_000, marked=True))
    assert found.finding.caveats[-1].endswith("A machine that was busy with something else looks the same.")


@RULES
@pytest.mark.parametrize("long", [0, 15_900], ids=["steady", "below five times"])
def test_calls_that_differ_as_calls_do_are_left_alone(rule: Rule, long: float) -> None:
    found = judged(rule, world(long))
    assert found.confidence is Confidence.HIGH
    assert not any("One of 8 calls" in caveat for caveat in found.finding.caveats)
