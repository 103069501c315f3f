"""KE: kernels that fit the device badly."""

from analyzer.rule import Rule
from rules.kernels import (
    algorithm_search,
    far_from_roofline,
    few_resident_blocks,
    gather_bound,
    hardware_bound,
    known_results,
    layout_transposes,
    memory_bound,
    recomputed_activations,
    set_memory,
    slow_pointwise,
    slower_later,
    slowing_device,
    small_grid,
    untaken_gradients,
)

RULES: tuple[Rule, ...] = (
    small_grid.RULE,
    layout_transposes.RULE,
    gather_bound.RULE,
    hardware_bound.RULE,
    far_from_roofline.RULE,
    recomputed_activations.RULE,
    slowing_device.RULE,
    slower_later.RULE,
    memory_bound.RULE,
    few_resident_blocks.RULE,
    algorithm_search.RULE,
    slow_pointwise.RULE,
    set_memory.RULE,
    untaken_gradients.RULE,
    known_results.RULE,
)
