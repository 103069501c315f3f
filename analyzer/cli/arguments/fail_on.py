"""`--fail-on`: which findings make the exit code that of a failed gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
