"""XF: moving data between host and device."""

from analyzer.rule import Rule
from rules.transfer import (
    blocking_copies,
    copies_between_devices,
    exposed_input_copies,
    float_images,
    layout_churn,
    made_on_host,
    many_small_copies,
    pageable_copies,
)

RULES: tuple[Rule, ...] = (
    pageable_copies.RULE,
    exposed_input_copies.RULE,
    many_small_copies.RULE,
    made_on_host.RULE,
    layout_churn.RULE,
    float_images.RULE,
    blocking_copies.RULE,
    copies_between_devices.RULE,
)
