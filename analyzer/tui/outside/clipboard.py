"""Copying: a terminal may silently ignore the clipboard sequence, so the text is always written to a file as well."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from analyzer.analysis import FindingDocument
from analyzer.page.findings import savings
from analyzer.page.findings.card import Card
from analyzer.tui.look.plain import clean, line


def folder() -> Path:
    """Where copies are written: the user's cache, or a private temporary folder where that cannot be written."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "trace-advisor"
    try:
        base.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="trace-advisor-"))
    return base


def write_copy(text: str, name: str) -> Path:
    """Write the text and say where."""
    path = folder() / name
    path.write_text(text, encoding="utf-8")
    return path


def fix_text(finding: FindingDocument) -> str:
    """The first change, as it would be pasted."""
    return finding.fix[0].code.rstrip("\n") + "\n" if finding.fix else ""


def finding_markdown(card: Card) -> str:
    """One finding as Markdown. Names from the trace stay inside code spans."""
    finding = card.finding
    severity = f"{finding.severity} severity" + (f", {card.lowered}" if card.lowered else "")
    lines = [f"### {card.rule} {_escape(card.title)}", ""]
    saves = "No saving of its own"
    if card.amount:
        saves = f"Saves {savings.word(finding.saving.kind)} **{card.amount}** ({card.share}){card.beside}"
    where = f", {_span(card.where)}" if card.where else ""
    lines += [f"{saves}, {severity}, {card.sure}, {card.seen}{where}.", "", clean(finding.why), ""]
    lines += [f"- {clean(caveat)}" for caveat in finding.caveats] + ([""] if finding.caveats else [])
    for fix in finding.fix:
        if fix.language == "text":
            lines += [clean(fix.code), ""]
        else:
            fence = _fence(fix.code)
            lines += [f"{fence}{fix.language}", clean(fix.code).rstrip("\n"), fence, ""]
        lines += [clean(fix.note), ""] if fix.note else []
    lines += [f"Check: {clean(finding.verify)}", "", clean(" ".join(filter(None, (card.basis, card.measured))))]
    return "\n".join(lines).rstrip() + "\n"


def _fence(code: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return fence


def _span(text: str) -> str:
    ticks = "`"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{text}{ticks}"


def _escape(text: str) -> str:
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|~" else char for char in line(text))
