"""Which ranges stand around a pass of a model, or a part of an answer: what answers a request as a whole is none."""

from __future__ import annotations

import re

from analyzer.facts.recording.said_passes import said_pass
from traces.patterns import Pattern

# What engines put around a pass of the model whose name need not say what is in it.
ENGINE_PASSES = Pattern(
    r"execute_(?:\d+_)?context_|(?:.*[ .:])?execute_model|execute_new_|(?:.*[ .:])?run_batch\b", re.IGNORECASE
)
# Those that are named after a part of an answer (`denoising step`, `decode_token`): a word may begin behind `_` or a digit, where
# `\b` sees none.
_WORDS = "step|iter|iteration|token|pass|prefill|decode|extend|forward|fwd"
_OF_PARTS = Pattern(rf"(?!.*request).*(?<![a-z])(?:{_WORDS})s?(?![a-z])")


def is_one_pass(name: str) -> bool:
    """Whether a range of this name is one.

    Args:
        name: Of the range, or of those that differ in a number.
    """
    said = said_pass(name)
    named = ENGINE_PASSES.match(name) is not None or _OF_PARTS.match(name.lower()) is not None
    return named or (said is not None and said.counted)
