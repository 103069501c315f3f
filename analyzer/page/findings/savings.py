"""What a finding saves, in words: `at most` for a bound, `up to about` for an estimate, and what usually comes true.

An estimate is made as a bound is: of all that a cause takes. That it may be exceeded does not make all of it likely, so that it is
`about` that much only where pairs were measured, whose range is told beside it.
"""

from __future__ import annotations

from analyzer.analysis import FindingDocument, FindingUnit, SavingDocument, Tried
from analyzer.analysis.base import FigureName
from analyzer.page.words import safe
from analyzer.units import count, duration, share

_WORDS: dict[FigureName, str] = {"bound": "at most", "estimate": "up to about"}
_NAMES: dict[FigureName, str] = {"bound": "Upper bound", "estimate": "Estimate"}
_EACH: dict[FindingUnit, str] = {"step": "a step", "request": "a request", "recording": "in all"}
AS_RECORDED = " as recorded"
# Where a step without the profiler cannot hold the saving.
_RECORDED: dict[FindingUnit, str] = {
    "step": "of a recorded step",
    "request": "of a recorded request",
    "recording": "in this recording",
}


def word(kind: FigureName) -> str:
    """`at most` or `up to about`."""
    return _WORDS[kind]


def limit(kind: FigureName) -> str:
    """`up to` or `up to about`: the same, shorter."""
    return "up to" if kind == "bound" else _WORDS[kind]


def name(kind: FigureName) -> str:
    """`Upper bound` or `Estimate`: what the basis explains."""
    return _NAMES[kind]


def each(finding: FindingDocument) -> str:
    """`a step`, `a request`; `in all` where the trace has neither; `of a recorded step` where no other holds the saving."""
    return (_RECORDED if finding.saving.of_recorded else _EACH)[finding.steps.noun]


def share_of(saving: SavingDocument) -> str:
    """`36 %`; `96 % as recorded` where a step without the profiler cannot hold so much."""
    return share(saving.stated_ratio) + (AS_RECORDED if saving.of_recorded else "")


def figure(saving: SavingDocument) -> str:
    """`148 ms (36 %)`."""
    return f"{duration(saving.stated_ns)} ({share(saving.stated_ratio)})"


def worth(finding: FindingDocument) -> str:
    """`saves at most 142 ms a step`, or that it saves nothing by itself."""
    saving = finding.saving
    if saving.stated_ns <= 0:
        return "no saving of its own"
    return f"saves {word(saving.kind)} {duration(saving.stated_ns)} {each(finding)}"


def usually(saving: SavingDocument) -> str:
    """`27 ms (18 %) are likely`, `9.0 to 20 ms in measured pairs`; empty where no more is known than the figure itself."""
    if saving.kind == "estimate":
        if saving.ns_per_step_min is None:
            return ""
        return f"{between(saving.ns_per_step_min, saving.ns_per_step_max)} in measured pairs"
    if duration(saving.expected_ns) == duration(saving.ns_per_step_max):
        return ""
    return (
        f"{duration(saving.expected_ns)} ({share(saving.expected_ratio)}) likely"
        if saving.expected_ns
        else "likely none"
    )


def between(low_ns: int, high_ns: int) -> str:
    """`9.0 to 20 ms`, `900 us to 1.2 ms`."""
    low, high = duration(low_ns), duration(high_ns)
    return (
        f"{low.removesuffix(low[low.index(' ') :])} to {high}"
        if low.split()[1] == high.split()[1]
        else f"{low} to {high}"
    )


def beside(saving: SavingDocument) -> str:
    """`; 27 ms (18 %) likely`; empty where nothing more is known."""
    more = usually(saving)
    return f"; {more}" if more else ""


def basis(saving: SavingDocument) -> str:
    """`Upper bound: idle time inside the calls`."""
    text = saving.basis.rstrip(".") or ("no more than this" if saving.kind == "bound" else "what is expected")
    return f"{name(saving.kind)}: {text}"


def calibrated(finding: FindingDocument) -> str:
    """`On 14 measured pairs without a device the fix brought 62 % of this estimate in the median.`; empty where there are none."""
    found = finding.calibrated
    if found is None or finding.saving.stated_ns <= 0:
        return ""
    pairs = count(found.pairs, "measured pair") + ("" if found.on_device else " without a device")
    of = "this bound" if finding.saving.kind == "bound" else "this estimate"
    median = " in the median" if found.pairs > 1 else ""
    more = ""
    if found.is_exceeded:
        more = f"; more came than was stated on {found.pairs - found.within}, which lowers the confidence"
    return f"On {pairs} the fix brought {share(found.reached_ratio)} of {of}{median}{more}."


def tried(finding: FindingDocument) -> str:
    """`Tried on this program: workers=2 saved 64 % of the step (60 to 67 %).`; empty where nobody tried."""
    found = ", ".join(map(_tried, finding.tried))
    return f"Tried on this program: {found}." if found else ""


def _tried(one: Tried) -> str:
    name = safe.name(one.change, 40)
    low, high = sorted((abs(one.low_ratio), abs(one.high_ratio)))
    between = f"({share(low).removesuffix(' %')} to {share(high)})"
    if one.verdict == "helps":
        ahead = f", in runs of more than {count(one.pays_after_steps, 'step')}" if one.pays_after_steps else ""
        return f"{name} saved {share(one.measured_ratio)} of the step {between}{ahead}"
    if one.verdict == "worse":
        return f"{name} made the step longer by {share(-one.measured_ratio)} {between}"
    return f"{name}: {one.verdict}"


def seen(finding: FindingDocument) -> str:
    """`in 4 of 6 steps`; `in the whole recording` where it is taken as one."""
    if finding.steps.noun == "recording":
        return "in the whole recording"
    many = f"{finding.steps.of:,} {finding.steps.noun}{'s' if finding.steps.of != 1 else ''}"
    return f"in {finding.steps.seen} of {many}"
