"""KE: kernels that fit the device badly."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
