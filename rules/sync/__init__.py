"""SY: the host waits for the device."""

from analyzer.rule import Rule

RULES: tuple[Rule, ...] = ()
