"""What changed since a baseline, in words and in groups."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from analyzer import units
from analyzer.analysis import FindingDocument
from analyzer.page.changes import came_true, promised
from analyzer.page.words.of_steps import label
from analyzer.tui.answer.opened import Since
from analyzer.tui.look.glyphs import Glyphs
from analyzer.tui.look.plain import line

# So many are named above the list; the cursor has nothing to do there.
MOST = 6
LONGEST_NAME = 24
# What stands at the left and at the right of one.
Line = tuple[Content, Content]
Group = tuple[str, list[FindingDocument]]


def grouped(findings: Iterable[FindingDocument], since: Since | None) -> list[Group]:
    """The findings under their headings; one group without a heading where there is no baseline."""
    every = list(findings)
    if since is None or not every:
        return [("", every)]
    new = {rule.rule for rule in since.comparison.rules if rule.state == "new"}
    groups = [
        (f"New since {_name(since)}", [one for one in every if one.rule in new]),
        ("Still there", [one for one in every if one.rule not in new]),
    ]
    return [group for group in groups if group[1]]


def _name(since: Since) -> str:
    return line(since.baseline, LONGEST_NAME)


def _value(value: object) -> str:
    return line(str(value), LONGEST_NAME)


def fixed(since: Since, glyphs: Glyphs) -> list[Line]:
    """A heading and a line for each finding of the baseline that is gone."""
    return _listed(since, "fixed", f"Fixed since {_name(since)}", (f"{glyphs.passed} ", "$good"))


def unchecked(since: Since, glyphs: Glyphs) -> list[Line]:
    """The same for those nobody could check again."""
    return _listed(since, "not checked", "Could not be checked again", (f"{glyphs.unknown} ", "$quiet"))


def _listed(since: Since, state: str, heading: str, mark: tuple[str, str]) -> list[Line]:
    comparison = since.comparison
    rules = [rule for rule in comparison.rules if rule.state == state]
    lines = [(Content.styled(heading, "bold $heading"), Content(""))] if rules else []
    for rule in rules[:MOST]:
        was = f"was {promised(rule.kind, rule.predicted_ns)}" if rule.predicted_ns else ""
        outcome = came_true(rule, comparison.change.kind if comparison.change is not None else None)
        left = Content.assemble(
            mark,
            (f"{line(rule.rule, LONGEST_NAME)}  ", "$quiet"),
            line(rule.title),
            (f"  {outcome}" if outcome else "", "$quiet"),
        )
        lines.append((left, Content.styled(was, "$quiet")))
    if len(rules) > MOST:
        lines.append((Content.styled(f"  and {len(rules) - MOST} more", "$quiet"), Content("")))
    return lines


def headline(since: Since, glyphs: Glyphs) -> Content:
    """The mean step before and after."""
    comparison = since.comparison
    kind = comparison.change.kind if comparison.change is not None else ""
    colour = {"faster": "bold $good", "slower": "bold $bad"}.get(kind, "bold")
    return Content.assemble(
        (units.duration(comparison.before.mean_ns), "$quiet"),
        (f" {glyphs.arrow} ", "$quiet"),
        (units.duration(comparison.after.mean_ns), colour),
        (label(" a step", comparison.noun), "$quiet"),
    )


def verdict(since: Since) -> str:
    """One sentence: faster, slower, the same, or why nobody can say."""
    comparison = since.comparison
    if not comparison.comparable:
        blocking = [item for item in comparison.differences if item.blocking]
        what = "; ".join(f"{item.what} was {_value(item.before)}, is {_value(item.after)}" for item in blocking)
        return line(f"Not comparable with {_name(since)}: {what}", 300)
    if comparison.change is None:
        return label("Without steps", comparison.noun) + f" nothing can be said against {_name(since)}"
    return line(f"Since {_name(since)}: {comparison.change.text}", 300)
