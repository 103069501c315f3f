"""OP: the optimizer's step."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
