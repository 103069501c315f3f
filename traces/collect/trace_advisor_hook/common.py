"""What every part of the hook uses."""

from __future__ import annotations

from typing import Any

NAME = "trace_advisor_hook"
# What a profiler or the system may throw at us; none of it may reach the script.
FAILURES = (AssertionError, RuntimeError, OSError, ValueError, TypeError, AttributeError, ImportError, KeyError)


class StopScript(SystemExit):
    """Ends the script with status 0 once everything is recorded (`--stop`)."""


def reach(thing: Any, *names: str) -> Any:
    """Follow attributes from a thing; None where one is missing."""
    for name in names:
        thing = getattr(thing, name, None)
    return thing
