"""CO: collectives and ranks."""

from analyzer.rule import Rule
from rules.communication import exposed

RULES: tuple[Rule, ...] = (exposed.RULE,)
