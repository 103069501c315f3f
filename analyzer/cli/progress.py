"""A progress line on stderr: only for a person, only when the work takes over a second, gone when it is done."""

from __future__ import annotations

import sys
import time
from types import TracebackType

import click

from analyzer.cli.terminal import is_terminal
from analyzer.report.safe import columns, pad

_PATIENCE_S = 1.0
_REDRAW_S = 0.1
_BAR = 24


class ProgressLine:
    """Draws `reading [######----] 45 %` over itself.

    Use it as a context: leaving it takes the line away, so that neither result nor error message stands behind it.
    """

    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._visible = is_terminal(sys.stderr)
        self._next_draw = time.monotonic() + patience_s
        self._drawn = 0

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show that `done` of `total` of a stage is finished; `total` 0 means that nobody knows."""
        now = time.monotonic()
        if not self._visible or now < self._next_draw:
            return
        self._next_draw = now + _REDRAW_S
        text = _line(stage, done, total)
        click.echo("\r" + pad(text, max(self._drawn, columns(text))), nl=False, err=True)
        self._drawn = columns(text)

    def say(self, text: str) -> None:
        """Print a line on stdout that is to stay, above the progress line."""
        self.clear()
        click.echo(text)

    def clear(self) -> None:
        """Take the line away."""
        if self._drawn:
            click.echo("\r" + " " * self._drawn + "\r", nl=False, err=True)
            self._drawn = 0


def _line(stage: str, done: int, total: int) -> str:
    if total <= 0:
        return f"{stage} ..."
    ratio = min(max(done / total, 0.0), 1.0)
    full = round(ratio * _BAR)
    return f"{stage:<10} [{'#' * full}{'-' * (_BAR - full)}] {ratio:4.0%}"
