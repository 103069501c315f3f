"""XF: copies between host and device."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
