"""SY: the host waits for the device."""

from analyzer.rule import Rule
from rules.sync import (
    anomaly_mode,
    blocking_copy_out,
    blocking_launch,
    dynamic_shape,
    explicit_synchronize,
    scalar_read,
)

RULES: tuple[Rule, ...] = (
    scalar_read.RULE,
    blocking_copy_out.RULE,
    explicit_synchronize.RULE,
    dynamic_shape.RULE,
    blocking_launch.RULE,
    anomaly_mode.RULE,
)
