"""One finding: its row in the list and the parts of its detail."""

from __future__ import annotations

from textual.content import Content

from analyzer import units
from analyzer.analysis import Advice
from analyzer.page.findings import savings
from analyzer.page.findings.card import Card
from analyzer.page.findings.groups import LIMIT
from analyzer.tui.answer import wording
from analyzer.tui.draw import bars
from analyzer.tui.draw.code import beyond, code_block
from analyzer.tui.draw.evidence import evidence
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import clean, line
from traces.patterns import Pattern

_CODE = Pattern(r"`([^`]+)`")


# In a narrow list beside the share, which would make the finding graver; the detail says why.
LOWERED = "lowered"


def row(
    card: Card,
    width: int,
    height: int,
    glyphs: Glyphs,
    *,
    of_cards: bool,
    largest_ns: int,
    seen_on: str = "",
    ticked: bool = False,
) -> Content:
    """The list's row: one line, or two where there is room.

    Args:
        card: The finding.
        width: Cells.
        height: Lines.
        glyphs: How to draw.
        of_cards: Whether it is worth a card.
        largest_ns: What fills the bar.
        seen_on: Which ranks have the same.
        ticked: Whether it is assumed fixed.
    """
    finding = card.finding
    colour = f"$sev-{finding.severity}"
    saves = wording.saving(finding)
    right = Content.styled(
        f"{glyphs.minus if saves != 'note' else ''}{saves}", f"bold {colour}" if of_cards else "$quiet"
    )
    mark = Content.assemble(
        (glyphs.passed, "bold $good") if ticked else (glyphs.severity[finding.severity], colour), " "
    )
    weight = "$quiet" if not of_cards else "" if finding.severity == "info" else "bold"
    title = Content.styled(card.title, weight)
    if height < 2:
        code = Content.styled(f"{card.rule:<7}", "$quiet")
        if finding.accepted is not None:
            right = Content.assemble(("accepted  ", "$quiet"), right)
        return ends(mark + code + title, right, width)
    return Content("\n").join(
        [ends(mark + title, right, width), _second(card, width, glyphs, of_cards, largest_ns, seen_on)]
    )


