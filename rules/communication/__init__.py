"""CO: collectives and ranks."""

from analyzer.rule import Rule
from rules.communication import data_parallel, exposed, poor_overlap, small_collectives, straggler, wrong_backend

RULES: tuple[Rule, ...] = (
    exposed.RULE,
    poor_overlap.RULE,
    straggler.RULE,
    data_parallel.RULE,
    small_collectives.RULE,
    wrong_backend.RULE,
)
