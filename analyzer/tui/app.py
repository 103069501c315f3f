"""The app: runs the analysis in a thread, then shows one of the modes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from analyzer.tui.commands import commands
from analyzer.tui.drawn import DrawnApp
from analyzer.tui.job import Job, job_for
from analyzer.tui.messages import Analysed, Failed, FindingWanted, PlaceWanted, Progressed
from analyzer.tui.modes import MODE_BINDINGS, MODES
from analyzer.tui.screens.error import ErrorScreen
from analyzer.tui.screens.findings import FindingsScreen
from analyzer.tui.screens.help import HelpScreen
from analyzer.tui.screens.loading import LoadingScreen
from analyzer.tui.screens.rule_page import RulePage
from analyzer.tui.session import Session
from analyzer.tui.taking import Taking
from analyzer.tui.terminal import Look, current_look
from traces.errors import UntrustedTraceError

if TYPE_CHECKING:
    from analyzer.explain import Options

# As a shell reports a program ended by Ctrl+C.
CANCELLED = 130
STYLES = ("base", "findings", "states", "checks", "operators", "timeline", "memory", "plain")


class AdvisorApp(Taking, DrawnApp[int]):
    """Ends with the process's exit code.

    Args:
        name: The trace's name, for titles.
        job: Reads and analyses.
        look: How to draw on this terminal.
        path: The trace on disk, where the job reads one.
    """

    TITLE = "advisor"
    CSS_PATH: ClassVar[list[str | PurePath]] = [f"styles/{name}.tcss" for name in STYLES]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-normal"), (160, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (17, "-low"), (23, "-short"), (32, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "Help", key_display="?", id="app.help", tooltip="All keys"),
        Binding("q", "leave", "Quit", id="app.quit", tooltip="Leave"),
        Binding("ctrl+q", "leave", "Quit", show=False, id="app.quit_too", tooltip="Leave", priority=True),
        *MODE_BINDINGS,
        *Taking.BINDINGS,
    ]

    def __init__(self, name: str, job: Job, look: Look, path: Path | None = None) -> None:
        super().__init__(look)
        self._trace_name = name
        self._job = job
        self._path = path
        self._exit_code = 0
        self.analysis = None

    def on_mount(self) -> None:
        """Start reading."""
        self.set_class(not self._glyphs.unicode, "-ascii")
        self.push_screen(LoadingScreen(self._trace_name, self._glyphs))
        self._read()

    @work(thread=True, exclusive=True)
    def _read(self) -> None:
        self._job.run(self.post_message)

    def on_progressed(self, message: Progressed) -> None:
        """Show how far it is."""
        if isinstance(self.screen, LoadingScreen):
            self.screen.progressed(message)

    def on_analysed(self, message: Analysed) -> None:
        """Show the answer."""
        from analyzer.tui.measured import Measured

        explained = message.explained
        self.analysis = analysis = explained.analysis
        measured = Measured(explained.facts, explained.claims) if explained.facts else None
        session = Session(analysis, self._glyphs, measured, self._path)
        self._exit_code = UntrustedTraceError.exit_code if analysis.trust.verdict == "unusable" else 0
        for mode in MODES:
            self.add_mode(mode.name, partial(mode.make, session))
        self.switch_mode("findings")

    def on_failed(self, message: Failed) -> None:
        """Say what is wrong."""
        self._exit_code = message.error.exit_code
        self.switch_screen(ErrorScreen(self._trace_name, message.error))

    def on_stopped(self) -> None:
        """Leave."""
        self.exit(CANCELLED)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: ours, then Textual's own."""
        if self.analysis is not None:
            act = (
                lambda one: self.post_message(FindingWanted(one)),
                self._write,
                lambda one: self.push_screen(RulePage(one)),
            )
            yield from commands(self.analysis, *act)
        yield from super().get_system_commands(screen)

    async def on_finding_wanted(self, message: FindingWanted) -> None:
        """Go to a finding."""
        await self.switch_mode("findings")
        if isinstance(self.screen, FindingsScreen):
            self.screen.go_to(message.identity)

    async def on_place_wanted(self, message: PlaceWanted) -> None:
        """Show a finding on the timeline."""
        from analyzer.tui.screens.timeline import TimelineScreen

        await self.switch_mode("timeline")
        if isinstance(self.screen, TimelineScreen):
            self.screen.show_finding(message.finding)

    def action_mode(self, mode: str) -> None:
        """Switch the mode, once there is something to show."""
        if self.analysis is not None and self.current_mode != mode:
            self.switch_mode(mode)

    def action_cancel(self) -> None:
        """Stop the analysis at its next report."""
        self._job.cancel()

    def action_help(self) -> None:
        """All keys."""
        self.push_screen(HelpScreen(self._glyphs))

    def action_leave(self) -> None:
        """Stop what is running and end with the exit code."""
        self._job.cancel()
        self.exit(self._exit_code)


def run(path: Path, options: Options) -> int:
    """Show the trace at `path`; returns the process's exit code."""
    app = AdvisorApp(path.name, job_for(path, options), current_look(), path)
    code = app.run()
    return (app.return_code or 0) if code is None else code