def _second(card: Card, width: int, glyphs: Glyphs, of_cards: bool, largest_ns: int, seen_on: str) -> Content:
    finding = card.finding
    if finding.explained_by:
        note = f"explained by {', '.join(identity.partition('-')[0] for identity in finding.explained_by)}"
    elif finding.accepted is not None:
        note = "accepted"
    else:
        sure = "med." if finding.confidence == "medium" else finding.confidence
        about = f"{sure} conf." if of_cards else f"below {LIMIT}"
        about = about if card.amount else "no saving by itself"
        note = f"{line(finding.family).replace('_', ' ')} {glyphs.dot} {about}"
    note = f"{seen_on} {glyphs.dot} {note}" if seen_on else note
    length = max(4, min(16, width // 6))
    bar = Content("")
    if of_cards:
        bar = bars.bar(finding.saving.expected_ns, largest_ns, length, f"$sev-{finding.severity}", glyphs)
    left = Content.assemble((f"  {card.rule} ", "$quiet"), bar, " " * (length - bar.cell_length + 1), (note, "$quiet"))
    ratio = units.share(finding.saving.expected_ratio) if finding.saving.expected_ns else ""
    if ratio and of_cards and finding.saving.of_recorded:
        fits = left.cell_length + len(f"  {ratio}{savings.AS_RECORDED}") <= width
        ratio += savings.AS_RECORDED if fits else ""
    if ratio and of_cards and card.briefly:
        fits = left.cell_length + len(f"  {ratio}, {card.briefly}") <= width
        ratio += f", {card.briefly if fits else LOWERED}"
    return ends(left, Content.styled(ratio, "$quiet"), width)


def ends(left: Content, right: Content, width: int) -> Content:
    """Left and right text on one line of `width` cells; the left one gives way."""
    room = max(1, width - right.cell_length - 1)
    short = left.truncate(room, ellipsis=True)
    return Content.assemble(short, " " * (width - right.cell_length - short.cell_length), right).truncate(width)


def head(card: Card, glyphs: Glyphs) -> Content:
    """Title, saving, and how sure we are."""
    finding = card.finding
    colour = f"$sev-{finding.severity}"
    lines = [Content.assemble((glyphs.severity[finding.severity], colour), " ", (card.title, "bold"))]
    lines.append(saves(card))
    facts = [f"{finding.severity} severity" + (f", {card.lowered}" if card.lowered else ""), card.sure, card.seen]
    facts += ["accepted"] if finding.accepted is not None else []
    parts: list[Content | tuple[str, str]] = [(f" {glyphs.dot} ".join(facts), "$quiet")]
    if card.where:
        parts += [(f" {glyphs.dot} ", "$quiet"), (card.where, "underline $body")]
    lines.append(Content.assemble(*parts))
    return Content("\n").join(lines)


def saves(card: Card, *, briefly: bool = False) -> Content:
    """`Saves at most 142 ms a step (36 %)`, with what is likely unless `briefly`."""
    if not card.amount:
        return Content.styled("No saving of its own", "$quiet")
    return Content.assemble(
        (f"Saves {savings.word(card.finding.saving.kind)} ", "$quiet"),
        (card.amount, f"bold $sev-{card.finding.severity}"),
        (f" ({card.share}){'' if briefly else card.beside}", "$quiet"),
    )


def evidence_part(card: Card, width: int, glyphs: Glyphs) -> Content:
    """All evidence, under its heading; empty where a finding has none."""
    lines = evidence_lines(card, width, glyphs)
    return heading("Evidence") + "\n" + lines if card.finding.evidence else lines


def evidence_lines(card: Card, width: int, glyphs: Glyphs) -> Content:
    """All evidence, an empty line below each piece."""
    lines: list[Content] = []
    for item in card.finding.evidence:
        lines += [*evidence(item, width, glyphs, f"$sev-{card.finding.severity}"), Content("")]
    return Content("\n").join(lines)


def story(card: Card, width: int, glyphs: Glyphs, shift: int | None = None) -> Content:
    """Why, what may be wrong with it, what to change, how to check that it worked, what the figure rests on.

    Args:
        card: The finding.
        width: Cells.
        glyphs: How to draw.
        shift: Of code, the cells to the left of the pane; None to wrap it.
    """
    finding = card.finding
    lines = [heading("Accepted"), prose(finding.accepted), Content("")] if finding.accepted is not None else []
    lines += [heading("Why"), prose(finding.why)]
    lines += [Content.assemble(("! ", "bold $sev-medium"), prose(caveat)) for caveat in finding.caveats]
    lines += [Content(""), heading("Fix") + Content.styled(f"  {card.where}" if card.where else "", "$quiet")]
    for number, fix in enumerate(finding.fix):
        lines += [Content(""), Content.styled("or", "bold $heading")] if number else []
        lines += fix_lines(fix, width, shift)
    lines += [Content(""), heading("Check that it worked"), *_verify(finding.verify, width, shift)]
    lines += [Content(""), heading(f"How the {finding.saving.kind} was found"), prose(_basis(card), "$quiet")]
    lines += [Content(""), Content.assemble(("More: ", "$quiet"), (f"advisor rule {card.rule}", "$code"))]
    lines += [Content.styled(line(reference), "$quiet") for reference in finding.references]
    return Content("\n").join(lines)


def _basis(card: Card) -> str:
    text = card.basis or "No saving is claimed."
    text += f" {card.measured}" if card.measured else ""
    if card.shares:
        text += f" Shares time with {', '.join(card.shares)}: the savings do not add up."
    return text + (f" Explains {', '.join(card.explains)}." if card.explains else "")


def heading(text: str) -> Content:
    """A section's heading."""
    return Content.styled(text, "bold $heading")


def prose(text: str, style: str = "") -> Content:
    """Plain text, `code` in backticks coloured."""
    pieces: list[tuple[str, str]] = []
    for index, piece in enumerate(_CODE.split(clean(text))):
        pieces.append((piece, "$code on $block-back" if index % 2 else style))
    return Content.assemble(*pieces)


def fix_lines(fix: Advice, width: int, shift: int | None = None) -> list[Content]:
    """A change, with its note."""
    lines = [prose(fix.code)] if fix.language == "text" else code_block(fix.code, fix.language, width, shift)
    return [*lines, prose(fix.note, "$quiet")] if fix.note else lines


def code_beyond(card: Card, width: int) -> int:
    """By how many cells the longest line of its code is longer than the pane."""
    written = [(fix.code, fix.language) for fix in card.finding.fix if fix.language != "text"]
    written += [(card.finding.verify, "shell")] if _is_command(card.finding.verify) else []
    return max((beyond(code, language, width) for code, language in written), default=0)


def _verify(text: str, width: int, shift: int | None) -> list[Content]:
    return code_block(text, "shell", width, shift) if _is_command(text) else [prose(text)]


def _is_command(text: str) -> bool:
    return text.startswith("advisor ") and "\n" not in text
