"""GR: compiling, graphs and fusion."""

from analyzer.rule import Rule
from rules.graph import (
    compilation_in_steps,
    conv_bias_before_norm,
    graph_breaks,
    graph_candidate,
    known_patterns,
    unfused_attention,
    unfused_pointwise,
)

RULES: tuple[Rule, ...] = (
    unfused_pointwise.RULE,
    graph_breaks.RULE,
    compilation_in_steps.RULE,
    graph_candidate.RULE,
    unfused_attention.RULE,
    conv_bias_before_norm.RULE,
    known_patterns.RULE,
)
