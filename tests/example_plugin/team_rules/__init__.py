"""Our own rules: what this team has agreed on."""

from analyzer.rule import Rule
from team_rules import long_step

RULES: tuple[Rule, ...] = (long_step.RULE,)
