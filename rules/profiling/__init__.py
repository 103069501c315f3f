"""PG: how the trace was recorded."""

from analyzer.rule import Rule
from rules.profiling import (
    broken_correlation,
    heavy_instrumentation,
    lost_device_events,
    missing_step_marks,
    outdated_software,
    profiler_artefacts,
    sensitive_content,
    too_few_steps,
    unrepresentative_steps,
    warmup_recorded,
)

RULES: tuple[Rule, ...] = (
    missing_step_marks.RULE,
    warmup_recorded.RULE,
    too_few_steps.RULE,
    heavy_instrumentation.RULE,
    lost_device_events.RULE,
    unrepresentative_steps.RULE,
    broken_correlation.RULE,
    profiler_artefacts.RULE,
    sensitive_content.RULE,
    outdated_software.RULE,
)
