"""What became of every check: this is what makes an empty list of findings believable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analyzer.analysis import Analysis, CheckDocument, StateName
from analyzer.page.words import safe
from analyzer.page.words.vocabulary import STATES, count_states, states_line
from analyzer.report.style import Role, Style

# What fired stands above.
_LOOKS: dict[StateName, tuple[str, Role]] = {
    "crashed": ("!", "bad"),
    "cannot_tell": ("?", "medium"),
    "clear": ("✓", "good"),
    "suppressed": ("-", "dim"),
    "not_applicable": ("-", "dim"),
    "disabled": ("-", "dim"),
}


def lines(analysis: Analysis, style: Style) -> Iterator[str]:
    """Counts, then the checks by state: passed ones with what was measured, the others with the reason they share."""
    if not analysis.checks:
        return
    counts = count_states(analysis.checks)
    first, *others = safe.wrap(f"Checks: {states_line(analysis.checks)}; each by what it looks for", style.width)
    yield style.paint("Checks", "title") + first.removeprefix("Checks")
    yield from others
    if len(analysis.checks) > counts["fired"]:
        yield ""
    for state, (mark, role) in _LOOKS.items():
        group = [check for check in analysis.checks if check.state == state]
        if not group:
            continue
        same_reason = [[check] for check in group] if state == "clear" else _by_reason(group)
        for checks in same_reason:
            yield from _line(mark, checks, style, role)
    if counts["crashed"]:
        bug = "A check that crashed is a bug in advisor, or in the package named: please report its line above. The rest stands."
        yield from (f"  {text}" for text in safe.wrap(bug, style.width - 2))


def _by_reason(checks: Sequence[CheckDocument]) -> list[list[CheckDocument]]:
    groups: dict[str, list[CheckDocument]] = {}
    for check in checks:
        groups.setdefault(check.reason, []).append(check)
    return list(groups.values())


def _line(mark: str, checks: Sequence[CheckDocument], style: Style, role: Role) -> Iterator[str]:
    """`✓ OP003 Gradients are zeroed by kernels  zero_grad takes 0.3 % of the step`; codes last if many."""
    first = checks[0]
    words = "" if first.state == "clear" else f"{STATES[first.state]}: "
    reason = safe.clean(first.reason) or "no reason given"
    if len(checks) > 1:
        codes = " ".join(check.rule for check in checks)
        for number, text in enumerate(safe.wrap(f"{words}{reason}: {codes}", style.width - 4)):
            yield f"  {style.paint(mark if number == 0 else ' ', role)} {text}"
        return
    head = f"{first.rule} {safe.name(first.title)}"
    if safe.columns(f"  {mark} {head}  {words}{reason}") <= style.width:
        yield f"  {style.paint(mark, role)} {head}  {style.paint(words + reason, 'dim')}"
        return
    yield f"  {style.paint(mark, role)} {head}"
    yield from (f"      {style.paint(text, 'dim')}" for text in safe.wrap(words + reason, style.width - 6))
