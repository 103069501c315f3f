"""A finding in a few lines: what it saves, what to change, how to see that it worked."""

from __future__ import annotations

from textual.content import Content

from analyzer import units
from analyzer.analysis import FindingDocument, FixDocument
from analyzer.tui import wording
from analyzer.tui.draw.finding import prose
from analyzer.tui.glyphs import Glyphs
from analyzer.tui.plain import line

GUTTER = 7


def brief(finding: FindingDocument, width: int, height: int, glyphs: Glyphs) -> Content:
    """As much as `height` lines of `width` cells hold, the three answers before all."""
    if height < 1 or width < 1:
        return Content("")
    texts = [("Fix", _change(finding.fix[0]))] if finding.fix else []
    texts.append(("Check", prose(line(finding.verify))))
    lines = [_saving(finding, width, glyphs)]
    room = height - 1
    for place, (title, text) in enumerate(texts):
        # Each may take a line for every one the others do not need.
        most = max(1, room - (len(texts) - 1 - place))
        if room <= 0:
            break
        drawn = _cut(text, max(1, width - GUTTER), min(most, max(1, room - room // 2)) if place == 0 else most)
        for number, piece in enumerate(drawn):
            lines.append(Content.styled((title if number == 0 else "").ljust(GUTTER), "bold $heading") + piece)
        room -= len(drawn)
    return Content("\n").join(lines)


def _saving(finding: FindingDocument, width: int, glyphs: Glyphs) -> Content:
    ns = finding.saving.ns_per_step_max
    dot = f" {glyphs.dot} "
    facts = [f"{finding.confidence} confidence", f"{finding.steps.seen}/{finding.steps.of} steps"]
    facts += ["accepted"] if finding.accepted is not None else []
    where = wording.place(finding)
    facts += [where] if where else []
    colour = f"bold $sev-{finding.severity}"
    saves: list[Content | str | tuple[str, str]] = [("Saves nothing by itself", "$quiet")]
    if ns:
        share = f" ({units.share(finding.saving.ratio_max)})"
        saves = [("Saves up to ", "$quiet"), (f"{units.duration(ns)} a step", colour), (share, "$quiet")]
    return Content.assemble(*saves, (dot + dot.join(facts), "$quiet")).truncate(width, ellipsis=True)


def _change(fix: FixDocument) -> Content:
    """What is added to the code, or the command; else the sentence about it."""
    note = line(fix.note) if fix.note else ""
    if fix.language == "text":
        return prose(" ".join([line(fix.code), note]).strip())
    added = [text[1:].strip() for text in fix.code.splitlines() if text.startswith("+")]
    code = " ".join(added) if fix.language == "diff" else fix.code.partition("\n")[0].partition("   #")[0]
    if fix.language == "python" and note:
        return prose(note)
    return Content.assemble((line(code), "$code on $block-back"), "  " if note else "", prose(note, "$quiet"))


def _cut(text: Content, width: int, most: int) -> list[Content]:
    pieces = list(text.wrap(width))
    if len(pieces) <= most:
        return pieces
    shown = pieces[: most - 1]
    rest = Content(" ").join(pieces[most - 1 :])
    return [*shown, rest.truncate(width, ellipsis=True)]
