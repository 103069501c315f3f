"""A gate for CI: `step_ns<=+3%`, or a file of such lines. It fails on a real regression, never on noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analyzer.compare.comparison import Comparison
from analyzer.config.limit import CAUSE_SUFFIX, KNOWN, STEP, Limit, limit_of
from analyzer.page.words.of_steps import label
from traces.errors import UsageError


@dataclass(frozen=True)
class GateResult:
    """What the gate says of a comparison: failed limits and why, or why it stays open.

    Args:
        passed: Whether it stays open.
        lines: One for each limit, or why none was judged.
        judged: Whether there was an answer to judge.
    """

    passed: bool
    lines: tuple[str, ...]
    judged: bool = True


def parse_gate(text: str) -> tuple[Limit, ...]:
    """Limits from the command line or from a file (one a line, `#` begins a comment).

    Raises:
        UsageError: A line is no limit; all bad lines are named.
    """
    path = Path(text)
    if "<=" not in text:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(
                f"{text!r} is neither a limit nor a readable file", where="--gate", fix="write it as step_ns<=+3%"
            ) from error
    else:
        lines = text.split(",")
    limits, bad = [], []
    for number, line in enumerate(lines, start=1):
        stripped = line.partition("#")[0].strip()
        if not stripped:
            continue
        limit = limit_of(stripped)
        if limit is None:
            bad.append(f"line {number}: {stripped[:60]!r}")
        else:
            limits.append(limit)
    if bad or not limits:
        raise UsageError(
            "the gate holds lines that are no limits: " + "; ".join(bad) if bad else "the gate is empty",
            where="--gate",
            fix=f"write step_ns<=+3%; known are {', '.join(KNOWN)}",
        )
    return tuple(limits)


def apply_gate(comparison: Comparison, limits: Sequence[Limit]) -> GateResult:
    """Fails only where the step really became slower, and by more than the limit beyond doubt.

    A step's limit is exceeded where what is sure of its growth is; causes have no interval, their growth itself counts.
    """
    change = comparison.change
    if change is None:
        return GateResult(True, ("not judged: the sides are not comparable",), judged=False)
    if change.kind == "inconclusive":
        return GateResult(True, ("not judged: the answer is inconclusive",), judged=False)
    if change.kind != "slower":
        return GateResult(True, (f"no regression: {change.text}",))
    lines = []
    passed = True
    before = label("the step before", comparison.noun)
    for limit in limits:
        grown = _growth(comparison, limit.what)
        sure = change.sure_ratio if limit.what == STEP and change.sure_ratio is not None else grown
        failed = grown > limit.ratio and sure > limit.ratio
        passed &= not failed
        doubt = f", but it may be {sure * 100:+.1f} %" if grown > limit.ratio and not failed else ""
        lines.append(f"{'FAILED' if failed else 'kept'} {limit}: {grown * 100:+.1f} % of {before}{doubt}")
    return GateResult(passed, tuple(lines))


def _growth(comparison: Comparison, what: str) -> float:
    assert comparison.change is not None
    if what == STEP:
        return comparison.change.ratio
    cause = what.removesuffix(CAUSE_SUFFIX)
    rows = [row for row in comparison.waterfall if row.cause == cause]
    grown = sum(row.after_ns - row.before_ns for row in rows)
    return grown / comparison.before.mean_ns if comparison.before.mean_ns else 0.0
