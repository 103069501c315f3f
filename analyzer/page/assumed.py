"""What a choice of fixes gives, in words, the same in every document."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis, Assumed
from analyzer.page import headline
from analyzer.page.findings import savings
from analyzer.page.findings.groups import words
from analyzer.page.words import safe
from analyzer.units import duration, listed, share

HEADING = "What if"
REST = "the rest staying as it is"
# Of a saving that a step without the profiler cannot hold.
PROFILERS = "It takes less without the profiler: part of that saving is the profiler's doing, or a busy machine's."


def names(assumed: Assumed) -> str:
    """`DL002 and PR001`."""
    return listed([safe.name(code, 12) for code in assumed.rules])


def heading(assumed: Assumed) -> str:
    """`What if DL002 and PR001 were fixed`."""
    return f"{HEADING} {names(assumed)} were fixed"


def sentences(analysis: Analysis, assumed: Assumed) -> Iterator[str]:
    """The step then and what it saves; what is likely where that is less; what adds nothing."""
    mean = analysis.summary.step_ns.mean
    saved = mean - assumed.step_ns
    each = headline.each(analysis)
    if saved > 0:
        beyond = headline.is_profilers(analysis, assumed.step_ns)
        faster = f", {mean / assumed.step_ns:.1f} times as fast" if assumed.step_ns and not beyond else ""
        saves = f"saves {savings.word(assumed.kind)} {duration(saved)} ({share(assumed.saved_ratio)})"
        yield f"{duration(mean)} {each} would be {duration(assumed.step_ns)}: {saves}{faster}, {REST}."
        if beyond:
            yield PROFILERS
    else:
        yield f"{duration(mean)} {each} would stay {duration(assumed.step_ns)}: nothing of it goes by this."
    if duration(assumed.likely_step_ns) != duration(assumed.step_ns):
        yield f"{duration(assumed.likely_step_ns)} is likely."
    if assumed.without_place:
        codes = ", ".join(dict.fromkeys(safe.name(one.partition("-")[0], 12) for one in assumed.without_place))
        yield words(f"Of {codes} no saving lies inside the step; it adds nothing here.", analysis)
