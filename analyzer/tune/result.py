"""The result of a tuning, from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import asdict

from analyzer.analysis import Analysis
from analyzer.analysis.tuning import ByHand, Recommended, TogetherDocument, TrialDocument, Tuning
from analyzer.tune.candidates import Candidate, promised_together
from analyzer.tune.catalogue import BY_NAME, Change
from analyzer.tune.combining import Together, values_of
from analyzer.tune.diff import Place, advice, diff, patch
from analyzer.tune.noise import LEAST_NOISE, noise_ratio
from analyzer.tune.trying import LEAST_TURNS, Reference, written
from traces.collect.tune.trial import Asked, Script


@dataclass(frozen=True)
class About:
    """What a result says of where it was measured."""

    tool: str
    machine: str
    torch: str | None
    date: str
    cores: int


def result(
    about: About,
    script: Script,
    seed: int,
    asked: Asked,
    analysis: Analysis,
    reference: Reference,
    trials: tuple[TrialDocument, ...],
    together: Together | None,
    found: Sequence[Candidate],
    hand: tuple[ByHand, ...],
    seconds: float,
    complete: bool,
    notes: tuple[str, ...],
) -> Tuning:
    """Everything that was measured, as the document has it."""
    return Tuning(
        tool=about.tool,
        script=f"-m {script.target}" if script.module else script.target,
        arguments=script.arguments,
        machine=about.machine,
        torch=about.torch,
        date=about.date,
        seed=seed,
        steps=asked.steps if reference.runs else 0,
        warmup=asked.warmup,
        baseline_step_ns=round(reference.step_ns) if reference.runs else analysis.summary.unprofiled_step_ns or 0,
        baseline_runs=len(reference.runs),
        noise_ratio=noise_ratio(reference.times, LEAST_TURNS) if reference.runs else LEAST_NOISE,
        trials=trials,
        recommended=_recommended(together, found, reference, script),
        together=_together(together, found, reference, analysis),
        by_hand=hand,
        seconds=seconds,
        complete=complete,
        notes=(*notes, *(f"{name}: {why}" for name, why in (together.dropped.items() if together else ()))),
        patch=_patch(together, reference, script),
        epoch_steps=next((run.epoch_steps for run in reference.runs), None),
        on_device=analysis.summary.gpu_busy_ratio is not None,
    )


def _recommended(
    together: Together | None, found: Sequence[Candidate], reference: Reference, script: Script
) -> tuple[Recommended, ...]:
    if together is None:
        return ()
    rules = {one.change.name: one.rules for one in found}
    calls = reference.runs[0].calls
    told: list[Recommended] = []
    for name, value in together.changes.items():
        change, carried = BY_NAME[name], together.carries.get(name)
        place = _where(change, calls, script)
        text = diff(change, value, place) or advice(change, value)
        told.append(
            Recommended(
                change=written({name: value}, name),
                rules=rules[name],
                file=_relative(place.file) if place is not None else None,
                line=place.line or None if place is not None else None,
                diff=text,
                alone_ratio=carried.ratio if carried else None,
                low_ratio=carried.low if carried else None,
                high_ratio=carried.high if carried else None,
            )
        )
    return tuple(told)


def _patch(together: Together | None, reference: Reference, script: Script) -> str:
    if together is None:
        return ""
    calls = reference.runs[0].calls
    changes = [(BY_NAME[name], value, _where(BY_NAME[name], calls, script)) for name, value in together.changes.items()]
    return patch(changes, Path.cwd())


def _where(change: Change, calls: Mapping[str, Sequence[dict[str, object]]], script: Script) -> Place | None:
    """The call that a change is made at, or the script as a whole; None where a library makes the call."""
    if change.call != "script":
        return _place(calls.get(change.call, ()))
    return None if script.module else Place(str(Path(script.target).resolve()), 0, "")


def _place(calls: Sequence[dict[str, object]]) -> Place | None:
    """The user's first call of a kind; of several the first is the one that training is made with most often."""
    for call in calls:
        return Place(str(call["file"]), int(str(call["line"])), str(call["name"]))
    return None


def _relative(file: str) -> str:
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else path.name


def _together(
    together: Together | None, found: Sequence[Candidate], reference: Reference, analysis: Analysis
) -> TogetherDocument | None:
    if together is None or together.gain is None:
        return None
    ids = [identity for one in found if one.change.name in together.changes for identity in one.findings]
    return TogetherDocument(
        changes=values_of(together.changes),
        **asdict(promised_together(analysis, ids)),
        measured_ratio=together.gain.ratio,
        low_ratio=together.gain.low,
        high_ratio=together.gain.high,
        # The runs of a change may fall into a busier minute than the others: its turns know, and what is said must agree with them.
        step_ns=round(reference.step_ns * (1 - together.gain.ratio)),
        setup_ns=together.start_ns,
        pays_after_steps=together.pays_after,
    )
