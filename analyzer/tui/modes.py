"""The modes in the order of their keys. Screens that need measurements are imported when they are first shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.binding import Binding
from textual.screen import Screen

from analyzer.tui.screens.checks import ChecksScreen
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.session import Session


@dataclass(frozen=True)
class Mode:
    """One mode: its key, what it shows, and what makes its screen."""

    key: str
    name: str
    about: str
    make: Callable[[Session], Screen[None]]


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
    Mode("1", "findings", "What costs time", FindingsScreen),
    Mode("2", "timeline", "One step in full", _timeline),
    Mode("3", "operators", "Time per op and kernel", _operators),
    Mode("4", "memory", "Memory over time", _memory),
    Mode("5", "checks", "Every rule and its result", ChecksScreen),
)
MODE_BINDINGS = tuple(
    Binding(mode.key, f"mode('{mode.name}')", mode.name.title(), show=False, id=f"app.{mode.name}", tooltip=mode.about)
    for mode in MODES
)
