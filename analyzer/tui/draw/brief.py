"""A finding in a few lines: what it saves, what to change, how to see that it worked."""

from __future__ import annotations

from textual.content import Content

from analyzer.analysis import Advice
from analyzer.page.findings.card import Card
from analyzer.tui.draw.finding import prose, saves
from analyzer.tui.draw.wrapped import wrapped
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line

GUTTER = 7
# After these a line goes on.
_OPEN = (",", "(", "[", "{", ":", "\\")


def brief(card: Card, width: int, height: int, glyphs: Glyphs) -> Content:
    """As much as `height` lines of `width` cells hold, the three answers before all."""
    if height < 1 or width < 1:
        return Content("")
    finding = card.finding
    lines, room = [_saving(card, width, glyphs)], height - 1
    inner = max(1, width - GUTTER)
    check = prose(line(finding.verify))
    if finding.fix and room:
        # The check may take the lines that the change leaves, and at least one.
        most = max(1, room - min(len(wrapped(check, inner)), max(1, room // 2)))
        drawn = _change(finding.fix[0], inner, most)
        lines += _under("Fix", drawn)
        room -= len(drawn)
    lines += _under("Check", _cut(check, inner, room)) if room > 0 else []
    return Content("\n").join(lines)


def _under(title: str, drawn: list[Content]) -> list[Content]:
    """The lines with a title before the first."""
    return [
        Content.styled((title if number == 0 else "").ljust(GUTTER), "bold $heading") + piece
        for number, piece in enumerate(drawn)
    ]


def _saving(card: Card, width: int, glyphs: Glyphs) -> Content:
    finding = card.finding
    dot = f" {glyphs.dot} "
    # What is cut where there is no room comes last.
    facts = ["accepted"] if finding.accepted is not None else []
    facts += ["lowered"] if finding.lowered_from is not None else []
    facts += [card.sure, card.seen]
    facts += [card.where] if card.where else []
    saving = saves(card)
    # The list shows what is likely: without it here two figures of one finding differ, and nothing says why.
    if saving.cell_length + len(dot + card.sure) > width:
        saving = saves(card, briefly=True)
    if saving.cell_length > width:
        # The amount and its share are the answer; that something is saved says the row above, too.
        saving = Content(" ").join(saving.split(" ")[1:])
    return Content.assemble(saving, (dot + dot.join(facts), "$quiet")).truncate(width, ellipsis=True)


def _change(fix: Advice, width: int, most: int) -> list[Content]:
    """What is added to the code, or the command, on one line; under it the sentence about it."""
    note = prose(line(fix.note)) if fix.note else None
    if fix.language == "text":
        return _cut(prose(" ".join([line(fix.code), line(fix.note or "")]).strip()), width, most)
    code = Content.styled(line(_code(fix)), "$code on $block-back").truncate(width, ellipsis=True)
    if note is None or most < 2:
        # A line of a program says less than a sentence, a diff's or a shell's says it all.
        return [code] if note is None or fix.language != "python" else _cut(note, width, most)
    return [code, *_cut(note, width, most - 1)]


def _code(fix: Advice) -> str:
    """The lines that a diff adds, or those it takes away; the first statement of a program, the first command of a shell."""
    lines = [text.partition("   #")[0].rstrip() for text in fix.code.splitlines()]
    if fix.language == "diff":
        added = [text[1:].strip() for text in lines if text.startswith("+")]
        lines = added if any(added) else [f"-{text[1:].strip()}" for text in lines if text.startswith("-")]
    elif fix.language == "python":
        lines = _statement(lines)
    else:
        lines = lines[:1]
    joined = ""
    for text in filter(None, (text.strip() for text in lines)):
        joined += ("" if not joined else " " if joined.endswith(_OPEN) else "; ") + text
    return joined


def _statement(lines: list[str]) -> list[str]:
    """The lines up to the one that closes what they open."""
    depth = 0
    for number, text in enumerate(lines, 1):
        depth += sum(text.count(char) for char in "([{") - sum(text.count(char) for char in ")]}")
        if text and depth <= 0:
            return lines[:number]
    return lines


def _cut(text: Content, width: int, most: int) -> list[Content]:
    pieces = wrapped(text, width)
    if len(pieces) <= most:
        return pieces
    shown = pieces[: most - 1]
    rest = Content(" ").join(pieces[most - 1 :])
    return [*shown, rest.truncate(width, ellipsis=True)]
