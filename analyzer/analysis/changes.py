"""What changed between two sides, as plain data: part of a comparison's document, and of a report made against a baseline."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["faster", "slower", "unchanged", "inconclusive"]
RuleState = Literal["fixed", "new", "still", "not checked"]
Outcome = Literal["exceeded", "reached", "together", "confirmed", "partly", "refuted"]
FigureName = Literal["bound", "estimate"]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One condition that differs; a blocking one forbids a verdict."""

    what: str
    before: str
    after: str
    blocking: bool


class RuleChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a rule's finding.

    Args:
        rule: Code.
        title: Of the finding.
        state: fixed, new, still (both sides), or not checked after (the rule could not tell).
        kind: What kind of figure the next two are.
        predicted_ns: What was promised a step before.
        left_ns: What is promised a step now.
        realised_ns: How much less the step takes now; None where the rule was not fixed or reduced.
        outcome: Whether the promise came true; `exceeded` where all that was promised for what vanished is surely less than what
            came, `reached` where it is less, and noise may have done it; `together` where more came than this one promised, with
            other findings that vanished, and a good part must be its own. None where nothing was fixed, no verdict is possible,
            where the others may account for what came, or nothing was likely to come and did not.
        explained_by: Rules whose findings before said the same more closely.
    """

    rule: str
    title: str
    state: RuleState
    predicted_ns: int
    left_ns: int
    realised_ns: int | None
    outcome: Outcome | None
    kind: FigureName = "bound"
    explained_by: tuple[str, ...] = ()


class Since(msgspec.Struct, frozen=True, kw_only=True):
    """What changed since a baseline.

    Args:
        baseline: Its name.
        before_ns: Mean step of the baseline over all its runs; None without steps.
        after_ns: Mean step of this trace; None without steps.
        before_steps: How many steps that mean is of.
        after_steps: The same for this trace.
        kind: The answer; None where the two are not comparable.
        text: The answer in one sentence; None where the two are not comparable.
        differences: What is not the same on both sides, blocking ones first.
        rules: What became of each finding, the largest first.
        noun: What the steps of both sides are.
    """

    baseline: str
    before_ns: int | None
    after_ns: int | None
    before_steps: int
    after_steps: int
    kind: Kind | None
    text: str | None
    differences: tuple[Difference, ...]
    rules: tuple[RuleChange, ...]
    noun: Literal["step", "request", "recording"] = "step"
