"""PR: number formats and tensor cores."""

from analyzer.rule import Rule
from rules.precision import (
    cast_churn,
    double_precision,
    misaligned_gemm,
    no_mixed_precision,
    tf32_off,
    unpacked_weights,
)

RULES: tuple[Rule, ...] = (
    no_mixed_precision.RULE,
    tf32_off.RULE,
    misaligned_gemm.RULE,
    cast_churn.RULE,
    double_precision.RULE,
    unpacked_weights.RULE,
)
