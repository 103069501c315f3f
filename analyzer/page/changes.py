"""What changed since a baseline, in words, the same in every document."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analyzer.analysis.changes import Difference, FigureName, Kind, Outcome, RuleChange, RuleState, Since
from analyzer.page.findings import savings
from analyzer.page.words import safe
from analyzer.page.words.of_steps import Noun, label
from analyzer.units import count, duration

# Findings named in each group; the JSON has all of them.
_MOST = 8
# Of a step of four fifths what takes the same time is a quarter more: what was just below a rule's limit comes above it.
_SHORTER = 0.8
_GROUPS: tuple[tuple[RuleState, str, str], ...] = (
    ("fixed", "fixed", "✓"),
    ("new", "new", "!"),
    ("still", "still there", "-"),
    ("not checked", "could not be checked again", "?"),
)

# Where no verdict is possible, nobody can say that it was fixed: another device or batch has other findings.
_ELSEWHERE: dict[RuleState, str] = {"fixed": "not found here", "new": "not found before"}


# Where more came than a bound allows, nothing was confirmed.
_OUTCOMES: dict[FigureName, dict[Outcome | None, str]] = {
    "bound": {
        "exceeded": "more than promised",
        "reached": "all that was promised, or more",
        "together": "came true together with others",
        "confirmed": "confirmed",
        "partly": "partly",
        "refuted": "refuted",
    },
    "estimate": {
        "exceeded": "more than estimated",
        "reached": "as estimated, or more",
        "together": "came true together with others",
        "confirmed": "as estimated",
        "partly": "less than estimated",
        "refuted": "refuted",
    },
}


@dataclass(frozen=True)
class Row:
    """One finding: what became of it, and what it saves a step before and now."""

    state: RuleState
    words: str
    mark: str
    rule: str
    title: str
    detail: str


def heading(since: Since) -> str:
    """`Since baseline main`."""
    return f"Since baseline {safe.name(since.baseline, 40)}"


def figures(since: Since) -> str:
    """`178 ms → 133 ms a step (mean of 6 and 5 steps)`; empty where a side has no steps."""
    if since.before_ns is None or since.after_ns is None:
        return ""
    return headline((since.before_ns, since.before_steps), (since.after_ns, since.after_steps), since.noun)


def headline(before: tuple[int, int], after: tuple[int, int], noun: Noun) -> str:
    """`178 ms → 133 ms a step (mean of 6 and 5 steps)`.

    Args:
        before: Mean time, ns, and of how many.
        after: The same of the other side.
        noun: What the steps are.
    """
    sides = f"mean of {before[1]:,} and {count(after[1], noun)}"
    return f"{duration(before[0])} → {duration(after[0])} {label('a step', noun)} ({sides})"


def answer(since: Since) -> str:
    """The verdict in one sentence, or why there is none."""
    return verdict(since.text, since.differences)


def noted(since: Since) -> list[str]:
    """`another torch: 2.1 → 2.9`, for each condition that is not the same."""
    return [
        f"{what}: {f'{before} → {after}' if before and after else before or after}"
        for what, before, after, _ in differing(since.differences)
    ]


def summary(since: Since) -> str:
    """`1 finding fixed, 2 new, 3 still there`."""
    parts: list[str] = []
    for state, _, _ in _GROUPS:
        number, words = sum(rule.state == state for rule in since.rules), _words(since, state)
        if number:
            parts.append(f"{number} {words}" if parts else f"{count(number, 'finding')} {words}")
    shorter = of_shorter_steps(since.before_ns, since.after_ns, [rule.state for rule in since.rules])
    told = f"{', '.join(parts)}." if parts else "No findings on either side."
    return f"{told} {shorter}".rstrip()


def of_shorter_steps(before_ns: float | None, after_ns: float | None, states: Iterable[RuleState]) -> str:
    """That a new finding may be an old one, where the step became a fifth shorter or more; empty elsewhere."""
    if before_ns is None or after_ns is None or after_ns > _SHORTER * before_ns or "new" not in states:
        return ""
    return "New ones may have been there before: what takes as long as it did is a larger share of less time."


def listed(since: Since) -> list[Row]:
    """The findings by what became of them, of many the largest."""
    return [
        Row(
            state, _words(since, state), mark, safe.name(rule.rule, 12), safe.name(rule.title, 80), _detail(rule, since)
        )
        for state, _, mark in _GROUPS
        for rule in [rule for rule in since.rules if rule.state == state][:_MOST]
    ]


def unlisted(since: Since) -> str:
    """How many `listed` leaves out; empty where none."""
    left = len(since.rules) - len(listed(since))
    return f"{count(left, 'more finding')} in the JSON." if left else ""


def _words(since: Since, state: RuleState) -> str:
    usual = next(words for one, words, _ in _GROUPS if one == state)
    return usual if since.kind is not None else _ELSEWHERE.get(state, usual)


def _detail(rule: RuleChange, since: Since) -> str:
    before, now = _most(rule, rule.predicted_ns), _most(rule, rule.left_ns)
    each = label("a step", since.noun)
    if rule.state == "new":
        return f"saves {now} {each}" if rule.left_ns else ""
    if rule.state == "still":
        return f"{before} before, {now} {each} now" if rule.predicted_ns or rule.left_ns else ""
    told = f"{before} {each} was promised" if rule.predicted_ns else ""
    outcome = came_true(rule, since.kind)
    return f"{told}; {outcome}" if outcome else told


def _most(rule: RuleChange, ns: int) -> str:
    return promised(rule.kind, ns) or "no saving of its own"


def verdict(text: str | None, differences: Sequence[Difference]) -> str:
    """The answer where there is one, else why there is none."""
    if text is not None:
        cleaned = safe.clean(text)
        return cleaned[:1].upper() + cleaned[1:]
    # Both sides may lack the same.
    blocking = ", ".join(dict.fromkeys(safe.name(item.what, 60) for item in differences if item.blocking))
    return f"Not comparable: {blocking or 'no steps'}. No verdict is given."


def differing(differences: Sequence[Difference]) -> list[tuple[str, str, str, str]]:
    """What, before, after, and whether it forbids a verdict."""
    return [
        (
            safe.name(item.what, 60),
            safe.name(item.before),
            safe.name(item.after),
            "no verdict possible" if item.blocking else "noted",
        )
        for item in differences
    ]


def came_true(row: RuleChange, kind: Kind | None) -> str:
    """`confirmed: 45 ms faster`; `undecided` where the step allows no answer; empty where nothing was fixed.

    Args:
        row: The rule.
        kind: The answer for the step: without one noise allows none for the rule; with one other findings vanished, too.
    """
    if row.realised_ns is None:
        return ""
    if kind == "inconclusive":
        return "undecided"
    faster = f"{duration(abs(row.realised_ns))} {'faster' if row.realised_ns >= 0 else 'slower'}"
    untold = "together with others" if kind == "faster" else "undecided"
    return f"{_OUTCOMES[row.kind].get(row.outcome, untold)}: {faster}"


def promised(kind: FigureName, ns: int) -> str:
    """`at most 45 ms`, `about 45 ms`; empty where nothing is."""
    return f"{savings.word(kind)} {duration(ns)}" if ns else ""
