"""ME: device memory and its allocator."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
