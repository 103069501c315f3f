"""`--fail-on`: which findings make the exit code that of a failed gate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from traces.errors import AdvisorError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis

SEVERITIES = ("high", "medium", "low")


def fails(analysis: Analysis, fail_on: str | None) -> bool:
    """Whether a finding is as severe as `--fail-on` says, or more, and nobody has accepted it."""
    if fail_on is None:
        return False
    failing = SEVERITIES[: SEVERITIES.index(fail_on) + 1]
    settled = _settled(analysis)
    return any(finding.severity in failing and finding.id not in settled for finding in analysis.findings)


def check_all_ran(analyses: Iterable[Analysis], fail_on: str | None) -> None:
    """Refuses to call a gate passed where a check crashed: what it would have found is not known.

    Raises:
        AdvisorError: One did.
    """
    crashed = sorted({check.rule for one in analyses for check in one.checks if check.state == "crashed"})
    if fail_on is not None and crashed:
        raise AdvisorError(
            "the gate is not passed: a check crashed",
            where=", ".join(crashed),
            why="nobody knows what it would have found; the report says what happened",
            fix=f"mend or update the package that brings it, or leave it out: --ignore {crashed[0]}",
        )


def _settled(analysis: Analysis) -> set[str]:
    """The findings that are accepted, and the general ones that go with them.

    A general finding goes with the specific ones that explain it, and those may be explained in turn: the last of them are what a
    team sees and accepts.
    """
    settled = {finding.id for finding in analysis.findings if finding.accepted is not None}
    general = {finding.id: set(finding.explained_by) for finding in analysis.findings if finding.explained_by}
    while more := {one for one, specific in general.items() if one not in settled and specific <= settled}:
        settled |= more
    return settled
