"""Findings as commands of a GitHub Actions log: each becomes a note at its line of the pull request.

The runner shows ten warnings and ten notices of a step, so the best ten findings come first and one notice counts the rest. The
report itself goes to the page of the job (`GITHUB_STEP_SUMMARY`), which the command line sees to.
"""

from __future__ import annotations

from analyzer.analysis import Analysis, FindingDocument
from analyzer.page import changes
from analyzer.page import headline as wording
from analyzer.page.findings import savings
from analyzer.page.findings.card import lowered
from analyzer.page.findings.places import own_file, own_line
from analyzer.page.words import safe
from analyzer.units import count, share

_MOST = 10
_LEVELS = {"high": "warning", "medium": "warning", "low": "notice", "info": "notice"}


def render(analysis: Analysis) -> str:
    """One command a line, ending in a newline."""
    if analysis.trust.verdict == "unusable":
        reasons = " ".join(reason.message for reason in analysis.trust.reasons[:3])
        return command("warning", {"title": "advisor"}, f"This trace cannot be the base of advice. {reasons}")
    cards = analysis.cards
    shown = [_finding(one) for one in cards[:_MOST]]
    head = f"{wording.verdict(analysis)} {' '.join(wording.outlook(analysis))}"
    if len(cards) > _MOST:
        head += f" {count(len(cards) - _MOST, 'more finding')} in the summary of this job."
    return "".join([*shown, command("notice", {"title": wording.title(analysis)}, head), _since(analysis)])


def _since(analysis: Analysis) -> str:
    if analysis.since is None:
        return ""
    level = "warning" if analysis.since.kind == "slower" else "notice"
    figures = f" {changes.figures(analysis.since)}." if analysis.since.kind is not None else ""
    text = f"{changes.answer(analysis.since)}{figures} {changes.summary(analysis.since)}"
    return command(level, {"title": f"advisor: {changes.heading(analysis.since)}"}, text)


def _finding(one: FindingDocument) -> str:
    properties: dict[str, str] = {}
    file, line = own_file(one.location), own_line(one.location)
    if file is not None:
        # Of a library's file the runner would show a note where nobody can change anything.
        properties["file"] = safe.name(file, 300)
        if line is not None:
            properties["line"] = str(line)
    properties["title"] = f"advisor {safe.name(one.rule, 12)}: {safe.name(one.title, 80)}"
    why_lower = f"; {one.severity}, {lowered(one)}" if one.lowered_from is not None else ""
    gain = (
        f"{savings.worth(one)} ({share(one.saving.stated_ratio)}){savings.beside(one.saving)}"
        if one.saving.stated_ns > 0
        else savings.worth(one)
    )
    return command(
        _LEVELS[one.severity],
        properties,
        f"{one.why[:1_200]} Fixing it {gain}; {one.confidence} confidence{why_lower}.",
    )


def command(name: str, properties: dict[str, str], message: str) -> str:
    """`::warning file=train.py,line=88,title=...::message`, with what would end a part of it escaped as the runner expects."""
    named = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {named}::{_data(safe.clean(message))}\n"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(safe.clean(text)).replace(":", "%3A").replace(",", "%2C")
