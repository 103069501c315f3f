"""Ranges that `advisor collect` puts around calls of modules whose result is known already."""

from __future__ import annotations

# What their names begin with; behind it stand a scope, a colon and the module.
AGAIN = "Computed again "
IN_STEP, IN_EACH_STEP, IN_EACH_EPOCH = "in this step", "in each step", "in each epoch"
SCOPES = (IN_STEP, IN_EACH_STEP, IN_EACH_EPOCH)


def scope_and_module(name: str) -> tuple[str, str] | None:
    """How far back the result lies, and which module computes it again, by the name of a range; None of another range."""
    scope, colon, module = name.removeprefix(AGAIN).partition(": ")
    return (scope, module) if name.startswith(AGAIN) and colon and scope in SCOPES else None
