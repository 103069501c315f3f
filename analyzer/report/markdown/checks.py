"""What was checked, how far the trace can be believed and what it was measured on, folded away at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Analysis, CheckDocument, StateName
from analyzer.page.recording import EXAMPLE_TRACE, mended, set_aside
from analyzer.page.recording import environment as recorded
from analyzer.page.words.vocabulary import states_line
from analyzer.report.markdown.detail import Detail
from analyzer.report.markdown.escape import cell, code, prose
from analyzer.report.markdown.evidence_tables import table
from analyzer.units import count

_MOST_REASONS = 12
_MOST_REPAIRS = 12


def checks(analysis: Analysis, detail: Detail) -> str:
    """By what became of them."""
    shown = states_line(analysis.checks)
    if not shown:
        return ""
    groups = {state: [check for check in analysis.checks if check.state == state] for state in _HEADS}
    return _details(f"Checks: {shown}", [_group(state, found, detail) for state, found in groups.items() if found])


# What fired stands above.
_HEADS: dict[StateName, str] = {
    "crashed": "Crashed: a bug in advisor, or in the package that is named; please report it there",
    "cannot_tell": "Cannot tell",
    "clear": "Passed: looked for and not found",
    "suppressed": "Suppressed",
    "not_applicable": "Not applicable",
    "disabled": "Disabled",
}


def _group(state: StateName, found: Sequence[CheckDocument], detail: Detail) -> str:
    if state in ("suppressed", "not_applicable", "disabled"):
        codes = ", ".join(code(check.rule, 12) for check in found[: detail.checks])
        more = f" and {len(found) - detail.checks} more" if len(found) > detail.checks else ""
        return f"**{_HEADS[state]}**: {codes}{more}"
    by_reason: dict[str, list[CheckDocument]] = {}
    for check in found[: detail.checks]:
        by_reason.setdefault(check.reason if state == "cannot_tell" else check.rule, []).append(check)
    lines = [_line(one, state) for one in by_reason.values()]
    if len(found) > detail.checks:
        lines.append(f"- … {len(found) - detail.checks} more")
    return "\n".join([f"**{_HEADS[state]}**", "", *lines])


def _line(same: Sequence[CheckDocument], state: str) -> str:
    codes = ", ".join(code(check.rule, 12) for check in same)
    title = f" {prose(same[0].title, 80)}" if state != "cannot_tell" else ""
    reason = prose(same[0].reason, 240)
    return f"- {codes}{title}" + (f": {reason}" if reason else "")


def trust(analysis: Analysis) -> str:
    """Why the figures may be wrong and what was mended; nothing where all is well."""
    reasons, repairs = analysis.trust.reasons, analysis.repairs
    if not reasons and not repairs:
        return ""
    heads = [count(len(reasons), "note") + " on trust"] if reasons else []
    heads += [count(len(repairs), "kind of repair", "kinds of repair")] if repairs else []
    lines = [_bullet(f"{reason.code} {reason.message}" if reason.code else reason.message) for reason in
             reasons[:_MOST_REASONS]]  # fmt: skip
    lines += [_bullet(f"while reading: {mended(repair)}") for repair in repairs[:_MOST_REPAIRS]]
    lines += [_bullet(total) for total in set_aside(analysis)]
    more = max(len(reasons) - _MOST_REASONS, 0) + max(len(repairs) - _MOST_REPAIRS, 0)
    lines += [f"- … {more} more"] if more else []
    return _details(", ".join(heads), ["\n".join(lines)])


def _bullet(text: str) -> str:
    return f"- {prose(text, 400)}"


def environment(analysis: Analysis, redacted: bool) -> str:
    """What was measured, on what, how."""
    rows = [[label, cell(prose(text, 400))] for label, text in recorded(analysis)]
    note = (
        "Paths are shown relative to the project; names of machines and users, other paths and anything that looks like a "
        "secret are left out (`--no-redact` keeps them)."
    )
    return _details(
        "Environment and how this was measured", [table(["", ""], "ll", rows), *([note] if redacted else [])]
    )


def _details(summary: str, body: Sequence[str]) -> str:
    return "\n\n".join([f"<details><summary>{summary}</summary>", *body, "</details>"])


def footer(analysis: Analysis, detail: Detail) -> Iterator[str]:
    """What was left out, and who wrote this."""
    trace = EXAMPLE_TRACE
    if detail.left_out:
        yield (
            f"Left out so that this fits into a comment: {detail.left_out}. In full: "
            f"`advisor explain {trace} -o report.html`"
        )
    version = code(analysis.tool.version, 24)
    yield f"<sub>advisor {version} · the same with a timeline: `advisor explain {trace} -o report.html`</sub>"
