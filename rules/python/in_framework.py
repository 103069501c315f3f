"""What a framework's loop does outside ops beside training: the line of the program's own that began it says nothing of that."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.facts.recording.usual_work import UsualWork
from analyzer.finding import Advice
from analyzer.units import share
from rules.idle.pausing import fixes

# Less of the time is one part of several.
_MOST = 0.5
_DOES = {"saving": "saves", "logging": "logs", "plotting": "draws", "evaluation": "evaluates", "rollouts": "acts"}


def began(facts: Facts, line: SampledLine) -> bool:
    """Whether a line only calls the loop of a framework, as `trainer.fit(model)` does: every step ends at it."""
    end = facts.recording.step_line
    if end is None or facts.recording.frameworks.of_loop is None:
        return False
    return (end.file, end.line) == (line.file, line.line)


def sentence(facts: Facts, ratio: float) -> str:
    """Words to put behind the cause; empty where looks at the steps tell nothing of most of it.

    Args:
        facts: The measurements.
        ratio: Share of the step that the time is.
    """
    work = _most(facts, ratio)
    if work is None:
        return ""
    return f". In {share(work.ratio)} of the looks at steps that were not recorded `{work.function}` {_DOES[work.kind]}"


def remedies(facts: Facts, ratio: float) -> tuple[Advice, ...]:
    """What to do about that; nothing where it is unknown.

    Args:
        facts: The measurements.
        ratio: Share of the step that the time is.
    """
    work = _most(facts, ratio)
    return () if work is None else fixes(facts, work.kind)


def _most(facts: Facts, ratio: float) -> UsualWork | None:
    """What holds most of the time; None where a framework's loop does not run, or nothing holds as much."""
    work = facts.recording.usual_work
    if work is None or facts.recording.frameworks.of_loop is None or work.kind not in _DOES:
        return None
    return work if work.ratio >= _MOST * ratio else None
