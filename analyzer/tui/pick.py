"""Which of several traces to open, newest first. An app of its own: it ends before anything is read."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from analyzer import units
from analyzer.tui.keyboard.asked import Asked
from analyzer.tui.look.drawn import DrawnApp
from analyzer.tui.look.plain import line
from analyzer.tui.look.terminal import Look, current_look
from analyzer.tui.widgets.key_bar import KeyBar
from traces.ending import Ended

MOST = 500


class PickApp(DrawnApp[Path]):
    """Ends with the chosen trace, or with None.

    Args:
        paths: The traces, in order.
        look: How to draw on this terminal.
    """

    CSS_PATH: ClassVar[list[str | PurePath]] = ["styles/base.tcss", "styles/pick.tcss"]
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter", "choose", "Open", key_display="Enter", id="pick.open", tooltip="Open the trace", priority=True
        ),
        Binding("j,down", "move(1)", "Down", show=False, id="pick.down", tooltip="The trace below"),
        Binding("k,up", "move(-1)", "Up", show=False, id="pick.up", tooltip="The trace above"),
        Binding("q,escape,ctrl+q", "leave", "Quit", key_display="q", id="pick.quit", tooltip="Open nothing"),
    ]

    def __init__(self, paths: Sequence[Path], look: Look) -> None:
        super().__init__(look)
        self._paths = tuple(paths[:MOST])
        self._more = len(paths) - len(self._paths)
        self.asked = Asked()

    def compose(self) -> ComposeResult:
        """The list and its keys."""
        folders = {path.parent for path in self._paths}
        now, shared = time.time(), len(folders) == 1
        options = (Option(describe(path, now, with_folder=not shared)) for path in self._paths)
        traces = OptionList(*options, id="traces", compact=True)
        folder = line(str(folders.pop()), 60) if shared else "."
        traces.border_title = Content("Which trace?" if folder == "." else f"Which trace of {folder}?")
        more = f", {self._more:,} more" if self._more else ""
        traces.border_subtitle = f"{units.count(len(self._paths), 'trace')}{more}. Enter opens"
        yield traces
        yield KeyBar(palette=False)

    def on_mount(self) -> None:
        """The newest is chosen."""
        self.query_one(OptionList).highlighted = 0
        self.asked.leave_by(self.exit)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Enter or a click."""
        event.stop()
        self.exit(self._paths[event.option_index])

    def action_choose(self) -> None:
        """Open the one under the cursor."""
        self.query_one(OptionList).action_select()

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        traces = self.query_one(OptionList)
        if by > 0:
            traces.action_cursor_down()
        else:
            traces.action_cursor_up()

    def action_leave(self) -> None:
        """Open nothing."""
        self.exit(None)


def describe(path: Path, now: float, *, with_folder: bool = True) -> Content:
    """Age, size, name and folder of a trace on one line."""
    try:
        status = path.stat()
    except OSError:
        return Content.styled(f"{'gone':>10}  {'':>8}  {line(path.name, 200)}", "$quiet")
    folder = "" if str(path.parent) == "." or not with_folder else f"  {line(str(path.parent), 200)}"
    figures = f"{age(now - status.st_mtime):>10}  {units.size(status.st_size):>8}  "
    return Content.assemble((figures, "$quiet"), (line(path.name, 200), "bold"), (folder, "$quiet"))


def age(seconds: float) -> str:
    """`5 min ago`, `3 h ago`, `12 d ago`."""
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{int(seconds // length)} {unit} ago"
    return "just now"


def pick(paths: Sequence[Path]) -> Path | None:
    """Ask which trace to open; None where the reader wants none.

    Raises:
        Ended: A signal asked to end meanwhile.
    """
    app = PickApp(paths, current_look())
    with app.asked.heard():
        chosen = app.run()
    if app.asked.number is not None:
        raise Ended(app.asked.number)
    return chosen
