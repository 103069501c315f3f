"""DL: waiting for data."""

from analyzer.rule import Rule
from rules.data_loading import input_bound

RULES: tuple[Rule, ...] = (input_bound.RULE,)
