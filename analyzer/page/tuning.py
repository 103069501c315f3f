"""The result of a tuning in words: the answer, the table, what to change."""

from __future__ import annotations

from collections.abc import Iterator

from analyzer.analysis.tuning import Promise, Recommended, TrialDocument, Tuning
from analyzer.page.findings import savings
from analyzer.page.words import safe
from analyzer.units import count, duration, share

HEADS = ("Change", "Rules", "Promised", "Measured", "95 % interval", "Verdict")


def headline(tuning: Tuning) -> str:
    """`412 ms a step → 148 ms with 2 changes: 64 % less (60 to 67 %)`."""
    step, together = duration(tuning.baseline_step_ns), tuning.together
    if not tuning.trials:
        return "Nothing to try: no rule with a fix that can be made from outside found anything"
    if together is None:
        tried = sum(one.verdict != "not run" for one in tuning.trials)
        if not tried and any(one.tried for one in tuning.trials):
            return f"{step} a step: no change was tried to its end"
        if not tried:
            return f"{step} a step: none of {count(len(tuning.trials), 'change')} was tried"
        was = "was" if tried == 1 else "were"
        return f"{step} a step: none of {count(tried, 'change')} that {was} tried helps beyond the noise"
    changes = count(len(together.changes), "change")
    less = f"{share(together.measured_ratio)} less ({interval(together.low_ratio, together.high_ratio)})"
    paid = f"; ahead after {_steps(together.pays_after_steps, tuning.epoch_steps)}" if together.pays_after_steps else ""
    return f"{step} a step → {duration(together.step_ns)} with {changes}: {less}{paid}"


def _steps(steps: int, epoch_steps: int | None) -> str:
    """`530 steps (1.0 epochs)`."""
    return count(steps, "step") + (f" ({steps / epoch_steps:.1f} epochs)" if epoch_steps else "")


def interval(low: float | None, high: float | None) -> str:
    """`60 to 67 %`; `-` where nothing was measured."""
    return "-" if low is None or high is None else f"{gone(low).removesuffix(' %')} to {gone(high)}"


def gone(ratio: float) -> str:
    """`12 %`; `-12 %` where the step got longer."""
    return f"-{share(-ratio)}" if ratio < 0 else share(ratio)


def promised(one: Promise) -> str:
    """`at most 36 %`, `at most 96 % as recorded`."""
    return f"{savings.word(one.promised_kind)} {promised_share(one)}"


def promised_share(one: Promise) -> str:
    """`36 %`; `96 % as recorded` where a step without the profiler cannot hold so much, as `savings.share_of` says it."""
    return share(one.promised_ratio) + (savings.AS_RECORDED if one.promised_of_recorded else "")


def row(trial: TrialDocument) -> tuple[str, ...]:
    """The cells of a trial's row, as `HEADS` names them."""
    measured = "-" if trial.measured_ratio is None else gone(trial.measured_ratio)
    return (
        safe.name(trial.change, 40),
        ", ".join(safe.name(code, 12) for code in trial.rules),
        promised(trial),
        measured,
        interval(trial.low_ratio, trial.high_ratio),
        trial.verdict,
    )


def notes(trial: TrialDocument, epoch_steps: int | None) -> Iterator[str]:
    """What the row has no room for.

    Args:
        trial: The trial.
        epoch_steps: Steps of an epoch; None where nobody says.
    """
    if trial.reason:
        yield safe.clean(trial.reason)
    if trial.tried:
        values = ", ".join(
            f"{safe.name(one.value, 20)} ({'did not run' if one.gain_ratio is None else gone(one.gain_ratio)})"
            for one in trial.tried
        )
        yield f"tried: {values}"
    if trial.pays_after_steps is not None and trial.setup_ns is not None:
        ahead = _steps(trial.pays_after_steps, epoch_steps)
        yield f"the start takes {duration(trial.setup_ns)} more, once: a run is ahead after {ahead}, a shorter one loses"
    if trial.numerics == "rounding":
        yield "may change the last bits of results"
    if trial.numerics == "precision":
        yield "changes the precision of results"
    if trial.loss_difference_ratio is not None and trial.loss_tolerance_ratio is not None and not trial.reason:
        apart, most = share(trial.loss_difference_ratio), share(trial.loss_tolerance_ratio)
        yield f"the loss on the same seed ends {apart} of its scale from the script's own ({most} allowed)"
    # A share of the recorded step is no measure of one without the profiler.
    beyond = trial.measured_ratio is not None and trial.measured_ratio > trial.promised_ratio
    if beyond and trial.verdict == "helps" and not trial.promised_of_recorded:
        yield "more than was promised"


def said(trial: TrialDocument, epoch_steps: int | None) -> str:
    """Those as one sentence, to stand below the table; empty where the row says all."""
    text = "; ".join(notes(trial, epoch_steps))
    return f"{text[:1].upper()}{text[1:].rstrip('.')}." if text else ""


def method(tuning: Tuning) -> Iterator[str]:
    """How it was measured, a sentence each."""
    if tuning.baseline_runs:
        yield (
            f"Each run is a fresh process: {tuning.warmup} steps pass, {count(tuning.steps, 'step')} are timed without the "
            f"profiler; runs with and without the change take turns."
        )
        yield f"Two turns tell a gain of {share(tuning.noise_ratio)} from nothing here; a change that can bring less is not run."
        yield "Time in which other programs had the core is left out where the script itself computes on one thread."
    if tuning.together is not None:
        yield f"Together the findings promised {promised(tuning.together)}."
    torch = f", torch {safe.name(tuning.torch, 40)}" if tuning.torch else ""
    # Where nothing is run there is the recording alone.
    took = f"{count(round(tuning.seconds), 'second')} without the recording, " if tuning.baseline_runs else ""
    yield f"{safe.name(tuning.machine, 120)}{torch}, {tuning.date}; {took}seed {tuning.seed}."
    if not tuning.complete:
        yield "Not everything was tried."
    for note in tuning.notes:
        text = safe.clean(note)
        yield f"{text[:1].upper()}{text[1:]}."


def place(one: Recommended) -> str:
    """`train.py:88`; empty where a library makes the call."""
    if one.file is None:
        return ""
    return safe.name(one.file, 120) + (f":{one.line}" if one.line else "")


def carries(one: Recommended) -> str:
    """`brings 12 % (9 to 15 %) beside the others`; empty where it is the only one."""
    if one.alone_ratio is None:
        return ""
    return f"brings {gone(one.alone_ratio)} ({interval(one.low_ratio, one.high_ratio)}) beside the others"


def by_hand(tuning: Tuning) -> Iterator[str]:
    """What only a change of the program brings."""
    for one in tuning.by_hand:
        yield f"{safe.name(one.rule, 12)} {safe.name(one.title, 80)}: {promised(one)}"
