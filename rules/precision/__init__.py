"""PR: number formats and tensor cores."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
