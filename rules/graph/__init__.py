"""GR: compiling, graphs and fusion."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
