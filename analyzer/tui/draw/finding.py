"""One finding: its row in the list and the parts of its detail."""

from __future__ import annotations

import re

from rich.cells import cell_len
from textual.content import Content

from analyzer import units
from analyzer.analysis import Advice, FindingDocument
from analyzer.report import savings
from analyzer.tui import wording
from analyzer.tui.draw import bars
from analyzer.tui.draw.evidence import evidence
from analyzer.tui.glyphs import Glyphs
from analyzer.tui.plain import clean, line

_ALIGNED = re.compile(r"(?<=\S) {3,}(?=#)")
_CODE = re.compile(r"`([^`]+)`")
_DIFF_STYLES = {"+": "$good on $block-back", "-": "$bad on $block-back", "@": "$quiet on $block-back"}


# In a narrow list beside the share, which would make the finding graver; the detail says why.
LOWERED = "lowered"


def row(
    finding: FindingDocument, width: int, height: int, glyphs: Glyphs, *, card: bool, largest_ns: int, seen_on: str = ""
) -> Content:
    """The list's row: one line, or two where there is room; `seen_on` says which ranks have the same."""
    colour = f"$sev-{finding.severity}"
    saves = wording.saving(finding)
    right = Content.styled(f"{glyphs.minus if saves != 'note' else ''}{saves}", f"bold {colour}" if card else "$quiet")
    mark = Content.assemble((glyphs.severity[finding.severity], colour), " ")
    weight = "$quiet" if not card else "" if finding.severity == "info" else "bold"
    title = Content.styled(line(finding.title), weight)
    if height < 2:
        code = Content.styled(f"{finding.rule:<7}", "$quiet")
        if finding.accepted is not None:
            right = Content.assemble(("accepted  ", "$quiet"), right)
        return ends(mark + code + title, right, width)
    return Content("\n").join(
        [ends(mark + title, right, width), _second(finding, width, glyphs, card, largest_ns, seen_on)]
    )


