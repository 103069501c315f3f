"""CO001 of one of two ranks that send to each other: when they do so tells a stage from a ring, and the likelier comes first."""

from __future__ import annotations

import pytest

from building.builders import TraceBuilder
from rules.communication.exposed import RULE
from running.one_rule import judged

RING, STAGES = "Share each sequence among fewer ranks", "Schedule1F1B"


def rank(step: str) -> TraceBuilder:
    """A step of a word for each thing the rank does: a layer `F`, a node of the backward pass `B`, a message `s` or `r`."""
    builder = TraceBuilder(None, top={"distributedInfo": {"backend": "gloo", "rank": 0, "world_size": 2}})
    now = 0.0
    for number in range(4):
        start = now
        for what in step:
            if what in "sr":
                builder.annotation(f"gloo:{'send' if what == 's' else 'recv'}", now, 2_000)
            else:
                builder.op(
                    "aten::mm" if what == "F" else "autograd::engine::evaluate_function: MmBackward0", now, 1_900
                )
            now += 2_000
        builder.optimizer(now, 500)
        now += 600
        builder.step(number, start, now - start)
    return builder


@pytest.mark.parametrize(
    ("step", "first", "second"),
    [
        ("FsrFFsrFBBBB", RING, STAGES),
        ("FsFsrBrB", STAGES, RING),
        ("rFrFBsBs", STAGES, RING),
        # One forward, one backward: the first stage and the last.
        ("FsFsrBFsrBrB", STAGES, RING),
        ("rFBsrFBsrFBs", STAGES, RING),
    ],
    ids=["ring", "first stage", "last stage", "first stage of 1F1B", "last stage of 1F1B"],
)
def test_what_messages_are_likelier_of_comes_first(step: str, first: str, second: str) -> None:
    codes = [fix.code for fix in judged(RULE, rank(step)).finding.fix]
    places = [next(place for place, code in enumerate(codes) if words in code) for words in (first, second)]
    assert places == sorted(places), codes
    assert not any("NVLink" in code for code in codes)
