"""What the stack showed in the long steps of a run, by function and line: what lies between usual steps, and what it is for."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from analyzer.facts.recording.place_kinds import COLLECTING, is_training, telling
from analyzer.facts.recording.stated import dict_of, int_of, list_of
from traces.patterns import Pattern

# Fewer looks say little of what the time is.
FEWEST_SAMPLES = 3
# With fewer looks at usual steps nobody can tell what they do; a place that takes at least this part of its share of long steps in
# usual ones too is work of every step.
FEWEST_USUAL, _AS_USUAL = 15, 1 / 3
# One look in twenty falls on what is next to it, and a single look is none to advise by.
OF_A_KIND, FEWEST_OF_A_KIND = 0.05, 2
# What calls a model and never a backward pass evaluates, or acts: no name tells which. Of so many looks one would show the other.
RUNS_MODEL, _FEWEST_AT_MODEL = "model runs", 5
_FORWARD = Pattern(r"(?:^|\.)forward$")
# A file may say anything.
MOST_ROWS = 1000

# What usual steps do beside training has to be called so by the function itself: `predict` and `generate` may be part of training.
_WITHIN = {
    # `test` is the whole name in examples of PyTorch Geometric and of torch; of a longer one it may say that something is tried.
    "evaluation": Pattern(
        r"(?:^|[_.])(?:evaluat(?:e|ion)|validat(?:e|ion)|eval(?:$|_)|val_)|(?:^|\.)(?:run_|do_)?test$", re.IGNORECASE
    ),
    "saving": Pattern(r"(?:^|[_.])save|checkpoint"),
    "plotting": Pattern(r"(?:^|[_.])(?:plot|savefig)"),
}
# A share of fewer looks may as well be half of it.
FEWEST_WITHIN = 5


class Place(msgspec.Struct, frozen=True):
    """What the stack showed in long steps.

    Args:
        function: Of the first functions that the stack of a usual step does not hold the one whose name tells what it does.
        file: Its file.
        kind: What it does, by its name: saving, plotting, rollouts, evaluation, logging, garbage collection, loading or starts
            of the loader's workers; runs of a model without training, by what it calls; `ranks` where it waits for others; `step`
            where usual steps do it as well; None where neither tells.
        ratio: Share of what lies between the steps.
        own_file: File of the program's own line that leads to it; None where no line of its own does.
        own_line: That line.
        own_function: Its function.
    """

    function: str
    file: str
    kind: str | None
    ratio: float
    own_file: str | None
    own_line: int | None
    own_function: str | None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def places_of(between: dict[str, Any], *, others: bool, usual_part: float) -> tuple[Place, ...]:
    """What was seen, by function and line, most first.

    A long step is looked at from when it takes longer than usual: what usual steps do may be what it ends with. As many looks at
    that as one usual step has in each are none at what lies between.

    Args:
        between: As the recording has it.
        others: Whether most long steps draw batches of another loader than usual ones do, which evaluations do.
        usual_part: One usual step for each long one, as a part of what lies between.
    """
    rows = between.get("places")
    total = int_of(between.get("samples"))
    if not isinstance(rows, list) or total < FEWEST_SAMPLES:
        return ()
    usual = _usual_shares(between)
    here = _by_start(rows)
    runs_model = _only_forward(rows, here)
    found: dict[Place, float] = {}
    for row in map(dict_of, rows[:MOST_ROWS]):
        place = place_of(row, others=others)
        if place is None:
            continue
        start = _start(row)
        if (
            place.kind not in ("loading", "ranks", COLLECTING)
            and usual.get(start, 0.0) >= _AS_USUAL * here[start] / total
        ):
            place = msgspec.structs.replace(place, kind="step")
        # `sample_plot_image` of a diffusion model draws for a moment what it samples for seconds.
        elif place.kind in (None, "plotting") and start in runs_model:
            place = msgspec.structs.replace(place, kind=RUNS_MODEL)
        found[place] = found.get(place, 0) + int_of(row.get("samples"))
    as_usual = sum(samples for place, samples in found.items() if place.kind == "step")
    ended_with = min(as_usual, usual_part * total)
    for place in [place for place in found if place.kind == "step"]:
        found[place] *= 1 - ended_with / as_usual if as_usual else 0
    ranked = sorted(found.items(), key=lambda item: -item[1])
    left = max(total - ended_with, 1)
    return tuple(
        msgspec.structs.replace(place, ratio=min(1.0, samples / left)) for place, samples in ranked if samples > 0
    )


def within_of(between: dict[str, Any]) -> tuple[Place, ...]:
    """What usual steps do that is no training, by function and line, most first; the shares are of usual steps.

    Args:
        between: As the recording has it.
    """
    rows, total = usual_looks(between)
    found: dict[Place, int] = {}
    for row in rows:
        place = place_of(row, others=False)
        if place is not None and place.kind in _WITHIN and _WITHIN[place.kind].search(place.function):
            found[place] = found.get(place, 0) + int_of(row.get("samples"))
    ranked = sorted(found.items(), key=lambda item: -item[1])
    of_kind: dict[str | None, int] = {}
    for place, samples in ranked:
        of_kind[place.kind] = of_kind.get(place.kind, 0) + samples
    return tuple(
        msgspec.structs.replace(place, ratio=min(1.0, samples / total))
        for place, samples in ranked
        if of_kind[place.kind] >= FEWEST_WITHIN
    )


def usual_looks(between: dict[str, Any]) -> tuple[list[dict[str, Any]], int]:
    """What was seen in usual steps, a row each, and how many looks there were; no row where they were too few.

    Args:
        between: As the recording has it.
    """
    usual = dict_of(between.get("usual"))
    rows, total = usual.get("places"), int_of(usual.get("samples"))
    if not isinstance(rows, list) or total < FEWEST_USUAL:
        return [], total
    return [dict_of(row) for row in rows[:MOST_ROWS]], total


def _usual_shares(between: dict[str, Any]) -> dict[tuple[str, ...], float]:
    """Share of usual steps by where it begins; empty where they were not looked at often enough."""
    rows, total = usual_looks(between)
    return {start: samples / total for start, samples in _by_start(rows).items() if samples >= FEWEST_OF_A_KIND}


def _by_start(rows: list[Any]) -> dict[tuple[str, ...], int]:
    found: dict[tuple[str, ...], int] = {}
    for row in map(dict_of, rows[:MOST_ROWS]):
        found[_start(row)] = found.get(_start(row), 0) + int_of(row.get("samples"))
    return found


def _only_forward(rows: list[Any], looks_at: dict[tuple[str, ...], int]) -> set[tuple[str, ...]]:
    """Where functions begin that call a model for half of their time and more, and neither its backward pass nor an update."""
    forward: dict[tuple[str, ...], int] = {}
    trains = set()
    for row in map(dict_of, rows[:MOST_ROWS]):
        functions = [tuple(map(_text, pair)) for pair in list_of(row.get("functions")) if isinstance(pair, list)]
        if any(is_training(*pair) for pair in functions if len(pair) == 2):
            trains.add(_start(row))
        elif functions and functions[0] and not _FORWARD.search(functions[0][0]):
            called = any(_FORWARD.search(pair[0]) for pair in functions[1:] if pair)
            forward[_start(row)] = forward.get(_start(row), 0) + (int_of(row.get("samples")) if called else 0)
    return {
        start
        for start, looks in forward.items()
        if looks >= max(_FEWEST_AT_MODEL, looks_at[start] / 2) and start not in trains
    }


def _start(row: dict[str, Any]) -> tuple[str, ...]:
    """The line that leads to a place, and the first function there: what it goes on to call differs from look to look."""
    functions = list_of(row.get("functions"))
    first = functions[0] if functions and isinstance(functions[0], list) else []
    return (_text(row.get("in_file")), _text(row.get("in_function")), str(row.get("line")), *map(_text, first))


def place_of(row: dict[str, Any], *, others: bool) -> Place | None:
    """What one kind of look showed, its share unknown; None where it names no function.

    Args:
        row: As the recording has it.
        others: As for `places_of`.
    """
    functions = [pair for pair in list_of(row.get("functions")) if isinstance(pair, list) and len(pair) == 2]
    if not functions:
        return None
    own = row.get("own") is True
    (function, file), kind = telling(
        [(_text(name), _text(file)) for name, file in functions], _text(row.get("in_file")) if own else None
    )
    kind = "rollouts" if kind is None and row.get("environment") is True else kind
    return Place(
        function=function,
        file=file,
        kind="evaluation" if others and kind in (None, "loading") else kind,
        ratio=0.0,
        own_file=_text(row.get("in_file")) if own else None,
        own_line=int_of(row.get("line")) or None if own else None,
        own_function=_text(row.get("in_function")) if own else None,
    )
