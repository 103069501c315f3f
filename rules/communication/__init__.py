"""CO: collectives and ranks."""

from analyzer.rule import Rule
from rules.communication import exposed, straggler

RULES: tuple[Rule, ...] = (exposed.RULE, straggler.RULE)
