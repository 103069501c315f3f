"""ME: device memory and its allocator."""

from analyzer.rule import Rule
from rules.memory import allocation_in_steps, fragmentation, growth, headroom, near_capacity

RULES: tuple[Rule, ...] = (
    allocation_in_steps.RULE,
    near_capacity.RULE,
    fragmentation.RULE,
    growth.RULE,
    headroom.RULE,
)
