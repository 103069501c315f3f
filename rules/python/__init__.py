"""PY: host code between the ops."""

from analyzer.rule import Rule
from rules.python import (
    element_loop,
    function_in_python,
    gc_pauses,
    python_overhead,
    repeated_small_ops,
    state_copied,
    stepped_recurrence,
    unsteady_steps,
)

RULES: tuple[Rule, ...] = (
    python_overhead.RULE,
    element_loop.RULE,
    repeated_small_ops.RULE,
    gc_pauses.RULE,
    unsteady_steps.RULE,
    stepped_recurrence.RULE,
    state_copied.RULE,
    function_in_python.RULE,
)
