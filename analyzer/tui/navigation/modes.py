"""The modes in the order of their keys. Their screens are imported when they are first shown, behind the progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.binding import Binding
from textual.screen import Screen

from analyzer.tui.answer.session import Session


@dataclass(frozen=True)
class Mode:
    """One mode: its key, what it shows, and what makes its screen."""

    key: str
    name: str
    about: str
    make: Callable[[Session], Screen[None]]


def _findings(session: Session) -> Screen[None]:
    from analyzer.tui.screens.findings import FindingsScreen

    return FindingsScreen(session)


def _checks(session: Session) -> Screen[None]:
    from analyzer.tui.screens.checks import ChecksScreen

    return ChecksScreen(session)


def _timeline(session: Session) -> Screen[None]:
    from analyzer.tui.screens.timeline import TimelineScreen

    return TimelineScreen(session)


def _operators(session: Session) -> Screen[None]:
    from analyzer.tui.screens.operators import OperatorsScreen

    return OperatorsScreen(session)


def _memory(session: Session) -> Screen[None]:
    from analyzer.tui.screens.memory import MemoryScreen

    return MemoryScreen(session)


MODES = (
    Mode("1", "findings", "What costs time", _findings),
    Mode("2", "timeline", "One step in full", _timeline),
    Mode("3", "operators", "Time per op and kernel", _operators),
    Mode("4", "memory", "Memory over time", _memory),
    Mode("5", "checks", "Every rule and its result", _checks),
)
MODE_BINDINGS = tuple(
    Binding(mode.key, f"mode('{mode.name}')", mode.name.title(), show=False, id=f"app.{mode.name}", tooltip=mode.about)
    for mode in MODES
)
