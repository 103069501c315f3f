"""One operator: figures, who calls it, what it calls, its longest calls."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from analyzer import units
from analyzer.page.words.of_steps import Noun, label
from analyzer.tui.draw.finding import heading
from analyzer.tui.draw.table import table
from analyzer.tui.look.plain import line
from analyzer.tui.screens.text_page import TextPage
from analyzer.views.operator_rows import Neighbour, OperatorDetail, Work

# Of the box (styles/operators.tcss).
BOX = 96


class OperatorPage(TextPage):
    """A scrolling text; keys as on every page."""

    def __init__(self, detail: OperatorDetail, noun: Noun = "step") -> None:
        super().__init__(Content(line(detail.row.name, 60)), BOX, "-roomy")
        self._detail = detail
        self._noun = noun

    def text(self, width: int) -> Content:
        """The text."""
        return page(self._detail, width, self._noun)


def page(detail: OperatorDetail, width: int, noun: Noun = "step") -> Content:
    """The whole text at a width."""
    row = detail.row
    lines = [Content.styled(line(row.name, 2_000), "bold")]
    lines += [Content.styled(line(row.shape, 400), "$quiet")] if row.shape else []
    figures = [label(f"{row.calls:,.4g} calls a step", noun)]
    if row.host_ns is not None and row.self_host_ns is not None:
        figures.append(f"CPU {units.duration(row.host_ns)} ({units.duration(row.self_host_ns)} its own)")
    if row.device_ns:
        figures.append(f"GPU {units.duration(row.device_ns)} ({units.duration(row.self_device_ns)} its own)")
    lines.append(Content(", ".join(figures)))
    if row.tensor_core_ratio is not None:
        lines.append(Content(f"{units.share(row.tensor_core_ratio)} of its matrix work on tensor cores"))
    if row.work is not None:
        lines += _work(row.work, noun)
    kernel = row.host_ns is None
    lines += _neighbours("Launched by" if kernel else "Called by", detail.callers, width, "nothing recorded around it")
    if not kernel:
        lines += _neighbours("Calls", detail.callees, width, "no other op")
    lines += [Content(""), heading("Longest calls")]
    rows = [
        (str(one.step), units.duration(one.start_ns), units.duration(one.dur_ns), line(one.detail, 300))
        for one in detail.examples
    ]
    lines += table((noun, "starts", "length", "stream" if kernel else "shapes"), rows, (3,), width)
    return Content("\n").join(lines)


def _work(work: Work, noun: Noun) -> list[Content]:
    """What it achieves, and how far that is from the roofline, in a line or two."""
    achieved = [units.rate(work.flops_per_s, "FLOP")] if work.flops_per_s is not None else []
    achieved += [f"{units.rate(work.bytes_per_s, 'B')} of inputs and outputs"] if work.bytes_per_s is not None else []
    lines = [Content(", ".join(achieved))] if achieved else []
    if work.peak_ratio is not None and work.above_ns is not None:
        limit = f"{units.share(work.peak_ratio)} of its peak, which {work.side} sets"
        above = label(f"{units.duration(work.above_ns)} a step above its roofline", noun)
        lines.append(Content(f"{limit}; {above}"))
    elif work.reason:
        lines.append(Content.styled(f"No share of a peak: {line(work.reason, 200)}", "$quiet"))
    return lines


def _neighbours(title: str, found: Sequence[Neighbour], width: int, nothing: str) -> list[Content]:
    lines = [Content(""), heading(title)]
    if not found:
        return [*lines, Content.styled(nothing, "$quiet")]
    # Nothing of the GPU where nothing of it ran.
    device = any(one.device_ns for one in found)
    rows = [
        (
            line(one.name, 300),
            f"{one.calls:,.4g}",
            units.duration(one.host_ns),
            *([units.duration(one.device_ns)] if device else []),
        )
        for one in found
    ]
    return lines + table(("name", "calls", "CPU", *(["GPU"] if device else [])), rows, (0,), width)
