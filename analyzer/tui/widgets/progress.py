"""Progress of the analysis: stages finished, current and to come, a bar, the time and the memory it takes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from textual.content import Content
from textual.widget import Widget

from analyzer import units
from analyzer.tui.draw.bars import allocate
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.work.footprint import peak_memory_bytes

REFRESH_SECONDS = 0.25
# Those that every trace goes through, in order; others come where they come.
STAGES = ("reading", "measuring", "checking")
# Whose amounts are bytes.
READING = "reading"


@dataclass
class Stage:
    """How far a stage is; `total` 0 means unknown."""

    done: int = 0
    total: int = 0


class Progress(Widget):
    """Told by `advance`; the clock is `time.monotonic`."""

    def __init__(self, name: str, glyphs: Glyphs) -> None:
        super().__init__(classes="notice")
        self.border_title = Content(f"Reading {line(name, 60)}")
        self._glyphs = glyphs
        self._stages: dict[str, Stage] = {}
        self._current = ""
        self._entered = self._started = time.monotonic()
        self._stopping = False

    def on_mount(self) -> None:
        """Keep the seconds moving."""
        self.set_interval(REFRESH_SECONDS, self.refresh)

    def advance(self, name: str, done: int, total: int) -> None:
        """The analysis is at `done` of `total` of the stage `name`; with several ranks a stage comes again."""
        if name != self._current:
            self._current, self._entered = name, time.monotonic()
        self._stages[name] = Stage(done, total)
        self.refresh(layout=True)

    def stop(self) -> None:
        """Say that it will end: that takes until the analysis reports again."""
        self._stopping = True
        self.refresh()

    def render(self) -> Content:
        """The stages, the bar and the time."""
        now = time.monotonic()
        lines = stages(self._stages, self._current, self._glyphs)
        stage = self._stages.get(self._current, Stage())
        lines += [Content(""), bar(stage, self.size.width, self._glyphs), Content("")]
        words = (
            ["Stopping."] if self._stopping else [times(stage, now - self._started, now - self._entered), "c cancels."]
        )
        peak = peak_memory_bytes()
        words[1:1] = [f"Peak memory {units.size(peak)}."] if peak is not None else []
        return Content("\n").join([*lines, Content.styled(" ".join(words), "$quiet")])


def stages(known: Mapping[str, Stage], current: str, glyphs: Glyphs) -> list[Content]:
    """A line for each stage: those begun in the order they began, then those to come."""
    names = [*known, *(name for name in STAGES if name not in known)]
    lines = []
    for name in names:
        amount = _amount(name, known.get(name, Stage()))
        if name == (current or STAGES[0]):
            lines.append(Content.assemble((f"{glyphs.current} ", "bold $heading"), (line(name), "bold"), amount))
        elif name in known:
            lines.append(Content.assemble((f"{glyphs.passed} ", "$good"), line(name), (amount, "$quiet")))
        else:
            lines.append(Content.styled(f"  {name}", "$quiet"))
    return lines


def _amount(name: str, stage: Stage) -> str:
    if stage.total <= 1:
        return ""
    return f"  {units.size(stage.total) if name == READING else f'{stage.total:,}'}"


def bar(stage: Stage, width: int, glyphs: Glyphs) -> Content:
    """How much of the current stage is done."""
    room = max(1, width - len(" 100%"))
    share = min(1.0, stage.done / stage.total) if stage.total else 0.0
    full, rest = allocate([share, 1 - share], room)
    mark = "━" if glyphs.unicode else "="
    empty = "─" if glyphs.unicode else "-"
    return Content.assemble((mark * full, "$heading"), (empty * rest, "$quiet"), f" {share:>4.0%}")


def times(stage: Stage, seconds: float, inside: float) -> str:
    """The time so far, and what is left of the stage once it can be foreseen.

    Args:
        stage: How far it is.
        seconds: Since the start.
        inside: Since the stage began.
    """
    left = ""
    if stage.total and 0.1 * stage.total <= stage.done < stage.total and seconds >= 2:
        left = f", about {max(1, round(inside * (stage.total - stage.done) / stage.done))} s left in this stage"
    return f"{seconds:.0f} s so far{left}."
