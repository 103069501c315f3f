"""Shows a tuning while it runs in a thread; leaving it ends the run that goes on, and keeps what was measured."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.worker import Worker, WorkerState

from analyzer.analysis.tuning import Tuning
from analyzer.tui.keyboard.asked import Asked
from analyzer.tui.look.drawn import DrawnApp
from analyzer.tui.look.terminal import Look, current_look
from analyzer.tui.tuning.screen import LiveTable, TuningScreen
from analyzer.tune.events import Event, Tell
from analyzer.tune.live import Live

# Tunes: tells what goes on, and asks before and while each run whether it is to stop.
Work = Callable[[Tell, Callable[[], bool]], Tuning]


@dataclass
class Heard(Message):
    """Something happened in the tuning."""

    event: Event


class Over(Message):
    """The tuning is over, however it ended."""


class TuningApp(DrawnApp[None]):
    """Ends when the tuning does.

    Args:
        live: How far it is.
        tune: Does it.
        look: How to draw on this terminal.
    """

    TITLE = "advisor tune"
    ENABLE_COMMAND_PALETTE = False
    CSS_PATH: ClassVar[list[str | PurePath]] = ["../styles/base.tcss", "../styles/tuning.tcss"]
    HORIZONTAL_BREAKPOINTS = [(0, "-cramped"), (40, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (6, "-tiny"), (17, "-low"), (23, "-short"), (32, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Stop", show=False, id="tuning.quit", priority=True, tooltip="As q"),
    ]

    def __init__(self, live: Live, tune: Work, look: Look) -> None:
        super().__init__(look)
        self._live = live
        self._tune = tune
        self._stop = threading.Event()
        self.asked = Asked()
        self.result: Tuning | None = None
        self.error: BaseException | None = None

    def on_mount(self) -> None:
        """Begin."""
        self.asked.leave_by(self.action_leave)
        self.push_screen(TuningScreen(self._live, self._glyphs))
        self._run_it()

    @work(thread=True, exit_on_error=False)
    def _run_it(self) -> None:
        try:
            self.result = self._tune(self._hear, self._stop.is_set)
        except KeyboardInterrupt as error:
            self.error = error
        self.post_message(Over())

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """An error is raised again by `run`, where whoever asked can catch it."""
        if event.state is WorkerState.ERROR:
            self.error = event.worker.error
            self.exit()

    def _hear(self, event: Event) -> None:
        self.post_message(Heard(event))

    def on_heard(self, message: Heard) -> None:
        """Show it."""
        self._live.hear(message.event)
        for table in self.screen.query(LiveTable):
            table.refresh(layout=True)

    def on_over(self) -> None:
        """Leave."""
        self.exit()

    def action_leave(self) -> None:
        """End the run that goes on; the tuning then ends with what it has."""
        self._stop.set()
        for table in self.screen.query(LiveTable):
            table.stopping = True
            table.refresh(layout=True)


def run(live: Live, tune: Work) -> tuple[Tuning, int | None]:
    """Show a tuning until it is over; what came of it, and the signal that ended it.

    Raises:
        AdvisorError: The script as it is cannot be measured.
        KeyboardInterrupt: It was ended before there was anything to keep.
    """
    app = TuningApp(live, tune, current_look())
    with app.asked.heard():
        app.run()
    if app.error is not None:
        raise app.error
    assert app.result is not None
    return app.result, app.asked.number
