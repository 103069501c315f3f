"""The answer in three lines: which trace, what it is bound by, how fast a step could be at best."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis import Analysis
from analyzer.page import hardware, recording
from analyzer.page import headline as wording
from analyzer.page.words import safe
from analyzer.report.style import Style
from analyzer.units import count, duration

_WHOLE = "for the whole trace, taken as one step"


def lines(analysis: Analysis, style: Style, *, alone: bool = False) -> Iterator[str]:
    """Trace, verdict and, where the trace can be believed, the headline figures; `alone` where no reasons stand below."""
    origin = safe.wrap(" · ".join(_origin(analysis)), style.width)
    yield from (style.paint(line, "dim") for line in origin)
    yield ""
    if analysis.trust.verdict == "unusable":
        yield style.paint("This trace cannot be the base of advice.", "bad")
        return
    verdict = safe.clean(analysis.summary.verdict.text)
    sentence = verdict[:1].upper() + verdict[1:].rstrip(".") + "."
    yield from (style.paint(line, "strong") for line in safe.wrap(sentence, style.width))
    yield from _figures(analysis, style)
    if analysis.trust.verdict == "caution" and alone:
        yield from (style.paint(line, "medium") for line in safe.wrap(_caution(analysis), style.width))
    elif analysis.trust.verdict == "caution":
        doubts = count(recording.doubts(analysis), "reason")
        yield style.paint(f"Caution: {doubts} to doubt these figures, see Trust below.", "medium")


def _caution(analysis: Analysis) -> str:
    """`Caution: PG001 The trace has no step marks (1 more reason)`."""
    first, *others = [reason for reason in analysis.trust.reasons if reason.doubts]
    code = f"{first.code} " if first.code else ""
    # What to do next time stands in the whole report.
    message = first.message.partition(" Next time: ")[0].rstrip(".")
    return f"Caution: {code}{message}" + (f" ({count(len(others), 'more reason')})" if others else "") + "."


def _origin(analysis: Analysis) -> Iterator[str]:
    trace = analysis.trace
    yield safe.name(trace.name)
    device = trace.device
    if device.kind == "cpu":
        yield "no GPU events"
    else:
        many = f"{device.count} x " if device.count > 1 else ""
        yield many + (safe.name(device.name, 60) if device.name else device.kind)
    if trace.versions.torch:
        yield f"torch {safe.name(trace.versions.torch, 40)}"
    if len(trace.ranks) > 1:
        yield count(len(trace.ranks), "rank")
    yield recording.events(analysis)


def _figures(analysis: Analysis, style: Style) -> Iterator[str]:
    summary = analysis.summary
    mean, reachable = summary.step_ns.mean, summary.reachable_step_ns
    noun = wording.each(analysis, whole=_WHOLE)
    # Below the limit of a card there is nothing worth promising, nor beyond what a step takes.
    if not analysis.cards or reachable >= mean or wording.exceeds_unprofiled(analysis):
        yield from safe.wrap(f"{duration(mean)} {noun}.{_more(analysis)}", style.width)
        return
    best = f"{duration(mean)} → {duration(reachable)}"
    shared = " Findings share time, so their savings do not add up." if len(analysis.cards) > 1 else ""
    # An estimate is not the best that can be.
    best_case = "at best" if summary.reachable_kind == "bound" else "at best, as estimated"
    at_best = f"{best_case} {noun}" if noun == _WHOLE else f"{noun} {best_case}"
    text = f"{best} {at_best}: {wording.together(analysis)}, the rest staying as it is."
    first, *others = safe.wrap(text + shared + _more(analysis), style.width)
    yield first.replace(best, style.paint(best, "title"), 1)
    yield from others


def _more(analysis: Analysis) -> str:
    """How much of the device is used and what the profiler costs, as far as known."""
    told = (hardware.utilisation(analysis), hardware.counters_line(analysis), wording.unprofiled(analysis))
    return "".join(f" {sentence}" for sentence in told if sentence)
