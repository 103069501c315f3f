"""A story and how what is told of it is judged."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from analyzer.analysis import Analysis, BoundBy
from analyzer.explain import explain_facts
from analyzer.facts import Facts
from building.builders import TraceBuilder
from rules import RULES

# Where most of them were published.
GITHUB = "https://github.com/"

Outcome = Literal["right", "wrong", "silent"]
LARGE = ("high", "medium")


@dataclass(frozen=True)
class Story:
    """What somebody saw in a trace, what the cause was, and what helped.

    Args:
        name: Of the story.
        kind: Of program or trace, for the table.
        source: Where it was published.
        truth: What is documented: symptom, cause, remedy.
        make: Builds the world.
        bound: Verdicts that are true; empty where several readings are.
        told: What has to be told: rules that have to find something (`SY001|SY004`), or a pattern of what is said (`~pinned`).
        never: What must not be: rules that must not find anything large, or a pattern of what must not be said.
    """

    name: str
    kind: str
    source: str
    truth: str
    make: Callable[[], TraceBuilder]
    bound: tuple[BoundBy, ...] = ()
    told: tuple[str, ...] = ()
    never: tuple[str, ...] = ()

    @property
    def facts(self) -> Facts:
        """What is measured."""
        return Facts(self.make().trace())

    @cached_property
    def analysis(self) -> Analysis:
        """What is told."""
        return explain_facts(self.facts, rules=RULES).analysis

    @property
    def outcome(self) -> Outcome:
        """Wrong where something untrue is told, silent where something is missing."""
        if self.untrue:
            return "wrong"
        return "silent" if self.missing else "right"

    @property
    def untrue(self) -> list[str]:
        """What is told and not so."""
        said = self.analysis.summary.verdict.bound_by
        wrong = [f"verdict {said}"] if self.bound and said not in (*self.bound, "unknown") else []
        large = {one.rule for one in self.analysis.findings if one.severity in LARGE}
        return wrong + [what for what in self.never if self._says(what, large)]

    @property
    def missing(self) -> list[str]:
        """What is not told and so."""
        said = self.analysis.summary.verdict.bound_by
        missing = [f"verdict {'/'.join(self.bound)}"] if self.bound and said == "unknown" else []
        found = {one.rule for one in self.analysis.findings}
        return missing + [what for what in self.told if not self._says(what, found)]

    @property
    def text(self) -> str:
        """All that is said of verdict and findings."""
        parts = [self.analysis.summary.verdict.text]
        for one in self.analysis.findings:
            parts += [one.title, one.why, *one.caveats, *(f"{fix.code}\n{fix.note}" for fix in one.fix)]
        return "\n".join(parts)

    def _says(self, what: str, codes: set[str]) -> bool:
        if what.startswith("~"):
            return re.search(what[1:], self.text) is not None
        return any(code in codes for code in what.split("|"))
