"""ID: the device waits for launches, or for nothing we know."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