def _second(finding: FindingDocument, width: int, glyphs: Glyphs, card: bool, largest_ns: int, seen_on: str) -> Content:
    if finding.explained_by:
        note = f"explained by {', '.join(identity.partition('-')[0] for identity in finding.explained_by)}"
    elif finding.accepted is not None:
        note = "accepted"
    else:
        sure = "med." if finding.confidence == "medium" else finding.confidence
        about = f"{sure} conf." if card else "below 2 %"
        about = about if finding.saving.stated_ns else "no saving by itself"
        note = f"{line(finding.family).replace('_', ' ')} {glyphs.dot} {about}"
    note = f"{seen_on} {glyphs.dot} {note}" if seen_on else note
    length = max(4, min(16, width // 6))
    bar = Content("")
    if card:
        bar = bars.bar(finding.saving.expected_ns, largest_ns, length, f"$sev-{finding.severity}", glyphs)
    left = Content.assemble(
        (f"  {finding.rule} ", "$quiet"), bar, " " * (length - bar.cell_length + 1), (note, "$quiet")
    )
    ratio = units.share(finding.saving.expected_ratio) if finding.saving.expected_ns else ""
    if ratio and card and finding.lowered_from is not None:
        why = wording.lowered(finding, briefly=True)
        fits = left.cell_length + len(f"  {ratio}, {why}") <= width
        ratio += f", {why if fits else LOWERED}"
    return ends(left, Content.styled(ratio, "$quiet"), width)


def ends(left: Content, right: Content, width: int) -> Content:
    """Left and right text on one line of `width` cells; the left one gives way."""
    room = max(1, width - right.cell_length - 1)
    short = left.truncate(room, ellipsis=True)
    return Content.assemble(short, " " * (width - right.cell_length - short.cell_length), right).truncate(width)


def head(finding: FindingDocument, glyphs: Glyphs) -> Content:
    """Title, saving, and how sure we are."""
    colour = f"$sev-{finding.severity}"
    saving = finding.saving
    lines = [Content.assemble((glyphs.severity[finding.severity], colour), " ", (line(finding.title), "bold"))]
    if saving.stated_ns:
        amount = f"{units.duration(saving.stated_ns)} {savings.each(finding)}"
        share = f" ({units.share(saving.stated_ratio)}){savings.beside(saving)}"
        lines.append(
            Content.assemble(
                (f"Saves {savings.limit(saving.kind)} ", "$quiet"), (amount, f"bold {colour}"), (share, "$quiet")
            )
        )
    else:
        lines.append(Content.styled("Saves nothing by itself", "$quiet"))
    lowered = wording.lowered(finding)
    facts = [f"{finding.severity} impact" + (f", {lowered}" if lowered else ""), f"{finding.confidence} confidence"]
    facts.append(f"{finding.steps.seen}/{finding.steps.of} {finding.steps.noun}s")
    facts += ["accepted"] if finding.accepted is not None else []
    where = wording.place(finding)
    parts: list[Content | tuple[str, str]] = [(f" {glyphs.dot} ".join(facts), "$quiet")]
    if where:
        parts += [(f" {glyphs.dot} ", "$quiet"), (where, "underline $body")]
    lines.append(Content.assemble(*parts))
    return Content("\n").join(lines)


def evidence_part(finding: FindingDocument, width: int, glyphs: Glyphs) -> Content:
    """All evidence, under its heading; empty where a finding has none."""
    lines = evidence_lines(finding, width, glyphs)
    return heading("Evidence") + "\n" + lines if finding.evidence else lines


def evidence_lines(finding: FindingDocument, width: int, glyphs: Glyphs) -> Content:
    """All evidence, an empty line below each piece."""
    lines: list[Content] = []
    for item in finding.evidence:
        lines += [*evidence(item, width, glyphs, f"$sev-{finding.severity}"), Content("")]
    return Content("\n").join(lines)


def story(finding: FindingDocument, width: int, glyphs: Glyphs) -> Content:
    """Why, what may be wrong with it, what to change, how to check that it worked, what the figure rests on."""
    lines = [heading("Accepted"), prose(finding.accepted), Content("")] if finding.accepted is not None else []
    lines += [heading("Why"), prose(finding.why)]
    lines += [Content.assemble(("! ", "bold $sev-medium"), prose(caveat)) for caveat in finding.caveats]
    where = wording.place(finding)
    lines += [Content(""), heading("Fix") + Content.styled(f"  {where}" if where else "", "$quiet")]
    for number, fix in enumerate(finding.fix):
        lines += [Content(""), Content.styled("or", "bold $heading")] if number else []
        lines += _fix(fix, width)
    lines += [Content(""), heading("Check that it worked"), *_verify(finding.verify, width)]
    lines += [Content(""), heading(f"How the {finding.saving.kind} was found"), prose(_basis(finding), "$quiet")]
    lines += [Content(""), Content.assemble(("More: ", "$quiet"), (f"advisor rule {finding.rule}", "$code"))]
    lines += [Content.styled(line(reference), "$quiet") for reference in finding.references]
    return Content("\n").join(lines)


def _basis(finding: FindingDocument) -> str:
    basis = finding.saving.basis.strip().rstrip(".")
    text = f"{savings.name(finding.saving.kind)}: {basis}." if basis else "No saving is claimed."
    shared = finding.saving.overlaps_with
    if shared:
        names = ", ".join(dict.fromkeys(identity.partition("-")[0] for identity in shared))
        text += f" It shares its time with {names}: the savings do not add up."
    return text


def heading(text: str) -> Content:
    """A section's heading."""
    return Content.styled(text, "bold $heading")


def prose(text: str, style: str = "") -> Content:
    """Plain text, `code` in backticks coloured."""
    pieces: list[tuple[str, str]] = []
    for index, piece in enumerate(_CODE.split(clean(text))):
        pieces.append((piece, "$code on $block-back" if index % 2 else style))
    return Content.assemble(*pieces)


def _fix(fix: Advice, width: int) -> list[Content]:
    lines = [prose(fix.code)] if fix.language == "text" else code_block(fix.code, fix.language, width)
    return [*lines, prose(fix.note, "$quiet")] if fix.note else lines


def _verify(text: str, width: int) -> list[Content]:
    if text.startswith("advisor ") and "\n" not in text:
        return code_block(text, "shell", width)
    return [prose(text)]


def code_block(code: str, language: str, width: int) -> list[Content]:
    """Code on its own background, wrapped at the width so that nothing is lost; diffs coloured."""
    prefix = "$ " if language == "shell" else ""
    lines: list[Content] = []
    for number, text in enumerate(clean(code).splitlines() or [""]):
        style = _DIFF_STYLES.get(text[:1], "$body on $block-back") if language == "diff" else "$body on $block-back"
        if cell_len(text) > width - 2 - len(prefix):
            # Comments that are aligned with those of other lines would be pushed onto a line of their own.
            text = _ALIGNED.sub("  ", text)
        whole = Content.styled((prefix if number == 0 else " " * len(prefix)) + text, style)
        for piece in whole.wrap(max(4, width - 2)):
            free = max(0, width - 1 - piece.cell_length)
            lines.append(Content.assemble((" ", style), piece, (" " * free, style)))
    return lines
