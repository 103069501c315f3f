"""What the app shows once there is an answer: the modes of a rank, and how to get about. Part of the app, in a file of its own."""

from __future__ import annotations

import gc
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
from textual import work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from analyzer.analysis import Analysis
from analyzer.config import accepting
from analyzer.explained import Explained
from analyzer.page.job import job_page
from analyzer.tui.actions.acceptance import Acceptance
from analyzer.tui.actions.applying import Applying
from analyzer.tui.actions.export_actions import ExportActions
from analyzer.tui.answer.session import Session
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.navigation.modes import MODE_BINDINGS, MODES
from analyzer.tui.work import deeper
from analyzer.tui.work.deeper import Deeper, NotDeeperError
from analyzer.tui.work.messages import (
    Analysed,
    Deepened,
    Deepening,
    FindingWanted,
    PlaceWanted,
    RankWanted,
    TraceWanted,
)
from traces.errors import UntrustedTraceError

if TYPE_CHECKING:
    from analyzer.tui.answer.opened import Opened
    from analyzer.tui.screens.findings import FindingsScreen
    from analyzer.views.measured import Measured

    Base = App[Any]
else:
    Base = object


class Views(ExportActions, Acceptance, Applying, Base):
    """The modes of each rank opened are kept once they were shown; their names begin with the rank's place."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *MODE_BINDINGS,
        Binding("r", "ranks", "Ranks", show=False, id="app.ranks", tooltip="The ranks of this job"),
        Binding("n", "step_finding(1)", "Next", show=False, id="app.next", tooltip="The next finding"),
        Binding("p", "step_finding(-1)", "Previous", show=False, id="app.previous", tooltip="The previous finding"),
        Binding(
            "exclamation_mark",
            "remarks",
            "Remarks",
            show=False,
            id="app.remarks",
            tooltip="What to know before believing a figure",
        ),
    ]

    _glyphs: Glyphs
    _path: Path | None
    _exit_code: int
    _opened: Opened | None = None
    _analyses: dict[int, Analysis]
    _findings: dict[int, FindingsScreen]
    _measured: dict[int, Measured | None]
    _shown = 0
    _deeper: Deeper

    async def on_analysed(self, message: Analysed) -> None:
        """Show the answer to look at first."""
        self._opened, self._analyses, self._findings, self._measured = message.opened, {}, {}, {}
        await self._show(0)
        unusable = self.analysis is not None and self.analysis.trust.verdict == "unusable"
        self._exit_code = UntrustedTraceError.exit_code if unusable else 0
        if self.analysis is not None and self.analysis.job is not None and self._opened.ranks:
            # Of a job that is what is asked first; any key that closes it shows the rank to look at first.
            self.action_ranks()

    async def on_rank_wanted(self, message: RankWanted) -> None:
        """Show another rank."""
        await self._show(message.index)

    async def _show(self, index: int) -> None:
        from analyzer.tui.screens.findings import FindingsScreen

        assert self._opened is not None
        self._shown = index
        if index not in self._analyses:
            self._analyses[index] = self._opened.explained[index].analysis
            session = self._session(self._opened, index)
            for mode in MODES:
                self.add_mode(self._mode(mode.name), partial(mode.make, session))
        self.analysis = self._analyses[index]
        await self.switch_mode(self._mode("findings"))
        if index not in self._findings and isinstance(self.screen, FindingsScreen):
            self._findings[index] = self.screen
            self._measure_ahead(index)
            self._look_deeper(index)

    @work(thread=True, group="ahead", exit_on_error=False)
    def _measure_ahead(self, index: int) -> None:
        """The other modes' figures, while the findings are read: their keys then only draw."""
        measured = self._measured[index]
        if measured is not None:
            measured.ahead(self._analyses[index].timeline.step)
            # It is kept to the end: going over it for cycles took as long as a key may (40 ms on a 35 MB trace).
            gc.freeze()

    @work(thread=True, group="deeper", exit_on_error=False)
    def _look_deeper(self, index: int) -> None:
        assert self._opened is not None
        analysis = self._opened.explained[index].analysis
        path = self._opened.path(index)
        if path is None or self._opened.deep or not deeper.worth_it(analysis, path):
            return
        self.post_message(Deepening(index))
        try:
            self.post_message(Deepened(self._deeper.look(analysis, path), index))
        except NotDeeperError as error:
            self.post_message(Deepened(None, index, str(error)))

    def _session(self, opened: Opened, index: int) -> Session:
        from analyzer.views.concerns import concerns
        from analyzer.views.measured import Measured

        explained = opened.explained[index]
        facts = explained.facts
        concerned = concerns(explained.analysis, explained.savings)
        self._measured[index] = Measured(facts, explained.claims, concerned) if facts else None
        return Session(
            explained.analysis,
            self._glyphs,
            self._measured[index],
            self._path,
            rank=opened.ranks[index] if opened.ranks else None,
            ranks=opened.present,
            seen_on=opened.seen_on(index),
            since=opened.since[index] if opened.since else None,
        )

    def _mode(self, name: str) -> str:
        return f"{self._shown}/{name}"

    def on_deepening(self, message: Deepening) -> None:
        """Say that more may come."""
        self._findings[message.index].looking_deeper = True

    def on_deeper_unwanted(self) -> None:
        """End the look; another rank's begins anew."""
        self._deeper.stop()
        self._deeper = Deeper()

    def on_deepened(self, message: Deepened) -> None:
        """Add the evidence to the open findings, or say why there is none."""
        self._findings[message.index].looking_deeper = False
        if message.analysis is not None:
            self._replace(accepting.carried_over(self._analyses[message.index], message.analysis), message.index)
        elif message.problem is not None:
            self.notify(
                f"{line(message.problem, 200)}. The findings stand without it.",
                title="HolisticTraceAnalysis found no more evidence", severity="warning", markup=False, timeout=8,
            )  # fmt: skip

    def show_document(self, analysis: Analysis) -> None:
        """The same findings of the rank shown, with more to say."""
        self._replace(analysis, self._shown)

    def _replace(self, analysis: Analysis, index: int) -> None:
        self._analyses[index] = analysis
        if index == self._shown:
            self.analysis = analysis
        self._findings[index].deepened(analysis)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: ours, then Textual's own."""
        from analyzer.tui.navigation import commands
        from analyzer.tui.screens.rule_page import RulePage

        if self._opened is not None and self.analysis is not None:
            yield from commands.findings(self.analysis, lambda one: self.post_message(FindingWanted(one)))
            yield from commands.ranks(self._opened.ranks, lambda index: self.post_message(RankWanted(index)))
        yield from commands.keys(self, screen)
        if self._opened is not None and self.analysis is not None:
            yield from commands.reports(self._write)
            yield from commands.rules(self.analysis, lambda one: self.push_screen(RulePage(one)))
        yield from super().get_system_commands(screen)

    async def on_finding_wanted(self, message: FindingWanted) -> None:
        """Go to a finding."""
        from analyzer.tui.screens.findings import FindingsScreen

        await self.switch_mode(self._mode("findings"))
        if isinstance(self.screen, FindingsScreen):
            self.screen.go_to(message.identity)

    async def on_place_wanted(self, message: PlaceWanted) -> None:
        """Show a finding on the timeline."""
        from analyzer.tui.screens.timeline import TimelineScreen

        await self.switch_mode(self._mode("timeline"))
        if isinstance(self.screen, TimelineScreen):
            self.screen.show_finding(message.finding)

    def shown(self) -> Explained:
        """The document as it is shown, with what it was made from."""
        assert self._opened is not None
        assert self.analysis is not None
        return msgspec.structs.replace(self._opened.explained[self._shown], analysis=self.analysis)

    def on_trace_wanted(self, message: TraceWanted) -> None:
        """Write the trace for Perfetto."""
        if self._opened is not None:
            self._open_trace(self._opened.explained[self._shown], self._opened.path(self._shown), message.finding)

    def action_mode(self, mode: str) -> None:
        """Switch the mode, once there is something to show."""
        if self.analysis is not None and self.current_mode != self._mode(mode):
            self.switch_mode(self._mode(mode))

    async def action_step_finding(self, by: int) -> None:
        """The next or previous finding from any mode: the timeline shows its place, the others give way to it."""
        from analyzer.tui.screens.timeline import TimelineScreen
        from analyzer.tui.widgets.finding_list import FindingList

        findings = self._findings.get(self._shown) if self._opened is not None else None
        if findings is None or not findings.check_action("step", ()):
            return
        findings.action_step(by)
        finding = findings.query_one(FindingList).finding
        if isinstance(self.screen, TimelineScreen) and finding is not None:
            self.screen.show_finding(finding)
        else:
            await self.switch_mode(self._mode("findings"))

    def action_remarks(self) -> None:
        """What must be known before believing a figure."""
        from analyzer.tui.answer import wording
        from analyzer.tui.screens.remarks import RemarksScreen

        if self.analysis is not None:
            remarks = wording.banners(self.analysis)
            if remarks:
                self.push_screen(RemarksScreen(remarks))
            else:
                self.notify("Nothing to remark: the steps are marked, the trace is whole.", markup=False)

    def action_ranks(self) -> None:
        """Choose another rank."""
        from analyzer.tui.screens.ranks import RanksScreen

        if self._opened is None:
            return
        if not self._opened.ranks:
            self.notify(
                "This is one rank. Name the traces of all ranks, or their folder, to see them here.", markup=False
            )
            return
        page = job_page(self._opened.explained[self._shown].analysis.job)
        screen = RanksScreen(self._opened.ranks, self._shown, page, self._glyphs, self.size.width)
        self.push_screen(screen, self._rank_chosen)

    def _rank_chosen(self, index: int | None) -> None:
        if index is not None and index != self._shown:
            self.post_message(RankWanted(index))
