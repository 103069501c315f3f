"""CO: collectives and ranks."""

from analyzer.rule import Rule
from rules.communication import (
    data_parallel,
    exposed,
    pipeline_bubble,
    poor_overlap,
    slow_link,
    slowed_kernels,
    small_collectives,
    straggler,
    synchronised_norms,
    uneven_exchange,
    wrong_backend,
)

RULES: tuple[Rule, ...] = (
    exposed.RULE,
    poor_overlap.RULE,
    straggler.RULE,
    data_parallel.RULE,
    small_collectives.RULE,
    wrong_backend.RULE,
    slow_link.RULE,
    pipeline_bubble.RULE,
    uneven_exchange.RULE,
    slowed_kernels.RULE,
    synchronised_norms.RULE,
)
