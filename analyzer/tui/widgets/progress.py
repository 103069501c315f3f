"""Progress of the analysis: finished stages, the current one, a bar, and the time."""

from __future__ import annotations

import time
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from analyzer.tui.draw.bars import allocate
from analyzer.tui.glyphs import Glyphs
from analyzer.tui.plain import line

REFRESH_SECONDS = 0.25


@dataclass
class Stage:
    """A stage and how far it is; `total` 0 means unknown."""

    name: str
    done: int = 0
    total: int = 0


class Progress(Widget):
    """Told by `advance`; the clock is `time.monotonic`."""

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(classes="notice")
        self.border_title = Content(f"Reading {line(name, 60)}")
        self._glyphs = glyphs
        self._stages: list[Stage] = []
        self._started = time.monotonic()

    def on_mount(self) -> None:
        """Keep the seconds moving."""
        self.set_interval(REFRESH_SECONDS, self.refresh)

    def advance(self, name: str, done: int, total: int) -> None:
        """The analysis is at `done` of `total` of the stage `name`."""
        if not self._stages or self._stages[-1].name != name:
            self._stages.append(Stage(name))
        self._stages[-1].done, self._stages[-1].total = done, total
        self.refresh(layout=True)

    def render(self) -> Content:
        """The stages, the bar and the time."""
        return picture(self._stages, time.monotonic() - self._started, self.size.width, self._glyphs)


def picture(stages: list[Stage], seconds: float, width: int, glyphs: Glyphs) -> Content:
    """What the widget shows."""
    lines = []
    for stage in stages[:-1]:
        lines.append(Content.assemble((f"{glyphs.passed} ", "$good"), line(stage.name), (_amount(stage), "$quiet")))
    current = stages[-1] if stages else Stage("opening the file")
    lines.append(
        Content.assemble((f"{glyphs.current} ", "bold $heading"), (line(current.name), "bold"), _amount(current))
    )
    lines += [Content(""), _bar(current, width, glyphs), Content("")]
    lines.append(Content.styled(_time(current, seconds), "$quiet"))
    return Content("\n").join(lines)


def _amount(stage: Stage) -> str:
    return f"  {stage.total:,}" if stage.total > 1 else ""


def _bar(stage: Stage, width: int, glyphs: Glyphs) -> Content:
    room = max(1, width - 6)
    share = min(1.0, stage.done / stage.total) if stage.total else 0.0
    full, rest = allocate([share, 1 - share], room)
    mark = "━" if glyphs.unicode else "="
    empty = "─" if glyphs.unicode else "-"
    return Content.assemble((mark * full, "$heading"), (empty * rest, "$quiet"), f" {share:>4.0%}")


def _time(stage: Stage, seconds: float) -> str:
    left = ""
    if stage.total and stage.done * 10 >= stage.total and seconds >= 2:
        left = f", about {seconds * (stage.total - stage.done) / stage.done:.0f} s left in this stage"
    return f"{seconds:.0f} s so far{left}. c cancels."
