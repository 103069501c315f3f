"""Mode 2: one step in full, and its gaps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widget import Widget
from textual.widgets import DataTable

from analyzer.analysis import FindingDocument, Intervals
from analyzer.page.findings.groups import unit
from analyzer.page.step.waterfall import slow_steps
from analyzer.tui.answer import wording
from analyzer.tui.answer.session import Session
from analyzer.tui.draw.timeline import Mark
from analyzer.tui.screens.mode import ModeScreen
from analyzer.tui.screens.steps import StepsScreen
from analyzer.tui.widgets.gap_table import GapTable
from analyzer.tui.widgets.key_bar import KeyBar
from analyzer.tui.widgets.notice import Notice, only_document
from analyzer.tui.widgets.timeline_view import TimelineView
from analyzer.tui.widgets.title_bar import TitleBar
from analyzer.tui.work.messages import FindingWanted
from analyzer.views.step_gaps import Gap
from analyzer.views.step_lanes import StepLanes

# A finding whose longest piece is shorter than this share of the step is looked at from near.
NEAR_RATIO = 0.1


class TimelineScreen(ModeScreen):
    """Lanes above, gaps below; left and right move in time, up and down from gap to gap."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "zoom(0.5)", "Zoom", key_display="+ -", id="timeline.in", tooltip="Look from nearer"),
        Binding("minus", "zoom(2)", "Out", show=False, id="timeline.out", tooltip="Look from farther"),
        Binding("right_square_bracket", "step(1)", "Next", key_display="[ ]", id="timeline.next", tooltip="The next one"),
        Binding("left_square_bracket", "step(-1)", "Before", show=False, id="timeline.previous", tooltip="The one before"),
        Binding("0", "whole", "Whole", show=False, id="timeline.whole", tooltip="All of it"),
        Binding("left", "pan(-1)", "Left", show=False, id="timeline.left", tooltip="Move to the left"),
        Binding("right", "pan(1)", "Right", show=False, id="timeline.right", tooltip="Move to the right"),
        Binding("f", "finding", "Finding", id="timeline.finding", tooltip="The finding of this gap"),
        Binding("s", "choose", "Others", show=False, id="timeline.choose", tooltip="Choose another"),
        Binding("escape", "back", "Back", show=False, id="timeline.back", tooltip="All of it; back to findings"),
    ]  # fmt: skip

    @dataclass
    class Measured(Message):
        """A step is measured."""

        step: StepLanes

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        analysis = session.analysis
        self._numbers = [row.step for row in analysis.steps if row.dur_ns > 0]
        drawn = analysis.timeline.step
        self._number = drawn if drawn in self._numbers else (self._numbers[0] if self._numbers else None)
        self._wanted: FindingDocument | None = None

    def compose(self) -> ComposeResult:
        """Title, lanes, gaps."""
        yield TitleBar(self._session, "timeline")
        if self._session.measured is None or self._number is None:
            with Container(classes="stage"):
                yield Notice("Timeline", only_document("events"))
        else:
            noun = unit(self._session.analysis)
            findings = {finding.id: finding for finding in self._session.analysis.findings}
            yield TimelineView(self._session.glyphs, self._session.analysis.findings, noun)
            yield GapTable(findings, self._session.glyphs, noun)
        yield KeyBar()

    def on_mount(self) -> None:
        """Measure the representative step."""
        if self.query(GapTable):
            self.query_one(GapTable).focus()
            self._measure()

    @work(thread=True, exclusive=True)
    def _measure(self) -> None:
        measured, number = self._session.measured, self._number
        assert measured is not None
        assert number is not None
        self.post_message(self.Measured(measured.step(number)))

    def on_timeline_screen_measured(self, message: Measured) -> None:
        """Draw the step."""
        step = message.step
        shown = self.query_one(TimelineView).step is step
        if step.number != self._number or (shown and self._wanted is None):
            return
        row = next(one for one in self._session.analysis.steps if one.step == step.number)
        reason = f", not used: {row.reason}" if row.reason else ""
        noun = unit(self._session.analysis)
        place = f"{self._numbers.index(step.number) + 1} of {len(self._numbers)}"
        named = "the whole trace" if noun == "recording" else f"{noun} {step.number} ({place}{reason})"
        self.query_one(TimelineView).show(step, f"Timeline {self._session.glyphs.dot} {named}")
        what = "GPU gaps" if wording.has_gpu(self._session.analysis) else "Time outside compute"
        self.query_one(GapTable).show(step, f"{what} in this {noun}")
        if self._wanted is not None:
            self._point_at(self._wanted)
            self._wanted = None
        elif step.gaps:
            self._mark(step.gaps[0], 1)
        self._measure_beside(step.number)

    @work(thread=True, exclusive=True, group="beside", exit_on_error=False)
    def _measure_beside(self, number: int) -> None:
        """The steps that [ and ] go to: their keys then only draw."""
        measured, place = self._session.measured, self._numbers.index(number)
        assert measured is not None
        for one in self._numbers[place + 1 : place + 2] + self._numbers[max(0, place - 1) : place]:
            measured.step(one)

    def show_finding(self, finding: FindingDocument) -> None:
        """Show where in the representative step a finding lies."""
        if self._session.measured is None or self._session.analysis.timeline.step is None:
            return
        self._wanted = finding
        self._number = self._session.analysis.timeline.step
        if self.is_mounted and self.query(GapTable):
            self._measure()

    def _point_at(self, finding: FindingDocument) -> None:
        view = self.query_one(TimelineView)
        for evidence in finding.evidence:
            if isinstance(evidence, Intervals) and evidence.spans and view.step is not None:
                view.mark = Mark(evidence.spans, finding.rule, f"bold $sev-{finding.severity}")
                start, end = max(evidence.spans, key=lambda span: span[1] - span[0])
                if end - start < NEAR_RATIO * view.step.dur_ns:
                    view.fit(start, end, 0.25)
                return
        self.notify(
            f"{finding.rule} is not tied to a place in {self._session.analysis.trace.steps.noun} {self._number}",
            markup=False,
        )

    def on_gap_table_moved(self, message: GapTable.Moved) -> None:
        """The bracket goes to the gap."""
        gap, view = message.gap, self.query_one(TimelineView)
        self._mark(gap, message.number)
        if view.zoomed and not view.view.start_ns <= gap.start_ns < view.view.end_ns:
            view.zoom(1, gap.start_ns + gap.dur_ns // 2)

    def _mark(self, gap: Gap, number: int) -> None:
        span = (gap.start_ns, gap.start_ns + gap.dur_ns)
        self.query_one(TimelineView).mark = Mark((span,), f"gap {number}", f"bold $cause-{gap.cause}")

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Enter looks at the gap."""
        event.stop()
        gap = self.query_one(GapTable).gap
        if gap is not None:
            self.query_one(TimelineView).fit(gap.start_ns, gap.start_ns + gap.dur_ns)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """No timeline keys without a timeline."""
        mine = ("zoom", "step", "choose", "whole", "pan", "finding", "zoom_pane")
        return action not in mine or bool(self.query(TimelineView))

    def action_zoom(self, factor: float) -> None:
        """Nearer or farther, around the event that is pointed at, else the selected gap where that is in sight."""
        view, gap = self.query_one(TimelineView), self.query_one(GapTable).gap
        middle = gap.start_ns + gap.dur_ns // 2 if gap is not None else None
        seen = middle is not None and view.view.start_ns <= middle < view.view.end_ns
        pointed = view.pointed_ns
        view.zoom(factor, pointed if pointed is not None else middle if seen else None)

    def action_zoom_pane(self) -> None:
        """The lanes alone: then the arrow keys walk their events."""
        super().action_zoom_pane()
        if self.maximized is not None:
            self.query_one(TimelineView).focus()

    def action_pan(self, direction: int) -> None:
        """Left or right."""
        self.query_one(TimelineView).pan(direction)

    def action_whole(self) -> None:
        """All of the step."""
        self.query_one(TimelineView).whole()

    def action_step(self, by: int) -> None:
        """Another step."""
        if self._number is not None:
            index = self._numbers.index(self._number) + by
            self._chosen(index if 0 <= index < len(self._numbers) else None)

    def action_choose(self) -> None:
        """Any step, from a menu."""
        if self._number is not None:
            rows = [row for row in self._session.analysis.steps if row.dur_ns > 0]
            slow = {row.step for row in slow_steps(self._session.analysis)}
            noun = self._session.analysis.trace.steps.noun
            menu = StepsScreen(rows, slow, self._numbers.index(self._number), self._session.glyphs, noun)
            self.app.push_screen(menu, self._chosen)

    def _chosen(self, place: int | None) -> None:
        if place is not None:
            self._number = self._numbers[place]
            self._measure()

    def action_finding(self) -> None:
        """Go to the finding that explains the gap."""
        gap = self.query_one(GapTable).gap
        if gap is not None and gap.finding is not None:
            self.post_message(FindingWanted(gap.finding))
        else:
            self.notify("No finding explains this gap.", markup=False)

    def pane(self) -> Widget | None:
        """The lanes, wherever the focus is."""
        return self.query_one(TimelineView)

    async def action_back(self) -> None:
        """Undo maximising, then zooming, then leave."""
        if self.maximized is not None:
            self.minimize()
        elif self.query(TimelineView) and self.query_one(TimelineView).zoomed:
            self.query_one(TimelineView).whole()
        else:
            await self.run_action("app.mode('findings')")
