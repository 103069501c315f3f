"""The app: runs the analysis in a thread, then shows one of the modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType
from textual.worker import Worker, WorkerState

from analyzer.tui.actions.export_actions import ExportActions
from analyzer.tui.keyboard.asked import Asked
from analyzer.tui.keyboard.prompt import answer_soon
from analyzer.tui.look.terminal import Look, current_look
from analyzer.tui.navigation.commands import InOrder
from analyzer.tui.navigation.switching import SwitchingApp
from analyzer.tui.navigation.views import Views
from analyzer.tui.screens.loading import LoadingScreen
from analyzer.tui.work.deeper import Deeper
from analyzer.tui.work.job import Job, bug, job_for
from analyzer.tui.work.messages import Failed, FirstLooked, Progressed
from analyzer.tui.work.tidying import collecting_when_quiet
from traces.ending import BY_SIGNAL
from traces.one_heap import share_one_heap

if TYPE_CHECKING:
    from analyzer.job.engines import Engine
    from analyzer.options import Options
    from traces.errors import AdvisorError
    from traces.reader.parallel.ahead import Ahead

# As a shell reports a program ended by Ctrl+C.
CANCELLED = 130
STYLES = ("base", "findings", "states", "checks", "operators", "timeline", "memory", "plain")


class AdvisorApp(Views, SwitchingApp[int]):
    """Ends with the process's exit code.

    Args:
        name: The trace's name, for titles.
        job: Reads and analyses.
        look: How to draw on this terminal.
        path: The trace on disk, where the job reads one.
        config: The configuration that was read, if any.
    """

    TITLE = "advisor"
    COMMANDS = {InOrder}  # noqa: RUF012
    CSS_PATH: ClassVar[list[str | PurePath]] = [f"styles/{name}.tcss" for name in STYLES]
    HORIZONTAL_BREAKPOINTS = [(0, "-cramped"), (40, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (12, "-tiny"), (17, "-low"), (23, "-short"), (32, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q", "leave", "Quit", id="app.quit", tooltip="Leave"),
        Binding("ctrl+q", "leave", "Quit", show=False, id="app.quit_too", tooltip="Leave", priority=True),
        Binding(
            "ctrl+z",
            "suspend_process",
            "Suspend",
            show=False,
            id="app.suspend",
            tooltip="Back to the shell; fg returns",
        ),
        *Views.BINDINGS,
        *ExportActions.BINDINGS,
    ]

    def __init__(self, name: str, job: Job, look: Look, path: Path | None = None, config: Path | None = None) -> None:
        super().__init__(look)
        self._trace_name = name
        self._job = job
        self._path = path
        self._config = config
        self._exit_code = 0
        self.failure: AdvisorError | None = None
        self._deeper = Deeper()
        self.asked = Asked()

    def on_mount(self) -> None:
        """Start reading."""
        self.asked.leave_by(self.action_leave)
        self.set_class(not self._glyphs.unicode, "-ascii")
        self.push_screen(LoadingScreen(self._trace_name, self._glyphs))
        self._read()

    @work(thread=True, exclusive=True, group="read", exit_on_error=False)
    def _read(self) -> None:
        self._job.run(self.post_message)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A bug in the analysis is a message."""
        if event.worker.group == "read" and event.state is WorkerState.ERROR and event.worker.error is not None:
            self.post_message(Failed(bug(event.worker.error)))

    def on_progressed(self, message: Progressed) -> None:
        """Show how far it is."""
        for screen in self._loading():
            screen.progressed(message)

    def on_first_looked(self, message: FirstLooked) -> None:
        """Show what is known so far."""
        for screen in self._loading():
            screen.looked_first(message)

    def _loading(self) -> list[LoadingScreen]:
        """The screen that shows how far it is, also while help lies over it."""
        return [screen for screen in self.screen_stack if isinstance(screen, LoadingScreen)]

    def on_failed(self, message: Failed) -> None:
        """Say what is wrong."""
        from analyzer.tui.screens.error import ErrorScreen

        self._exit_code = message.error.exit_code
        self.failure = message.error
        self.switch_screen(ErrorScreen(self._trace_name, message.error))

    def on_stopped(self) -> None:
        """Leave."""
        self.exit(CANCELLED)

    def on_cancel_wanted(self) -> None:
        """Stop the analysis at its next report."""
        self._job.cancel()

    def action_help_quit(self) -> None:
        """Say what leaves: who presses Ctrl+C wants to, and Textual looks for an action of another name."""
        self.notify("q leaves.", markup=False)

    def action_leave(self) -> None:
        """Stop what is running and end with the exit code."""
        self._job.cancel()
        self._deeper.stop()
        self.exit(self._exit_code)


def run(
    paths: Sequence[Path],
    options: Options,
    baseline: str | None = None,
    ahead: Ahead | None = None,
    config: Path | None = None,
    engine: Callable[[], Engine] | None = None,
) -> int:
    """Show a trace, or the ranks of one job; returns the process's exit code.

    Args:
        paths: The trace, or one for each rank.
        options: How to analyse.
        baseline: Name or file of the runs to compare with, or a trace.
        ahead: Where decoding the trace may have begun already.
        config: The configuration that was read, if any.
        engine: Makes who reads the ranks of a job; this process where none is named.

    Raises:
        AdvisorError: The trace could not be read. It was shown, but is gone with the screen.
    """
    answer_soon()
    share_one_heap()
    first, *others = paths
    name = f"{first.name} and {len(others)} more" if others else first.name
    job = job_for(paths, options, baseline, ahead, engine)
    app = AdvisorApp(name, job, current_look(), None if others else first, config)
    with collecting_when_quiet(), app.asked.heard():
        code = app.run()
    if app.asked.number is not None:
        return BY_SIGNAL + app.asked.number
    if app.failure is not None:
        raise app.failure
    return (app.return_code or 0) if code is None else code
