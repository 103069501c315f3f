"""What is known before the rules have run, in a few lines: the step, where its time goes, and that advice is still to come."""

from __future__ import annotations

from textual.content import Content

from analyzer import units
from analyzer.analysis.first_look import FirstLook
from analyzer.page.step.waterfall import largest_first, parts_of
from analyzer.tui.draw import bars
from analyzer.tui.look.glyphs import Glyphs

# In the title, which has room on the smallest terminal: nobody shall take it for the answer.
TITLE, PENDING = "First look", "not judged yet"
_TO_COME = "Whether the trace can be believed, and what to change, follow when all rules have run."


def first_look(look: FirstLook, width: int, glyphs: Glyphs) -> Content:
    """The lines, for so many cells."""
    parts = parts_of(look.waterfall, look.used_steps, on_device=look.gpu_busy_ratio is not None)
    pieces = [bars.Part(part.cause, part.ns, (f"{part.label} {part.time}", part.label)) for part in parts]
    lines = [_headline(look), bars.stacked(pieces, width, glyphs), Content("")]
    for part in largest_first(parts):
        figures = f"{part.time:>9}  {units.share(part.ratio):>7}"
        named = Content.assemble(bars.swatch(part.cause, glyphs), f" {part.label:<14}", (figures, "bold"))
        explained = Content.assemble(named, (f"  {part.meaning}", "$quiet"))
        lines.append(explained if explained.cell_length <= width else named)
    return Content("\n").join([*lines, Content(""), Content.styled(_TO_COME, "$quiet")])


def _headline(look: FirstLook) -> Content:
    """`412 ms a step, mean of 6 steps; the GPU works 61 % of it`."""
    rank = f"Rank {look.rank}: " if look.rank is not None else ""
    mean = units.duration(look.step_ns.mean)
    if look.noun == "recording":
        length: tuple[Content | str | tuple[str, str], ...] = ((mean, "bold"), " recorded, no steps are told apart")
    else:
        many = units.count(look.used_steps, look.noun)
        length = (
            (f"{mean} a {look.noun}", "bold"),
            f", {f'mean of {many}' if look.used_steps > 1 else 'the only one'}",
        )
    busy = look.gpu_busy_ratio
    works = f"; the GPU works {units.share(busy)} of it" if busy is not None else ""
    return Content.assemble(rank, *length, works, ".")
