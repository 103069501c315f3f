"""DL: waiting for data."""

from analyzer.rule import Rule
from rules.data_loading import input_bound, single_process_loader, small_samples

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    single_process_loader.RULE,
    small_samples.RULE,
)
