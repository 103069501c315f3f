"""The lanes of one step, looked at from as near as one likes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.reactive import reactive
from textual.widget import Widget

from analyzer import units
from analyzer.analysis import FindingDocument
from analyzer.page.words.of_steps import Noun
from analyzer.tui.draw.cursor import Cursor, across, along, first, nearest, told
from analyzer.tui.draw.event import EVENT_LINES, event_lines
from analyzer.tui.draw.lane_rows import lane_rows
from analyzer.tui.draw.timeline import Mark, View, drawn_events, gutter_of, picture
from analyzer.tui.look.glyphs import Glyphs
from analyzer.views.step_lanes import StepLanes

# With fewer rows the lanes need them all.
LEAST_TO_TELL = 18
# Nearer than this there is nothing to see: clocks tick in nanoseconds, kernels last microseconds.
NEAREST_NS = 1_000


class TimelineView(Widget):
    """Draws as much as its height (set by styles) holds."""

    ALLOW_MAXIMIZE = True
    can_focus = True

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right", "along(1)", "Event", key_display="arrows", id="events.next", tooltip="The next event of this lane"),
        Binding("left", "along(-1)", "Event", show=False, id="events.previous", tooltip="The event before"),
        Binding("down", "across(1)", "Lane", show=False, id="events.down", tooltip="The lane below"),
        Binding("up", "across(-1)", "Lane", show=False, id="events.up", tooltip="The lane above"),
        Binding("enter", "near", "Nearer", show=False, id="events.near", tooltip="Fill half of the width with this event"),
    ]  # fmt: skip

    step: reactive[StepLanes | None] = reactive(None)
    """The step; None while it is measured."""

    view: reactive[View] = reactive(View(0, 1))
    """The part that is drawn."""

    mark: reactive[Mark | None] = reactive(None)
    """What the bracket is under."""

    cursor: reactive[Cursor | None] = reactive(None)
    """The event that is pointed at, while the lanes have the focus."""

    def __init__(self, glyphs: Glyphs, findings: Sequence[FindingDocument] = (), noun: Noun = "step") -> None:
        super().__init__(id="lanes")
        self._glyphs = glyphs
        self._findings = findings
        self._noun = noun
        self.border_title = "Timeline"

    def show(self, step: StepLanes, title: str) -> None:
        """Show all of a step."""
        self.mark = self.cursor = None
        self.step = step
        self.view = View(0, step.dur_ns)
        self.border_title = Content(title)
        if self.has_focus:
            self.on_focus()

    def on_focus(self) -> None:
        """Point at an event: the arrow keys then walk from it."""
        if self.step is not None and self.cursor is None:
            seen = self.view
            self.cursor = first(self.step, *((seen.start_ns, seen.end_ns) if self.zoomed else (0, 0)))

    def on_blur(self) -> None:
        """The arrow keys are for the gaps again."""
        self.cursor = None

    def watch_cursor(self) -> None:
        """Another event is pointed at."""
        self._say_where()

    def action_along(self, by: int) -> None:
        """Another event of the lane."""
        if self.cursor is not None:
            self._go(along(self.cursor, by))

    def action_across(self, by: int) -> None:
        """Another lane."""
        if self.step is not None and self.cursor is not None:
            self._go(across(self.step, self.cursor, by))

    def action_near(self) -> None:
        """The event from near."""
        if self.cursor is not None:
            self.fit(self.cursor.start_ns, self.cursor.end_ns)

    def _go(self, cursor: Cursor) -> None:
        """Point at an event, and move so far that it is in sight."""
        self.cursor = cursor
        if cursor.end_ns <= self.view.start_ns or cursor.start_ns >= self.view.end_ns:
            self._look((cursor.start_ns + cursor.end_ns - self.view.dur_ns) // 2, self.view.dur_ns)

    def render(self) -> Content:
        """The picture for the current size, and below it the event, where the lanes fill the screen."""
        if self.step is None:
            return Content.styled(f"measuring the {self._noun}", "$quiet")
        width, height = self.size.width, self._lanes_height
        drawn = picture(self.step, self.view, self.mark, width, height, self._glyphs, self.cursor)
        if self.cursor is None or not self._tells:
            return drawn
        # At the bottom, whatever the lanes leave free.
        free = [Content("")] * (height - len(drawn.split("\n")))
        told_of = event_lines(self.step, self.cursor, self._findings, width, self._glyphs, self._noun)
        return Content("\n").join([drawn, *free, *told_of])

    @property
    def _tells(self) -> bool:
        """Whether there is room for all that is known of the event that is pointed at."""
        return self.cursor is not None and self.screen.maximized is self and self.size.height >= LEAST_TO_TELL

    @property
    def _lanes_height(self) -> int:
        """Rows for the lanes: all, but for what is said of an event."""
        return self.size.height - (EVENT_LINES if self._tells else 0)

    def on_click(self, event: Click) -> None:
        """Point at the event that is clicked."""
        if self.step is None:
            return
        at = event.get_content_offset(self)
        height = self._lanes_height
        rows = [None, *lane_rows(self.step, height, self.cursor)]
        row = rows[at.y] if at is not None and at.y < len(rows) else None
        if at is not None and row is not None and len(row[0].start_ns):
            gutter = gutter_of(self.step, self.size.width, height, self.cursor)
            along_ns = self.view.dur_ns * (at.x - gutter + 0.5) / max(1, self.size.width - gutter)
            self.cursor = nearest(row[0], int(self.view.start_ns + along_ns))

    def watch_step(self) -> None:
        """Another step is looked at."""
        self._say_where()

    def watch_view(self) -> None:
        """Another part of it is looked at."""
        self._say_where()

    def on_resize(self) -> None:
        """There is room for other lanes."""
        self._say_where()

    def _say_where(self) -> None:
        """Below the picture; not while it is drawn, or the line would wait for the next drawing."""
        if self.step is None:
            return
        if self.cursor is not None and not self._tells:
            said = told(self.step, self.cursor, self._findings, self._glyphs.dot)
        else:
            said = self._position(self.step, self._lanes_height)
        self.border_subtitle = Content(said)

    def _position(self, step: StepLanes, height: int) -> str:
        lanes, events = drawn_events(step, self.view, height)
        whole = len(step.tracks)
        parts = [units.stretch(self.view.start_ns, self.view.end_ns)]
        parts.append(units.count(events, "event"))
        parts += [f"{lanes} of {whole} lanes"] if lanes < whole else []
        parts += ["z: back to the gaps" if self.screen.maximized is self else "z: event by event"]
        return f" {self._glyphs.dot} ".join(parts)

    def zoom(self, factor: float, at_ns: int | None = None) -> None:
        """Look at `factor` times as much, around a moment (the middle by default)."""
        if self.step is None:
            return
        middle = (self.view.start_ns + self.view.end_ns) // 2 if at_ns is None else at_ns
        length = min(self.step.dur_ns, max(NEAREST_NS, int(self.view.dur_ns * factor)))
        self._look(middle - length // 2, length)

    def pan(self, direction: int) -> None:
        """Move by a quarter of what is seen."""
        if self.step is not None:
            self._look(self.view.start_ns + direction * self.view.dur_ns // 4, self.view.dur_ns)

    def fit(self, start_ns: int, end_ns: int, share: float = 0.5) -> None:
        """Show a time so that it fills about `share` of the width."""
        if self.step is not None:
            length = min(self.step.dur_ns, max(NEAREST_NS, int((end_ns - start_ns) / share)))
            self._look((start_ns + end_ns - length) // 2, length)

    def whole(self) -> None:
        """All of the step."""
        if self.step is not None:
            self.view = View(0, self.step.dur_ns)

    @property
    def pointed_ns(self) -> int | None:
        """The middle of what is seen of the event that is pointed at; None where none is, or none of it is seen."""
        if self.cursor is None:
            return None
        start, end = max(self.cursor.start_ns, self.view.start_ns), min(self.cursor.end_ns, self.view.end_ns)
        return (start + end) // 2 if start <= end else None

    @property
    def zoomed(self) -> bool:
        """Whether less than the step is seen."""
        return self.step is not None and self.view.dur_ns < self.step.dur_ns

    def _look(self, start_ns: int, length: int) -> None:
        assert self.step is not None
        start = max(0, min(start_ns, self.step.dur_ns - length))
        self.view = View(start, start + length)
