"""CO: collectives and ranks."""

from analyzer.rule import Rule
from rules.communication import data_parallel, exposed, straggler

RULES: tuple[Rule, ...] = (exposed.RULE, straggler.RULE, data_parallel.RULE)
