"""What the findings of each rule promised, and whether it came true."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from analyzer.analysis.changes import FigureName, Outcome, RuleChange, RuleState
from analyzer.compare.noise import Change
from analyzer.compare.snapshot import FindingState, Snapshot

# A saving counts as come true from this share of what was likely to come of what vanished from the rule's cost, as partly true from
# the second.
_CONFIRMED = 0.5
_PARTLY = 0.1


class _Promise(msgspec.Struct, frozen=True):
    """What the findings of a rule promise together, mean ns a step over the runs of a side; 0 where it has none.

    Args:
        title: Of the finding.
        kind: Of the figures.
        stated_ns: The bound, or the estimate.
        most_ns: The bound, or the upper end of what measured pairs brought of such estimates.
        likely_ns: What usually comes true.
    """

    title: str = ""
    kind: FigureName = "bound"
    stated_ns: int = 0
    most_ns: int = 0
    likely_ns: int = 0


_NOTHING = _Promise()


def rule_changes(
    before: Sequence[Snapshot], after: Sequence[Snapshot], change: Change | None, *, faster_ns: int
) -> tuple[RuleChange, ...]:
    """What became of the findings of each rule, the largest first.

    Args:
        before: One snapshot per run.
        after: The same of the other side.
        change: How the step time changed; None where nobody can tell.
        faster_ns: How much less the mean step takes.
    """
    first, second = _per_rule(before), _per_rule(after)
    looked = {code for run in after for code in run.quiet}
    states = {code: _state(code, first, second, looked) for code in sorted(first.keys() | second.keys())}
    gone = {code: _gone(first.get(code, _NOTHING), second.get(code, _NOTHING), state) for code, state in states.items()}
    shared = _shared(before)
    explained = {finding.rule: finding.explained_by for run in before for finding in run.findings}
    sure = _sure_ns(before, change)
    result = []
    for code, state in states.items():
        promise, left = first.get(code, _NOTHING), second.get(code, _NOTHING)
        shrunk = gone[code]
        judged = shrunk.stated_ns > _PARTLY * promise.stated_ns and promise.stated_ns > 0
        together = shrunk.most_ns + _others(code, gone, shared.get(code, frozenset()))
        result.append(
            RuleChange(
                rule=code,
                title=promise.title or left.title,
                state=state,
                kind=promise.kind if promise.stated_ns else left.kind,
                predicted_ns=promise.stated_ns,
                explained_by=explained.get(code, ()),
                left_ns=left.stated_ns,
                realised_ns=faster_ns if judged and change is not None else None,
                outcome=_outcome(shrunk, faster_ns, change, together=together, sure=sure) if judged else None,
            )
        )
    return tuple(sorted(result, key=lambda item: (-max(item.predicted_ns, item.left_ns), item.rule)))


def _gone(first: _Promise, second: _Promise, state: RuleState) -> _Promise:
    """What of a promise vanished; nothing where nobody looked again."""
    if state not in ("fixed", "still"):
        return _NOTHING
    return _Promise(
        kind=first.kind,
        stated_ns=first.stated_ns - second.stated_ns,
        most_ns=first.most_ns - second.most_ns,
        likely_ns=first.likely_ns - second.likely_ns,
    )


def _per_rule(runs: Sequence[Snapshot]) -> dict[str, _Promise]:
    """What each rule promises; a run without the finding counts as 0."""
    found: dict[str, list[FindingState]] = {}
    for run in runs:
        for finding in run.findings:
            found.setdefault(finding.rule, []).append(finding)
    return {code: _promise(findings, len(runs)) for code, findings in found.items()}


def _promise(findings: Sequence[FindingState], runs: int) -> _Promise:
    most = [one.ns_per_step_max for one in findings]
    likely = [one.ns_per_step_max if one.ns_per_step_expected is None else one.ns_per_step_expected for one in findings]
    stated = [top if one.kind == "bound" else usual for one, top, usual in zip(findings, most, likely, strict=True)]
    return _Promise(
        title=findings[0].title,
        kind="estimate" if any(one.kind == "estimate" for one in findings) else "bound",
        stated_ns=sum(stated) // runs,
        most_ns=sum(most) // runs,
        likely_ns=sum(likely) // runs,
    )


def _shared(before: Sequence[Snapshot]) -> dict[str, frozenset[str]]:
    """For each rule those that claim some of the same time."""
    found: dict[str, frozenset[str]] = {}
    for finding in (finding for run in before for finding in run.findings):
        found[finding.rule] = found.get(finding.rule, frozenset()) | set(finding.overlaps_with)
    return found


def _others(code: str, gone: Mapping[str, _Promise], shared: frozenset[str]) -> int:
    """What the other rules promised at most of what vanished: of time that one shares with this rule only what it has beyond."""
    mine = gone[code].most_ns
    return sum(max(one.most_ns - (mine if other in shared else 0), 0) for other, one in gone.items() if other != code)


def _state(code: str, first: Mapping[str, _Promise], second: Mapping[str, _Promise], looked: set[str]) -> RuleState:
    if code in second:
        return "still" if code in first else "new"
    return "fixed" if code in looked else "not checked"


def _sure_ns(before: Sequence[Snapshot], change: Change | None) -> float:
    """How much faster a step surely is; 0 where it is not, or nobody can tell."""
    if change is None or change.kind != "faster" or change.sure_ratio is None:
        return 0.0
    steps = [step for run in before for step in run.steps_ns]
    return abs(change.sure_ratio) * (sum(steps) // len(steps))


def _outcome(shrunk: _Promise, faster: int, change: Change | None, *, together: int, sure: float) -> Outcome | None:
    """Whether the step became faster by what vanished from the rule's cost. None where that cannot be told.

    Args:
        shrunk: What vanished of the rule's promise.
        faster: How much less a step takes, ns.
        change: The answer for the step.
        together: What was promised at most for all that vanished.
        sure: How much of `faster` is beyond doubt.
    """
    if change is None or change.kind == "inconclusive":
        return None
    if change.kind != "faster":
        # Where nothing was likely to come, nothing is refuted.
        return "refuted" if shrunk.likely_ns > 0 else None
    if faster > together:
        return "exceeded" if sure > together else "reached"
    if faster > shrunk.most_ns:
        # More than this one can give, and others vanished with it: its own is what those leave.
        return "together" if faster - (together - shrunk.most_ns) >= _CONFIRMED * shrunk.likely_ns > 0 else None
    likely = shrunk.likely_ns
    return "confirmed" if faster >= _CONFIRMED * likely else "partly" if faster >= _PARTLY * likely else "refuted"
