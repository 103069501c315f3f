"""The rows every report of a comparison shows, as plain cells."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.since import Difference, FigureName, Kind, Outcome, RuleChange, RuleState
from analyzer.compare.comparison import CauseChange, Comparison, Side
from analyzer.compare.gate import GateResult
from analyzer.report import safe, savings
from analyzer.report.text.causes import label
from analyzer.units import count, duration

# A cause that moved by less than this share of the step is noise in the table.
_SHOWN_RATIO = 0.002
_NAME_COLUMNS = 56
# Where no verdict is possible, nobody can say that it was fixed: another device or batch has other findings.
ELSEWHERE: dict[RuleState, str] = {"fixed": "not found after", "new": "not found before"}
_NAMED = 4
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


def headline(comparison: Comparison) -> str:
    """`178 ms -> 133 ms a step (mean of 6 and 5 steps)`."""
    before, after = comparison.before, comparison.after
    return (
        f"{duration(before.mean_ns)} -> {duration(after.mean_ns)} a step "
        f"(mean of {before.steps:,} and {count(after.steps, 'step')})"
    )


def spread(side: Side) -> str:
    """`24 steps of 1 run, median 10 ms, 9.8 ms to 11 ms`."""
    if not side.steps:
        return f"no steps of {count(side.runs, 'run')}"
    times = f"median {duration(side.median_ns)}, {duration(side.min_ns)} to {duration(side.max_ns)}"
    return f"{count(side.steps, 'step')} of {count(side.runs, 'run')}, {times}"


def side_names(side: Side) -> str:
    """The traces of a side, the first few by name."""
    more = f" and {len(side.names) - _NAMED} more" if len(side.names) > _NAMED else ""
    return ", ".join(safe.name(name, 80) for name in side.names[:_NAMED]) + more


def answer(comparison: Comparison) -> str:
    """The verdict in one sentence."""
    return verdict(comparison.change.text if comparison.change is not None else None, comparison.differences)


def verdict(text: str | None, differences: Sequence[Difference]) -> str:
    """The answer where there is one, else why there is none."""
    if text is not None:
        cleaned = safe.clean(text)
        return cleaned[:1].upper() + cleaned[1:]
    # Both sides may lack the same.
    blocking = ", ".join(dict.fromkeys(safe.name(item.what, 60) for item in differences if item.blocking))
    return f"Not comparable: {blocking or 'no steps'}. No verdict is given."


def gate_state(gate: GateResult) -> str:
    """`kept`, `failed`, or that it passes because nothing could be judged."""
    if not gate.judged:
        return "passes, undecided"
    return "kept" if gate.passed else "failed"


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


def moved(comparison: Comparison) -> list[CauseChange]:
    """The causes that own more than noise on a side, the largest change first."""
    least = _SHOWN_RATIO * max(comparison.before.mean_ns, 1)
    rows = sorted(comparison.waterfall, key=lambda row: -abs(row.after_ns - row.before_ns))
    return [row for row in rows if max(row.before_ns, row.after_ns) >= least]


def causes(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Cause, before, after, difference; the largest change first."""
    return [
        (label(row.cause), duration(row.before_ns), duration(row.after_ns), signed(row.after_ns - row.before_ns))
        for row in moved(comparison)
    ]


def rules(comparison: Comparison) -> list[tuple[str, str, str, str, str]]:
    """State, code and title, saving promised before and after, what came true; findings without a saving stay in the JSON."""
    return [
        (
            row.state if comparison.change is not None else ELSEWHERE.get(row.state, row.state),
            f"{safe.name(row.rule, 12)} {safe.name(row.title)}",
            promised(row.kind, row.predicted_ns) or "-",
            promised(row.kind, row.left_ns) or "-",
            came_true(row, comparison.change.kind if comparison.change is not None else None),
        )
        for row in comparison.rules
        if row.predicted_ns or row.left_ns
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


def names(comparison: Comparison, what: str) -> list[tuple[str, str, str, str]]:
    """Name, before, after, difference of the kernels or ops that changed most."""
    rows = comparison.kernels if what == "kernels" else comparison.ops
    return [
        (
            safe.name(row.name, _NAME_COLUMNS),
            duration(row.before_ns),
            duration(row.after_ns),
            signed(row.after_ns - row.before_ns),
        )
        for row in rows
    ]


def signed(ns: int) -> str:
    """A difference with its sign."""
    return f"{'+' if ns > 0 else '-' if ns < 0 else ''}{duration(abs(ns))}"


TABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Where each step goes", ("cause", "before", "after", "difference")),
    ("Findings", ("state", "rule", "promised before", "promised after", "came true")),
    ("Kernels that changed most", ("kernel", "before", "after", "difference")),
    ("Ops that changed most (host self time)", ("op", "before", "after", "difference")),
)


def tables(comparison: Comparison) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Every table with at least one row: title, headings, rows."""
    bodies: list[list[tuple[str, ...]]] = [
        list(causes(comparison)),
        list(rules(comparison)),
        list(names(comparison, "kernels")),
        list(names(comparison, "ops")),
    ]
    return [(title, heads, body) for (title, heads), body in zip(TABLES, bodies, strict=True) if body]
