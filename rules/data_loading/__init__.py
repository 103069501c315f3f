"""DL: waiting for data."""

from analyzer.rule import Rule
from rules.data_loading import (
    bursty_waits,
    input_bound,
    iterator_restart,
    padded_batches,
    prepared_in_step,
    single_process_loader,
    small_samples,
    starved_by_workers,
    too_few_cores,
    too_many_workers,
)

RULES: tuple[Rule, ...] = (
    input_bound.RULE,
    single_process_loader.RULE,
    starved_by_workers.RULE,
    bursty_waits.RULE,
    iterator_restart.RULE,
    small_samples.RULE,
    too_few_cores.RULE,
    too_many_workers.RULE,
    padded_batches.RULE,
    prepared_in_step.RULE,
)
