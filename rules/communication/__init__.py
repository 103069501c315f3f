"""CO: collectives and ranks."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
