"""What is said of passes that generate text."""

from __future__ import annotations

import pandas as pd
import pytest

from analyzer.facts.generation.passes import Generation
from rules.inference.words import passes


def generation(*kinds: str) -> Generation:
    """Passes of 3 ms with four tokens each."""
    frame = pd.DataFrame({"kind": list(kinds), "start_ns": 0, "end_ns": 3_000_000, "tokens": 4.0})
    return Generation(frame, "ranges", "")


@pytest.mark.parametrize(
    ("kinds", "said"),
    [
        (("decode",), "The one pass decodes (4 tokens, 3.0 ms); told by ranges."),
        (("decode", "decode"), "Of 2 passes 2 decode (4 tokens each, 3.0 ms); told by ranges."),
        (
            ("prefill", "decode"),
            "Of 2 passes 1 decodes (4 tokens, 3.0 ms) and 1 reads prompts (3.0 ms); told by ranges.",
        ),
    ],
)
def test_passes_are_counted_where_there_are_several(kinds: tuple[str, ...], said: str) -> None:
    assert passes(generation(*kinds)) == said
