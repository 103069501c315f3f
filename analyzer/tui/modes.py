"""The modes in the order of their keys. Screens that need measurements are imported when they are first shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.screen import Screen

from analyzer.tui.screens.checks import ChecksScreen
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.session import Session


@dataclass(frozen=True)
class Mode:
    """One mode: what makes its screen. Key and word are in `widgets.title_bar`, which every screen shows."""

    name: str
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
    Mode("findings", FindingsScreen),
    Mode("timeline", _timeline),
    Mode("operators", _operators),
    Mode("memory", _memory),
    Mode("checks", ChecksScreen),
)
