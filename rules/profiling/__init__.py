"""PG: how the trace was recorded."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
