"""KE: kernels that fit the device badly."""

from analyzer.rule import Rule
from rules.kernels import gather_bound, hardware_bound, layout_transposes, small_grid

RULES: tuple[Rule, ...] = (
    small_grid.RULE,
    layout_transposes.RULE,
    gather_bound.RULE,
    hardware_bound.RULE,
)
