"""The palette's own commands: findings by what they say, what keys do, reports to write, rules to read; in this order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from textual.app import App, SystemCommand
from textual.command import DiscoveryHit, Hits
from textual.screen import Screen
from textual.system_commands import SystemCommandsProvider

from analyzer.analysis import Analysis, CheckDocument, RankRow
from analyzer.page.ranks import bound
from analyzer.page.words.vocabulary import STATES
from analyzer.tui.look.plain import line
from analyzer.tui.outside.export import FORMS, Form

Act = Callable[[], object]

# Nobody looks up by name how to get about.
_MOVES = frozenset(
    ("up", "down", "j", "k", "left", "right", "home", "end", "g", "G", "pageup", "pagedown", "enter", "escape", "tab")
)


class InOrder(SystemCommandsProvider):
    """The app's commands in the order it gives them; Textual's own provider sorts them by name while nothing is typed."""

    async def discover(self) -> Hits:
        """All of them."""
        for name, about, callback, discover in self.app.get_system_commands(self.screen):
            if discover:
                yield DiscoveryHit(name, callback, help=about)


def findings(analysis: Analysis, go_to: Callable[[str], object]) -> Iterator[SystemCommand]:
    """A command for each finding.

    Args:
        analysis: The document.
        go_to: Shows the finding with an id.
    """
    for finding in analysis.findings:
        about = f"Go to this finding ({finding.severity})"
        yield SystemCommand(f"{line(finding.title)} ({finding.rule})", about, _bound(go_to, finding.id))


def keys(app: App[object], screen: Screen[object]) -> Iterator[SystemCommand]:
    """What the keys do that are valid on a screen, each once."""
    seen = set()
    for key, one in screen.active_bindings.items():
        binding = one.binding
        if binding.id and one.enabled and key not in _MOVES and binding.action not in seen:
            seen.add(binding.action)
            act = _bound(lambda what: app.call_later(app.run_action, *what), (binding.action, one.node))
            yield SystemCommand(f"{one.tooltip} ({app.get_key_display(binding)})", binding.description, act)


def reports(write: Callable[[Form], object]) -> Iterator[SystemCommand]:
    """A command for each format.

    Args:
        write: Writes a report in a format.
    """
    for form in FORMS:
        yield SystemCommand(f"Write {form.name} report", form.use, _bound(write, form))


def rules(analysis: Analysis, page: Callable[[CheckDocument], object]) -> Iterator[SystemCommand]:
    """A command for each rule.

    Args:
        analysis: The document.
        page: Shows a rule's page.
    """
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
