"""The palette's own commands: go to a finding, write a report, read a rule's page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from textual.app import SystemCommand

from analyzer.analysis import Analysis, CheckDocument, RankRow
from analyzer.page.ranks import bound
from analyzer.page.vocabulary import STATES
from analyzer.tui.export import FORMS, Form
from analyzer.tui.plain import line

Act = Callable[[], object]


def commands(
    analysis: Analysis,
    go_to: Callable[[str], object],
    write: Callable[[Form], object],
    page: Callable[[CheckDocument], object],
) -> Iterator[SystemCommand]:
    """All of them; the palette shows their texts as text, not as markup.

    Args:
        analysis: The document.
        go_to: Shows the finding with an id.
        write: Writes a report in a format.
        page: Shows a rule's page.
    """
    for finding in analysis.findings:
        about = f"Go to this finding ({finding.severity})"
        yield SystemCommand(f"{finding.rule} {line(finding.name)}", about, _bound(go_to, finding.id))
    for form in FORMS:
        yield SystemCommand(f"Write {form.name} report", form.use, _bound(write, form))
    for check in analysis.checks:
        about = f"This rule's page ({STATES[check.state]})"
        yield SystemCommand(f"Rule {check.rule} {line(check.title)}", about, _bound(page, check))


def _bound(act: Callable[..., object], what: object) -> Act:
    return lambda: act(what)


def ranks(rows: Sequence[RankRow], show: Callable[[int], object]) -> Iterator[SystemCommand]:
    """A command for each rank.

    Args:
        rows: The ranks opened.
        show: Shows the one at a place.
    """
    for index, row in enumerate(rows):
        about = "Show this rank: the others wait for it" if row.late else f"Show this rank ({bound(row)})"
        yield SystemCommand(f"Rank {row.rank}", about, _bound(show, index))
