"""The result as plain text."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis.tuning import Tuning
from analyzer.page import tuning as words
from analyzer.page.words import safe
from analyzer.report.style import Role, Style

_ROLES: dict[str, Role] = {"helps": "good", "worse": "bad", "rejected": "bad", "failed": "bad"}


def render(tuning: Tuning, style: Style | None = None) -> str:
    """The result, ending in a newline."""
    style = style or Style()
    return style.encode("\n".join(line.rstrip() for line in _lines(tuning, style)) + "\n")


def _lines(tuning: Tuning, style: Style) -> Iterator[str]:
    yield style.paint(words.headline(tuning), "title")
    if tuning.trials:
        yield ""
        yield from _table(tuning, style)
    for one in tuning.recommended:
        yield ""
        where = words.place(one)
        carried = words.carries(one)
        yield (
            style.paint(f"Change: {safe.name(one.change, 40)}", "strong")
            + (f"  {where}" if where else "")
            + (f"  {carried}" if carried else "")
        )
        for line in safe.code(one.diff):
            role: Role = "added" if line.startswith("+") else "removed" if line.startswith("-") else "code"
            yield f"  {style.paint(line, role)}"
    hand = list(words.by_hand(tuning))
    if hand:
        yield ""
        yield style.paint("Only a change of the program brings", "title")
        yield from (f"  {line}" for line in hand)
    yield ""
    for sentence in words.method(tuning):
        yield from (style.paint(line, "dim") for line in safe.wrap(sentence, style.width))


def _table(tuning: Tuning, style: Style) -> Iterator[str]:
    rows = [words.row(trial) for trial in tuning.trials]
    widths = [max(len(cells[place]) for cells in (words.HEADS, *rows)) for place in range(len(words.HEADS))]
    yield style.paint("  ".join(safe.pad(head, width) for head, width in zip(words.HEADS, widths, strict=True)), "dim")
    for trial, cells in zip(tuning.trials, rows, strict=True):
        *most, verdict = (safe.pad(cell, width) for cell, width in zip(cells, widths, strict=True))
        yield "  ".join([*most, style.paint(verdict.rstrip(), _ROLES.get(trial.verdict, "dim"))])
        for note in words.notes(trial, tuning.epoch_steps):
            yield from (f"    {style.paint(line, 'dim')}" for line in safe.wrap(note, style.width - 4))
