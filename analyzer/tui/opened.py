"""What was opened: one trace or the ranks of one job; with a baseline, what changed since."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.analysis import RankRow

if TYPE_CHECKING:
    from analyzer.compare.comparison import Comparison
    from analyzer.explain import Explained


@dataclass(frozen=True)
class Since:
    """The baseline's name, and what changed since it was taken."""

    baseline: str
    comparison: Comparison


@dataclass(frozen=True)
class Opened:
    """The answers, the one to look at first in front.

    Args:
        explained: One for each rank of the job; usually a single one.
        since: For each of them what changed since the baseline; empty without a baseline.
        paths: Where each was read from, if it can be read again.
        deep: Whether HTA was asked already.
    """

    explained: tuple[Explained, ...]
    since: tuple[Since, ...] = ()
    paths: tuple[Path | None, ...] = ()
    deep: bool = False

    @property
    def ranks(self) -> tuple[RankRow, ...]:
        """A row for each answer; empty where there are no several ranks."""
        return self.explained[0].analysis.ranks if len(self.explained) > 1 else ()

    def path(self, index: int) -> Path | None:
        """Where one answer's trace is."""
        return self.paths[index] if self.paths else None

    def seen_on(self, index: int) -> dict[str, str]:
        """For each finding of one rank, by its id, on how many ranks its rule found something.

        Args:
            index: Of the rank's answer.
        """
        if not self.ranks:
            return {}
        rules = [{finding.rule for finding in one.analysis.findings} for one in self.explained]
        counts = {rule: sum(rule in found for found in rules) for rule in rules[index]}
        return {
            finding.id: _words(counts[finding.rule], len(rules)) for finding in self.explained[index].analysis.findings
        }


def _words(count: int, total: int) -> str:
    if count == total:
        return "all ranks"
    return "this rank only" if count == 1 else f"{count} of {total} ranks"
