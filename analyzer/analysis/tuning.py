"""What trying the advice on a script came to: promised beside measured, for each change, and all that helped together."""

from __future__ import annotations

from typing import Literal

from analyzer.analysis.base import Document, FigureName, TrialVerdict

TUNING_VERSION = "1.0"
Numerics = Literal["same", "rounding", "precision"]


class TriedValue(Document, frozen=True, kw_only=True):
    """One value of a change that is searched: `gain_ratio` of one turn, None where it did not run."""

    value: str
    gain_ratio: float | None


class Promise(Document, frozen=True, kw_only=True):
    """What findings state of a change; `TrialDocument` says what each means."""

    promised_ratio: float
    promised_kind: FigureName
    promised_of_recorded: bool = False


class TrialDocument(Promise, frozen=True, kw_only=True):
    """One change, tried in turns with the script as it is.

    `promised_ratio` is the share of the step that the findings of `rules` state, without the profiler; it is an upper bound where
    `promised_kind` is `bound`, and the share of the recorded step where `promised_of_recorded` is true, as no other is known.
    `measured_ratio` is the share that went; `low_ratio` to `high_ratio` its 95 % interval. None where
    nothing was measured. A step that got longer has negative ones.

    Args:
        change: What was changed: `workers=2`.
        title: The same in words.
        rules: Codes of the rules that advise it.
        numerics: Whether results can differ: `same`, `rounding` (the last bits) or `precision`.
        step_ns: Median over the runs with it of their mean step.
        runs: Runs with the change; each has one without before and after it.
        seconds: What the trial took in all.
        tried: Other values of the same change, with their step and whether they ran, for a change that is searched.
        loss_difference_ratio: How far the loss curve is from the baseline's on the same seed; None where no loss was seen.
        loss_tolerance_ratio: Beyond that the change is rejected; None where it is not held against it.
        setup_ns: How much longer the start takes, once: data that is held, code that is compiled; None where equal starts differ by
            as much.
        pays_after_steps: Steps after which a run with it is ahead of one without it; None where it is from the first one on.
        reason: Why the verdict is what it is, where the figures do not say so.
    """

    change: str
    title: str
    rules: tuple[str, ...]
    numerics: Numerics
    measured_ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None
    verdict: TrialVerdict
    reason: str = ""
    step_ns: int | None = None
    runs: int = 0
    seconds: float = 0.0
    tried: tuple[TriedValue, ...] = ()
    loss_difference_ratio: float | None = None
    loss_tolerance_ratio: float | None = None
    setup_ns: int | None = None
    pays_after_steps: int | None = None


class Recommended(Document, frozen=True, kw_only=True):
    """A change that helps, beside the others too: `alone_ratio` is what goes with all of them but not without it.

    `file` and `line` are those of the user's own call; None where a library makes it. `diff` is a unified diff of that file, or
    else what to write, in words.
    """

    change: str
    rules: tuple[str, ...]
    file: str | None
    line: int | None
    diff: str
    alone_ratio: float | None = None
    low_ratio: float | None = None
    high_ratio: float | None = None


class TogetherDocument(Promise, frozen=True, kw_only=True):
    """All recommended changes at once, against the script as it is; `setup_ns` and `pays_after_steps` as of a trial.

    `step_ns` is what the measured share leaves of the step as it is.
    """

    changes: tuple[str, ...]
    measured_ratio: float
    low_ratio: float
    high_ratio: float
    step_ns: int
    setup_ns: int | None = None
    pays_after_steps: int | None = None


class ByHand(Promise, frozen=True, kw_only=True):
    """A finding whose fix cannot be made from outside the script."""

    rule: str
    title: str


class Tuning(Document, frozen=True, kw_only=True):
    """The whole result of `advisor tune`.

    `noise_ratio` is the smallest change of the step that as many runs of the unchanged script as a trial has can tell from
    nothing: a trial whose ceiling lies below is not run. `complete` is false where the budget was used up or it was interrupted.
    `patch` holds all recommended changes that can be written as a diff, for `patch -p1` in the folder that the script was
    started in. `on_device` says whether the steps compute on a device. `epoch_steps` are the steps of an epoch, None where the
    loader does not say. `seconds` is what it took without the recording, with the runs that it took over from an earlier call.
    """

    schema_version: str = TUNING_VERSION
    tool: str
    script: str
    arguments: tuple[str, ...]
    machine: str
    torch: str | None
    date: str
    seed: int
    steps: int
    warmup: int
    baseline_step_ns: int
    baseline_runs: int
    noise_ratio: float
    trials: tuple[TrialDocument, ...]
    recommended: tuple[Recommended, ...]
    together: TogetherDocument | None
    by_hand: tuple[ByHand, ...]
    seconds: float
    complete: bool
    notes: tuple[str, ...] = ()
    patch: str = ""
    on_device: bool = False
    epoch_steps: int | None = None
