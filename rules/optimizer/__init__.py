"""OP: the optimizer."""

from analyzer.rule import Rule
from rules.optimizer import (
    dense_embedding_gradients,
    gradients_zeroed,
    per_parameter_norms,
    per_parameter_updates,
    unfused_foreach,
    update_on_host,
)

RULES: tuple[Rule, ...] = (
    per_parameter_updates.RULE,
    unfused_foreach.RULE,
    gradients_zeroed.RULE,
    per_parameter_norms.RULE,
    update_on_host.RULE,
    dense_embedding_gradients.RULE,
)
