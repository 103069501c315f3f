"""GR: compiling, graphs and fusion."""

from analyzer.rule import Rule
from rules.graph import compilation_in_steps, graph_breaks, unfused_attention, unfused_pointwise

RULES: tuple[Rule, ...] = (
    unfused_pointwise.RULE,
    graph_breaks.RULE,
    compilation_in_steps.RULE,
    unfused_attention.RULE,
)
