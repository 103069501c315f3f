"""What a framework's loop does outside ops beside training: the line of the program's own that began it says nothing of that."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.host.stacks import CodeLine
from analyzer.facts.recording.line_samples import SampledLine
from analyzer.facts.recording.usual_work import UsualWork
from analyzer.finding import Advice
from analyzer.spans.intervals import IntervalSet
from analyzer.units import share
from rules.idle.pausing import fixes
from rules.python.advice import elsewhere

# Less of the time is one part of several.
_MOST = 0.5
# What holds as much of a time is where all of it begins to branch.
_NEARLY_ALL = 0.8
_DOES = {"saving": "saves", "logging": "logs", "plotting": "draws", "evaluation": "evaluates", "rollouts": "acts"}

# Of other frameworks the loop is the program's own, or steps environments.
_RUN_THE_LOOP = frozenset({
    "composer", "fastai", "keras", "lightning", "sentence_transformers", "skorch", "transformers",
})  # fmt: skip
_BARE = {
    "lightning": Advice(
        "diff",
        "-trainer = L.Trainer(...)\n+trainer = L.Trainer(..., barebones=True)   # takes no logger and no callback",
        "For a try: shows what logging, progress bar and callbacks take: where that is much, leave out those that you can spare.",
    ),
}
_LARGER = Advice(
    "text",
    "More samples in each step, while memory allows: the loop of a framework costs each step as much, however little it computes.",
    "Scale the learning rate, and watch the validation score.",
)


def unnamed(facts: Facts) -> bool:
    """Whether a framework runs a loop that is fed by a DataLoader: what nobody named there may be the framework's own work."""
    return (
        facts.recording.frameworks.of_loop in _RUN_THE_LOOP and not facts.model.infers and bool(len(facts.input.wait))
    )


def elsewhere_or_less(facts: Facts, *, own: bool) -> tuple[Advice, ...]:
    """Another place for what is prepared; of a framework's loop, less of its own work.

    Args:
        facts: The measurements.
        own: Whether a line or function of the program's is known to do it.
    """
    if own or not unnamed(facts):
        return elsewhere(facts)
    bare = _BARE.get(facts.recording.frameworks.of_loop or "")
    return (*(() if bare is None else (bare,)), _LARGER)


def caveat(facts: Facts) -> str:
    """What the time may be instead of the program's own code."""
    return (
        f"`{facts.recording.frameworks.of_loop}` runs the loop: its hooks, callbacks and logging are part of this, in a healthy "
        "program all of it."
    )


def began(facts: Facts, line: SampledLine) -> bool:
    """Whether a line only calls the loop of a framework, as `trainer.fit(model)` does: every step ends at it."""
    end = facts.recording.step_line
    if end is None or facts.recording.frameworks.of_loop is None:
        return False
    return (end.file, end.line) == (line.file, line.line)


def only_starts(facts: Facts, line: CodeLine) -> bool:
    """Whether a function of the program's only calls the loop of a framework: stacks show the step's own work below it, too."""
    main, work = facts.host.main_thread, _of_the_loop(facts)
    if facts.recording.frameworks.of_loop is None or main is None or not work:
        return False
    places = facts.host.stacks.inside(main, work)
    return bool(places) and places[0][0] == line


def _of_the_loop(facts: Facts) -> IntervalSet:
    """What surely runs below the loop: the update, or the ops where an optimizer is none of torch's, as fastai's."""
    return facts.time.waterfall.owned("optimizer") or facts.time.waterfall.owned("compute")


def below(facts: Facts, time: IntervalSet) -> str:
    """Where most of a time begins to branch, as words; empty where that is no one function."""
    frame = facts.host.frame_of_most(time, _of_the_loop(facts), _NEARLY_ALL)
    return "" if frame is None else f"`{frame.function}` ({frame.file})"


def look_below(facts: Facts, place: str) -> Advice:
    """What to do about time of a framework's loop of which stacks were recorded.

    Args:
        facts: The measurements.
        place: What `below` says.
    """
    return Advice(
        "text",
        f"See what {place} is for: whether a setting does without it, does it less often, or does it in a worker."
        if place
        else "See in Perfetto or Chrome's tracing page what runs there: no one function holds most of it.",
        f"The program's own code only calls the loop, which `{facts.recording.frameworks.of_loop}` runs. The times are of a trace "
        "with stacks: believe the order, not the milliseconds.",
    )


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
