"""What was opened: one trace or the ranks of one job; with a baseline, what changed since."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer import units
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

    @property
    def present(self) -> int:
        """How many ranks the job has here; of a large one only those that cost most are opened."""
        job = self.explained[0].analysis.job
        return max(job.present if job is not None else 0, len(self.explained))

    def path(self, index: int) -> Path | None:
        """Where one answer's trace is."""
        return self.paths[index] if self.paths else None

    def seen_on(self, index: int) -> dict[str, str]:
        """For each finding of one rank, by its id, on how many ranks its rule found something, and where it costs most.

        Args:
            index: Of the rank's answer.
        """
        if not self.ranks:
            return {}
        costs: dict[str, dict[int, int]] = {}
        for row, one in zip(self.ranks, self.explained, strict=True):
            for finding in one.analysis.findings:
                of_rule = costs.setdefault(finding.rule, {})
                of_rule[row.rank] = max(of_rule.get(row.rank, 0), finding.saving.expected_ns)
        shown = self.ranks[index].rank
        return {
            finding.id: _words(costs[finding.rule], shown, len(self.ranks), self.present)
            for finding in self.explained[index].analysis.findings
        }


def _words(costs: Mapping[int, int], shown: int, opened: int, present: int) -> str:
    """`worst on rank 3, 5 of 8 ranks`.

    Args:
        costs: What the rule's findings are expected to save, by rank.
        shown: The rank on the screen.
        opened: How many ranks were looked at.
        present: How many there are.
    """
    if present > opened:
        many = f"{len(costs)} of the {opened} ranks opened"
    elif len(costs) == 1:
        return "this rank only"
    else:
        many = "all ranks" if len(costs) == opened else f"{len(costs)} of {opened} ranks"
    most = max(costs.values())
    worst = next(rank for rank, cost in costs.items() if cost == most)
    # Where nobody could read a difference, none is the worst.
    if len({units.duration(cost) for cost in costs.values()}) == 1:
        return many
    return f"worst {'here' if costs.get(shown) == most else f'on rank {worst}'}, {many}"
