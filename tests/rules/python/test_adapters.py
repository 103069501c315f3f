"""PY001 where stacks show that low-rank adapters are loaded or merged for each request."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from rules.python.python_overhead import RULE
from running.one_rule import judged

STEP = 100_000
WORDS = "of it lies where low-rank adapters are loaded or merged"


def world(frame: str, part: float = 0.9) -> TraceBuilder:
    """Three requests of 100 ms, 40 of them host code, of which so large a part is in a function of a library."""
    builder = TraceBuilder()
    for number in range(3):
        at = number * STEP
        builder.annotation("request", at, STEP)
        builder.python("serve.py(10): answer", at, 99_000)
        builder.python(frame, at + 100, 40_000 * part)
        builder.launch(at + 40_000, kernel_start=at + 40_005, kernel_dur=59_990)
    return builder


@pytest.mark.parametrize(
    "frame",
    [
        "diffusers/loaders/lora_base.py(520): fuse_lora",
        "peft/tuners/lora/layer.py(480): merge",
        "/opt/site-packages/peft/peft_model.py(900): load_adapter",
        "mine/model.py(8): merge_and_unload",
    ],
)
def test_adapters_that_are_merged_for_each_request_are_named_with_what_to_do(frame: str) -> None:
    found = judged(RULE, world(frame)).finding
    assert WORDS in found.why
    assert "Keep the adapters loaded" in found.fix[0].code
    assert len(found.fix) == 1


@pytest.mark.parametrize(
    ("frame", "part"),
    [
        ("pandas/core/reshape/merge.py(100): merge", 0.9),
        ("mine/fuse.py(8): fuse_conv_and_bn", 0.9),
        ("peft/tuners/lora/layer.py(700): forward", 0.9),
        ("diffusers/loaders/lora_base.py(520): fuse_lora", 0.3),
    ],
)
def test_other_code_and_a_small_part_are_not(frame: str, part: float) -> None:
    found = judged(RULE, world(frame, part)).finding
    assert WORDS not in found.why
    assert not any("adapters" in fix.code for fix in found.fix)
