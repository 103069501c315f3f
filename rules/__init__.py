"""What it means: one file per rule, in one folder per family. `RULES` is the whole catalogue, sorted by code."""

from analyzer.rule import Rule
from rules.data_loading import input_bound

RULES: tuple[Rule, ...] = (input_bound.RULE,)

# Codes that once named a rule; never given to another.
RETIRED_CODES: frozenset[str] = frozenset()
