"""IN: models that are only run, and those that generate text, prompts and single tokens apart."""

from analyzer.rule import Rule
from rules.inference import (
    decode_gaps,
    one_sample_calls,
    padded_replays,
    prompt_reading,
    recorded_gradients,
    text_read_again,
    weights_per_token,
)

RULES: tuple[Rule, ...] = (
    decode_gaps.RULE,
    padded_replays.RULE,
    weights_per_token.RULE,
    prompt_reading.RULE,
    one_sample_calls.RULE,
    text_read_again.RULE,
    recorded_gradients.RULE,
)
