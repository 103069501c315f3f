"""What it means: one file per rule, in one folder per family. `RULES` is the whole catalogue, sorted by code."""

from analyzer.rule import Rule
from rules import (
    communication,
    cpu,
    data_loading,
    graph,
    idle,
    inference,
    kernels,
    memory,
    optimizer,
    precision,
    profiling,
    python,
    sync,
    transfer,
)

FAMILIES = (
    communication,
    cpu,
    data_loading,
    graph,
    idle,
    inference,
    kernels,
    memory,
    optimizer,
    precision,
    profiling,
    python,
    sync,
    transfer,
)

RULES: tuple[Rule, ...] = tuple(
    sorted((rule for family in FAMILIES for rule in family.RULES), key=lambda rule: rule.meta.code)
)

# Codes that once named a rule; never given to another.
RETIRED_CODES: frozenset[str] = frozenset()
