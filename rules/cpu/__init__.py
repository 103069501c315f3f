"""CP: runs on the CPU alone."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
