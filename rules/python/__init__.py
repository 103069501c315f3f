"""PY: host time outside PyTorch."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
