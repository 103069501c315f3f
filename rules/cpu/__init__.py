"""CP: training on the CPU."""

from analyzer.rule import Rule
from rules.cpu import no_cpu_fast_path, wrong_thread_count

RULES: tuple[Rule, ...] = (
    wrong_thread_count.RULE,
    no_cpu_fast_path.RULE,
)
