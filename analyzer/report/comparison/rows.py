"""The rows every report of a comparison shows, as plain cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analyzer.analysis.changes import RuleState
from analyzer.compare.comparison import CauseChange, Comparison, NameChange, Side
from analyzer.compare.gate import GateResult
from analyzer.compare.jobs import JobChange, JobSide, LateChange
from analyzer.page import changes as words
from analyzer.page.changes import came_true, promised, verdict
from analyzer.page.words import safe
from analyzer.page.words.kernel_names import short
from analyzer.page.words.of_steps import Noun, label
from analyzer.page.words.vocabulary import CAUSES
from analyzer.units import count, duration, share

# Where no verdict is possible, nobody can say that it was fixed: another device or batch has other findings.
ELSEWHERE: dict[RuleState, str] = {"fixed": "not found after", "new": "not found before"}
# A cause that moved by less than this share of the step is noise in the table.
_SHOWN_RATIO = 0.002
_NAME_COLUMNS = 56
_NAMED = 4


def gate_state(gate: GateResult) -> str:
    """`kept`, `failed`, or that it passes because nothing could be judged."""
    if not gate.judged:
        return "passes, undecided"
    return "kept" if gate.passed else "failed"


def headline(comparison: Comparison) -> str:
    """`178 ms → 133 ms a step (mean of 6 and 5 steps)`."""
    before, after = comparison.before, comparison.after
    return words.headline((before.mean_ns, before.steps), (after.mean_ns, after.steps), comparison.noun)


def spread(side: Side, noun: Noun) -> str:
    """`24 steps of 1 run, median 10 ms, 9.8 ms to 11 ms`."""
    if not side.steps:
        return f"no {noun}s of {count(side.runs, 'run')}"
    times = f"median {duration(side.median_ns)}, {duration(side.min_ns)} to {duration(side.max_ns)}"
    return f"{count(side.steps, noun)} of {count(side.runs, 'run')}, {times}"


def side_names(side: Side) -> str:
    """The traces of a side, the first few by name."""
    more = f" and {len(side.names) - _NAMED} more" if len(side.names) > _NAMED else ""
    return ", ".join(safe.name(name, 80) for name in side.names[:_NAMED]) + more


def answer(comparison: Comparison) -> str:
    """The verdict in one sentence."""
    return verdict(comparison.change.text if comparison.change is not None else None, comparison.differences)


def of_jobs(comparison: Comparison) -> tuple[str, ...]:
    """What is said of each job, with the side in front; nothing where the sides are no jobs."""
    job = comparison.job
    return (
        ()
        if job is None
        else (f"Job before: {safe.clean(job.before.text)}", f"Job after: {safe.clean(job.after.text)}")
    )


def moved(comparison: Comparison) -> list[CauseChange]:
    """The causes that own more than noise on a side, the largest change first."""
    least = _SHOWN_RATIO * max(comparison.before.mean_ns, 1)
    rows = sorted(comparison.waterfall, key=lambda row: -abs(row.after_ns - row.before_ns))
    return [row for row in rows if max(row.before_ns, row.after_ns) >= least]


def causes(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """Cause, before, after, difference; the largest change first."""
    return [
        (CAUSES[row.cause], duration(row.before_ns), duration(row.after_ns), signed(row.after_ns - row.before_ns))
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


def of_new_ones(comparison: Comparison) -> str:
    """That a new finding may be an old one, beside a much shorter step; empty elsewhere. It belongs below the findings' table."""
    states = [rule.state for rule in comparison.rules]
    return words.of_shorter_steps(comparison.before.mean_ns, comparison.after.mean_ns, states)


def names(rows: Sequence[NameChange], said: Callable[[str], str] = str) -> list[tuple[str, str, str, str]]:
    """Name, before, after, difference of the kernels or ops that changed most.

    Args:
        rows: Those that changed most.
        said: How a name is written.
    """
    return [
        (
            safe.name(said(row.name), _NAME_COLUMNS),
            duration(row.before_ns) if row.before_ns else "-",
            duration(row.after_ns) if row.after_ns else "-",
            signed(row.after_ns - row.before_ns),
        )
        for row in rows
    ]


def signed(ns: int) -> str:
    """A difference with its sign."""
    return f"{'+' if ns > 0 else '-' if ns < 0 else ''}{duration(abs(ns))}"


_JOB = ("The jobs", ("job", "before", "after", "difference"))


def job_rows(job: JobChange, noun: Noun) -> list[tuple[str, str, str, str]]:
    """Both jobs: step, who holds them up, what that costs, waiting of the pipeline, and links; the most changed first."""
    before, after = job.before, job.after
    rows = [
        ("ranks here", f"{before.present} of {before.ranks or '?'}", f"{after.present} of {after.ranks or '?'}", ""),
        (
            f"{noun} of the job",
            duration(before.step_ns),
            duration(after.step_ns),
            signed(after.step_ns - before.step_ns),
        ),
        ("held up by", _held(before), _held(after), ""),
        (
            f"a {noun} loses by it",
            duration(before.lost_ns),
            duration(after.lost_ns),
            signed(after.lost_ns - before.lost_ns),
        ),
    ]
    if before.bubble_ratio is not None and after.bubble_ratio is not None:
        rows.append(("waiting for messages", share(before.bubble_ratio), share(after.bubble_ratio), ""))
    for one in job.late:
        rows.append((f"{_late_name(one)}", *_pair(one.before_ns, one.after_ns)))
    for link in job.links:
        ranks = ", ".join(map(str, link.ranks[:4])) + (", ..." if len(link.ranks) > 4 else "")
        rows.append(
            (
                f"{safe.name(link.kind, 24)} {link.size_bytes / 1e6:.1f} MB, ranks {ranks}",
                _speed(link.before_bytes_per_s),
                _speed(link.after_bytes_per_s),
                f"{link.after_bytes_per_s / link.before_bytes_per_s:.2f} times",
            )
        )
    return rows


def _late_name(one: LateChange) -> str:
    what = {"link": "link of rank", "stage": "stage of rank"}.get(one.cause, "rank")
    return f"{what} {one.rank} late ({one.cause})"


def _pair(before: int, after: int) -> tuple[str, str, str]:
    return duration(before) if before else "-", duration(after) if after else "-", signed(after - before)


def _held(side: JobSide) -> str:
    return side.held_up_by if side.rank is None else f"rank {side.rank}"


def _speed(bytes_per_s: float) -> str:
    return f"{bytes_per_s / 1e9:.3g} GB/s"


TABLES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Where each step goes", ("cause", "before", "after", "difference")),
    ("Findings", ("state", "rule", "promised before", "promised after", "came true")),
    ("Operators that changed most (time on the device)", ("operator", "before", "after", "difference")),
    ("Kernels that changed most", ("kernel", "before", "after", "difference")),
    ("Ops that changed most (host self time)", ("op", "before", "after", "difference")),
)


def tables(comparison: Comparison) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
    """Every table with at least one row: title, headings, rows."""
    bodies: list[list[tuple[str, ...]]] = [
        list(causes(comparison)),
        list(rules(comparison)),
        list(names(comparison.operators)),
        list(names(comparison.kernels, short)),
        list(names(comparison.ops)),
    ]
    noun = comparison.noun
    found = [(label(title, noun), heads, body) for (title, heads), body in zip(TABLES, bodies, strict=True) if body]
    return found if comparison.job is None else [(*_JOB, list(job_rows(comparison.job, noun))), *found]
