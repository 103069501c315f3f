"""XF: moving data between host and device."""

from analyzer.rule import Rule
from rules.transfer import exposed_input_copies, pageable_copies

RULES: tuple[Rule, ...] = (
    pageable_copies.RULE,
    exposed_input_copies.RULE,
)
