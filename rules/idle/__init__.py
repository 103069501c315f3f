"""ID: the device idles."""

from analyzer.rule import Rule
from rules.idle import idle_device, isolated_gaps, launch_bound, output_in_steps, work_between_steps

RULES: tuple[Rule, ...] = (
    launch_bound.RULE,
    idle_device.RULE,
    isolated_gaps.RULE,
    work_between_steps.RULE,
    output_in_steps.RULE,
)
