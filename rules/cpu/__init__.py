"""CP: training on the CPU, and the environment that a program is started in."""

from analyzer.rule import Rule
from rules.cpu import double_on_cpu, no_cpu_fast_path, short_ops, slow_environment, wrong_thread_count

RULES: tuple[Rule, ...] = (
    wrong_thread_count.RULE,
    no_cpu_fast_path.RULE,
    slow_environment.RULE,
    double_on_cpu.RULE,
    short_ops.RULE,
)
