"""The table of operators: sorted, searched, at most the first 500 unless all are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec
from textual.binding import Binding, BindingType
from textual.content import Content

from analyzer import units
from analyzer.page.words import safe
from analyzer.page.words.kernel_names import short
from analyzer.tui.draw.bars import bar
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line
from analyzer.tui.widgets.filling_table import FillingTable, Heading, joined
from analyzer.views.operator_rows import Group, OperatorRow
from traces.reader.names.autograd import OF_NODE

MOST = 500
NARROWEST_NAME = 14
# Two rules; with less room than this the figures need it.
FINDINGS_WIDTH = 11
ROOMY = 100
# A bar beside each share, where the names keep this much.
BAR_WIDTH = 8
# Many a name of a backward pass begins so, and ends in `Backward0`: what tells them apart stands between.
NAME_BESIDE_BAR = 24


@dataclass(frozen=True)
class Column:
    """A column of figures; `always` stays where there is little room, `device` needs a device, `work` that of an operator."""

    title: str
    width: int
    value: Callable[[OperatorRow], float | None]
    text: Callable[[float], str]
    always: bool = False
    device: bool = False
    host: bool = False
    work: bool = False


def _flops(per_s: float) -> str:
    return units.rate(per_s, "FLOP")


def _bytes(per_s: float) -> str:
    return units.rate(per_s, "B")


COLUMNS = (
    Column("calls", 6, lambda row: row.calls, lambda calls: f"{calls:,.0f}" if calls >= 10 else f"{calls:.2g}", always=True),
    Column("CPU self", 8, lambda row: row.self_host_ns, units.duration, host=True),
    Column("CPU", 8, lambda row: row.host_ns, units.duration, always=True, host=True),
    Column("GPU self", 8, lambda row: row.self_device_ns, units.duration, always=True, device=True),
    Column("GPU", 8, lambda row: row.device_ns, units.duration, device=True, host=True),
    Column("share", 6, lambda row: row.share, lambda share: units.share(share) if share else "-", always=True),
    Column("FLOP/s", 13, lambda row: row.work.flops_per_s if row.work else None, _flops, work=True),
    Column("memory", 9, lambda row: row.work.bytes_per_s if row.work else None, _bytes, work=True),
    Column("of peak", 7, lambda row: row.work.peak_ratio if row.work else None, units.share, always=True, work=True),
    Column("above", 7, lambda row: row.work.above_ns if row.work else None, units.duration, always=True, work=True),
    Column("TC", 6, lambda row: row.tensor_core_ratio, units.share, device=True),
)  # fmt: skip
SORTS = ("share", "GPU", "CPU self", "CPU", "calls", "above", "of peak", "name")


class OperatorTable(FillingTable):
    """One row per operator."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "cursor_down", "Down", show=False, id="operators.down", tooltip="The row below"),
        Binding("k,up", "cursor_up", "Up", show=False, id="operators.up", tooltip="The row above"),
        Binding("enter", "select_cursor", "Open", key_display="Enter", id="operators.open", tooltip="Callers, callees, examples"),
        Binding("g,home", "scroll_top", "First", show=False, id="operators.first", tooltip="The first row"),
        Binding("G,end", "scroll_bottom", "Last", show=False, id="operators.last", tooltip="The last row"),
    ]  # fmt: skip

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="operators")
        self._glyphs = glyphs
        self._shown: tuple[OperatorRow, ...] = ()

    @property
    def row(self) -> OperatorRow | None:
        """The operator under the cursor."""
        return self._shown[self.cursor_row] if 0 <= self.cursor_row < len(self._shown) else None

    def show(self, rows: Sequence[OperatorRow], columns: Sequence[Column], group: Group) -> None:
        """Show these rows, cut to the widget's width; the cursor goes to the first.

        Args:
            rows: In order.
            columns: The figures, left to right after the name.
            group: What a row is; of an op with its shapes the name carries them, of a kernel it is short.
        """
        self._shown = tuple(rows)
        named = self.size.width >= ROOMY and any(row.findings for row in rows)
        taken = sum(column.width + 2 for column in columns) + (FINDINGS_WIDTH + 2) * named
        room = max(NARROWEST_NAME, self.size.width - 4 - taken)
        drawn = room - BAR_WIDTH - 2 >= NAME_BESIDE_BAR
        room -= (BAR_WIDTH + 2) * drawn
        largest = max((row.share for row in rows), default=0.0) if drawn else None
        headings = [Heading("name", room)]
        for column in columns:
            headings.append(Heading(column.title.rjust(column.width), column.width))
            headings += [Heading("", BAR_WIDTH)] if drawn and column.title == "share" else []
        headings += [Heading("findings", FINDINGS_WIDTH)] if named else []
        lines = (self._line(row, room, columns, group, named=named, largest=largest) for row in rows)
        self.fill(headings, (joined(line, headings) for line in lines))

    def _line(
        self,
        row: OperatorRow,
        room: int,
        columns: Sequence[Column],
        group: Group,
        *,
        named: bool,
        largest: float | None,
    ) -> list[Content]:
        cells = [self._title(row, room, group)]
        for column in columns:
            cells.append(_figure(row, column))
            if largest is not None and column.title == "share":
                cells.append(bar(row.share, largest, BAR_WIDTH, "$cause-compute", self._glyphs))
        return [*cells, Content(" ".join(row.findings[:2]))] if named else cells

    @staticmethod
    def _title(row: OperatorRow, room: int, group: Group) -> Content:
        indent = "  " * min(row.depth, room // 4)
        name = indent + line(short(row.name) if group == "kernel" else row.name, 400)
        if group == "shape" and row.shape:
            return Content.assemble(name, " ", (line(row.shape, 400), "$quiet")).truncate(room, ellipsis=True)
        if len(name) > room:
            name = name.replace(OF_NODE, "autograd: ", 1).replace("aten::", "", 1)
        # Both ends tell names apart.
        return Content(safe.middle(name, room))


def _figure(row: OperatorRow, column: Column) -> Content:
    value = column.value(row)
    empty = value is None or (value == 0 and column.text is units.duration)
    text = "" if empty or value is None else column.text(value)
    style = "bold" if column.title == "share" else "$quiet" if column.title == "calls" else ""
    return Content.styled(text.rjust(column.width), style)


def columns_for(
    width: int, *, device: bool, host: bool, tensor: bool, work: frozenset[str] = frozenset()
) -> tuple[Column, ...]:
    """The columns that fit and have something to say.

    Args:
        width: Of the table.
        device: Whether there is device work.
        host: Whether the rows have host times (kernels have none).
        tensor: Whether any name says who multiplies.
        work: Columns of an operator's work that say something of any row.
    """
    chosen = [column for column in COLUMNS if (device or not column.device) and (host or not column.host)]
    chosen = [column for column in chosen if tensor or column.title != "TC"]
    chosen = [column for column in chosen if not column.work or column.title in work]
    if work:
        # Times with what is called inside say nothing of what an op achieves, and the shapes want the room.
        chosen = [column for column in chosen if column.title not in ("CPU self", "GPU", "TC")]
    roomy = width >= ROOMY
    return tuple(column for column in chosen if roomy or column.always)


def work_columns(rows: Sequence[OperatorRow]) -> frozenset[str]:
    """The columns of work that say something of any of these rows."""
    return frozenset(
        column.title for column in COLUMNS if column.work and any(column.value(row) is not None for row in rows)
    )


def arrange(rows: Sequence[OperatorRow], query: str, order: str) -> list[OperatorRow]:
    """The rows whose name, as recorded or short, or shape holds every word of the query, sorted."""
    words = query.casefold().split()
    found = [
        row for row in rows if all(word in f"{row.name} {short(row.name)} {row.shape}".casefold() for word in words)
    ]
    # Modules stay below those that call them, until another order is asked for.
    if order == SORTS[0] and any(row.depth for row in rows):
        return found
    found = [msgspec.structs.replace(row, depth=0) if row.depth else row for row in found]
    if order == "name":
        return sorted(found, key=lambda row: (row.name.casefold(), row.shape))
    value = next(column.value for column in COLUMNS if column.title == order)
    return sorted(found, key=lambda row: -(value(row) or 0.0))
