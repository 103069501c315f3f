"""A gate for CI: `step_ns<=+3%`, or a file of such lines. It fails on a real regression, never on noise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from analyzer.compare.comparison import Comparison
from analyzer.facts.cause_names import CAUSES
from traces.errors import UsageError

_LINE = re.compile(r"^(?P<what>[a-z_]+)\s*<=\s*\+?(?P<limit>\d+(?:\.\d+)?)\s*%$")
STEP = "step_ns"
# A part of the step is judged by its growth as a share of the step before: a cause that doubles from 1 % is no regression of 100 %.
_CAUSE_SUFFIX = "_ns"


@dataclass(frozen=True)
class Limit:
    """How much one measure may grow.

    Args:
        what: `step_ns`, or a cause of the waterfall with the suffix `_ns`.
        ratio: Allowed growth as a share of the step before.
    """

    what: str
    ratio: float

    def __str__(self) -> str:
        return f"{self.what}<=+{self.ratio * 100:g}%"


@dataclass(frozen=True)
class GateResult:
    """What the gate says of a comparison: failed limits and why, or why it stays open."""

    passed: bool
    lines: tuple[str, ...]


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
    known = {STEP, *(cause + _CAUSE_SUFFIX for cause in CAUSES)}
    for number, line in enumerate(lines, start=1):
        stripped = line.partition("#")[0].strip()
        if not stripped:
            continue
        match = _LINE.match(stripped)
        if match is None or match["what"] not in known:
            bad.append(f"line {number}: {stripped[:60]!r}")
        else:
            limits.append(Limit(match["what"], float(match["limit"]) / 100))
    if bad or not limits:
        raise UsageError(
            "the gate holds lines that are no limits: " + "; ".join(bad) if bad else "the gate is empty",
            where="--gate",
            fix=f"write step_ns<=+3%; known are {', '.join(sorted(known))}",
        )
    return tuple(limits)


def apply_gate(comparison: Comparison, limits: tuple[Limit, ...]) -> GateResult:
    """Fails only where the step really became slower, and the limit is exceeded."""
    change = comparison.change
    if change is None:
        return GateResult(True, ("not judged: the sides are not comparable",))
    if change.kind != "slower":
        return GateResult(True, (f"no regression: {change.text}",))
    lines = []
    passed = True
    for limit in limits:
        grown = _growth(comparison, limit.what)
        failed = grown > limit.ratio
        passed &= not failed
        lines.append(f"{'FAILED' if failed else 'kept'} {limit}: {grown * 100:+.1f} % of the step before")
    return GateResult(passed, tuple(lines))


def _growth(comparison: Comparison, what: str) -> float:
    assert comparison.change is not None
    if what == STEP:
        return comparison.change.ratio
    cause = what.removesuffix(_CAUSE_SUFFIX)
    rows = [row for row in comparison.waterfall if row.cause == cause]
    grown = sum(row.after_ns - row.before_ns for row in rows)
    return grown / comparison.before.mean_ns if comparison.before.mean_ns else 0.0
