"""What was checked, how far the trace can be believed and what it was measured on, folded away at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Analysis, CheckDocument
from analyzer.report import wording
from analyzer.report.markdown.detail import Detail
from analyzer.report.markdown.escape import cell, code, prose
from analyzer.report.markdown.evidence import table
from analyzer.units import count

_MOST_REASONS = 12
_MOST_REPAIRS = 12


def checks(analysis: Analysis, detail: Detail) -> str:
    """Passed, could not run, notes."""
    groups = {state: [check for check in analysis.checks if check.state == state] for state in _STATES}
    shown = ", ".join(f"{count(len(found), *_STATES[state])}" for state, found in groups.items() if found)
    if not shown:
        return ""
    body = [_group(state, found, detail) for state, found in groups.items() if found]
    return _details(shown, body)


_STATES: dict[str, tuple[str, str]] = {
    "crashed": ("check crashed", "checks crashed"),
    "cannot_tell": ("could not run", "could not run"),
    "clear": ("check passed", "checks passed"),
    "suppressed": ("suppressed", "suppressed"),
    "not_applicable": ("does not apply", "do not apply"),
    "disabled": ("not selected", "not selected"),
}
_HEADS = {
    "crashed": "Crashed: a bug in advisor, please report it",
    "cannot_tell": "Could not run",
    "clear": "Passed: looked for and not found",
    "suppressed": "Suppressed",
    "not_applicable": "Does not apply",
    "disabled": "Not selected",
}


def _group(state: str, found: Sequence[CheckDocument], detail: Detail) -> str:
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
    lines += [_bullet(f"mended {wording.mended(repair)}") for repair in repairs[:_MOST_REPAIRS]]
    lines += [_bullet(total) for total in wording.set_aside(analysis)]
    more = max(len(reasons) - _MOST_REASONS, 0) + max(len(repairs) - _MOST_REPAIRS, 0)
    lines += [f"- … {more} more"] if more else []
    return _details(", ".join(heads), ["\n".join(lines)])


def _bullet(text: str) -> str:
    return f"- {prose(text, 400)}"


def environment(analysis: Analysis, redacted: bool) -> str:
    """What was measured, on what, how."""
    rows = [[label, cell(prose(text, 400))] for label, text in wording.environment(analysis)]
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
    trace = wording.EXAMPLE_TRACE
    if detail.left_out:
        yield (
            f"Left out so that this fits into a comment: {detail.left_out}. In full: "
            f"`advisor explain {trace} -o report.html`"
        )
    version = code(analysis.tool.version, 24)
    yield f"<sub>advisor {version} · the same with a timeline: `advisor explain {trace} -o report.html`</sub>"
