"""A progress line on stderr, when the work takes over a second: gone when it is done.

Where nobody sits at a terminal, a line now and then stays in the log instead, and only of work that takes far longer.
"""

from __future__ import annotations

import shutil
import sys
import time
from types import TracebackType

import click

from analyzer.cli.streams.closed import confirm
from analyzer.cli.streams.terminal import is_terminal
from analyzer.page.words.safe import columns, pad
from analyzer.units import count
from traces.progress import WAITING

_PATIENCE_S = 1.0
_REDRAW_S = 0.1
_BAR, _SHORTEST_BAR = 24, 4
# The stage whose amounts are bytes on disk.
_READING = "reading"
# In a log: no word of what will be over so soon, and longer and longer from one line to the next.
_WORTH_A_LINE_S = 5.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 10.0, 60.0
# Earlier than this share of a stage its remaining time is a guess.
_FORESEEABLE = 0.05


class ProgressLine:
    """Draws `reading [######----] 45 %, 157 of 350 MB, 812,000 events, 3 s left` over itself.

    Use it as a context: leaving it takes the line away, so that neither result nor error message stands behind it.

    Args:
        patience_s: How long nothing is shown.
        items: What is counted, where each stage is one item of the whole work: `preset`. Empty where a stage has parts of its own.
    """

    def __init__(self, patience_s: float = _PATIENCE_S, items: str = "") -> None:
        self._visible = is_terminal(sys.stderr)
        self._items = items
        self._stage, self._began, self._last = "", time.monotonic(), 0
        self._next_draw = self._began + patience_s
        self._events = 0
        self._drawn = 0
        self._pause_s = _FIRST_PAUSE_S

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` of a stage is finished; `total` 0 means that nobody knows."""
        now = time.monotonic()
        if (stage != self._stage and not self._items) or done < self._last:
            self._began, self._events = now, 0
        self._stage, self._last = stage, done
        if now < self._next_draw:
            return
        if not self._visible:
            self._log(stage, done, total, now)
            return
        self._next_draw = now + _REDRAW_S
        # What wraps could not be taken away: a return goes to the start of the last line only.
        room = shutil.get_terminal_size((80, 24)).columns - 1
        details = self._details(stage, done, total, now)
        text = _line(stage, done, total, details, room)[: max(room, 1)]
        click.echo("\r" + pad(text, max(self._drawn, columns(text))), nl=False, err=True)
        self._drawn = columns(text)

    def _log(self, stage: str, done: int, total: int, now: float) -> None:
        """Say it in a line of its own, where that is worth one."""
        spent = now - self._began
        foreseeable = total > 0 and done >= _FORESEEABLE * total
        rest = spent * (total - done) / done if foreseeable else spent
        if rest < _WORTH_A_LINE_S and not stage.startswith(WAITING):
            return
        self._next_draw, self._pause_s = now + self._pause_s, min(2 * self._pause_s, _LONGEST_PAUSE_S)
        click.echo(f"advisor: {_line(stage, done, total, self._details(stage, done, total, now), 0)}", err=True)

    def _details(self, stage: str, done: int, total: int, now: float) -> list[str]:
        of_all = [f"{done:,} of {count(total, self._items)} done"] if self._items and total > 0 else []
        return of_all + _details(stage, done, total, self._events, now - self._began)

    def count_events(self, number: int) -> None:
        """Show from now on that so many events of this file were decoded."""
        self._events = number

    def say(self, text: str) -> None:
        """Print a line on stdout that is to stay, above the progress line."""
        self.clear()
        confirm(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            click.echo("\r" + " " * self._drawn + "\r", nl=False, err=True)
            self._drawn = 0


def _line(stage: str, done: int, total: int, details: list[str], room: int) -> str:
    """One line of at most `room` columns where a bar, shorter or none at all, makes that possible."""
    if total <= 0:
        return f"{stage} ..." + (f" {', '.join(details)}" if details else "")
    ratio = min(max(done / total, 0.0), 1.0)
    words = ", ".join([f" {ratio:4.0%}", *details])
    length = min(_BAR, room - len(f"{stage:<10} []") - len(words))
    full = round(ratio * length)
    drawn = f" [{'#' * full}{'-' * (length - full)}]" if length >= _SHORTEST_BAR else ""
    return f"{stage:<10}{drawn}{words}" if drawn or room else f"{stage}{words}"


def _details(stage: str, done: int, total: int, events: int, seconds: float) -> list[str]:
    """Bytes and events while reading, and the time left once it can be foreseen."""
    details = []
    if stage == _READING:
        details.append(f"{done / 1e6:,.0f}" + (f" of {total / 1e6:,.0f}" if total > 0 else "") + " MB")
        if events:
            details.append(count(events, "event"))
    if total > 0 and _FORESEEABLE * total <= done < total:
        details.append(f"{max(seconds * (total - done) / done, 1):.0f} s left")
    return details
