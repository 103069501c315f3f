"""`--assume CODES`: what these findings give together, if they were fixed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analyzer.cli.streams.notes import note
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis

_OPTION = "--assume"


def codes(words: str | None) -> tuple[str, ...]:
    """The rules that are named.

    Raises:
        UsageError: a word names none.
    """
    if words is None:
        return ()
    from analyzer.cli.codes import expand
    from analyzer.engine.plugins import load_rules

    return expand(words, load_rules(), _OPTION)


def with_assumed(analysis: Analysis, rules: tuple[str, ...]) -> Analysis:
    """The document with what fixing the findings of these rules gives.

    Raises:
        UsageError: none of them found anything here.
    """
    if not rules or analysis.trust.verdict == "unusable":
        return analysis
    from msgspec.structs import replace

    from analyzer.page.findings.what_if import assumed, matching

    ids = matching(analysis, rules)
    if not ids:
        found = ", ".join(dict.fromkeys(finding.rule for finding in analysis.findings))
        raise UsageError(
            "none of these rules found anything in this trace, so nothing can be assumed fixed",
            where=_OPTION,
            why=f"found here: {found}" if found else "nothing was found here",
            fix="name findings of this trace" if found else "leave --assume out",
        )
    fired = {finding.rule for finding in analysis.findings}
    # A prefix names many that need not have fired; a code is meant.
    missing = [code for code in rules if code not in fired] if len(rules) <= len(ids) + 1 else []
    if missing:
        note(f"{', '.join(missing)} found nothing here, and changes nothing")
    return replace(analysis, assumed=assumed(analysis, ids))
