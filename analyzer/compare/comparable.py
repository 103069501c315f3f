"""PG010: whether two sets of runs may be compared at all."""

from __future__ import annotations

from collections.abc import Sequence

from analyzer.analysis.changes import Difference
from analyzer.compare.snapshot import Conditions, Snapshot

MIN_STEPS = 3
# Differences that make any verdict on the step time meaningless; the others are named beside it.
_BLOCKING = {
    "device": "another device",
    "world_size": "another number of ranks",
    "batch": "another batch size",
    "steps_from": "steps found another way",
}
# Of so few kinds of layers, two models share some or none by chance.
_ENOUGH_LAYERS = 3
_SAME_LAYERS_RATIO = 0.5
# Padding to what tensor cores like is a fix.
_PADDED_TO = 8
# Fixes may drop a bias here and there; what differs by more is another model.
_SAME_MODEL_RATIO = 0.9
_NOTED = {
    "number_formats": "another number format",
    "torch": "another torch",
    "cuda": "another CUDA",
    "stacks": "stacks recorded on one side only",
    "memory": "memory recorded on one side only",
    "shapes": "shapes recorded on one side only",
}


def differences(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> tuple[Difference, ...]:
    """What differs between the sides, and within a side, blocking ones first."""
    found = []
    for field, blocking in [(name, True) for name in _BLOCKING] + [(name, False) for name in _NOTED]:
        mine, theirs = _values(before, field), _values(after, field)
        # What a trace does not say cannot differ.
        if mine and theirs and mine != theirs:
            text = _BLOCKING.get(field) or _NOTED[field]
            found.append(Difference(what=text, before=", ".join(mine), after=", ".join(theirs), blocking=blocking))
    found += _models(before, after) or _layers(before, after)
    for side, runs in (("before", before), ("after", after)):
        few = [run for run in runs if len(run.steps_ns) < MIN_STEPS]
        if few and all(run.noun == "recording" for run in few):
            found.append(_one_sided(side, "no steps to compare", "taken as one recording, as nothing in it is a step"))
        elif few:
            steps = ", ".join(str(len(run.steps_ns)) for run in few)
            least = f"{steps} used step{'' if steps == '1' else 's'}, at least {MIN_STEPS} needed"
            found.append(_one_sided(side, "too few steps to compare", least))
        if any(run.trust == "unusable" for run in runs):
            found.append(_one_sided(side, "a trace that cannot be trusted", "unusable"))
    return tuple(found)


def _models(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> list[Difference]:
    """The size of the model, where it differs; blocking where it differs by more than a fix changes."""
    mine, theirs = _parameters(before), _parameters(after)
    if not mine or not theirs or mine == theirs:
        return []
    alike = min(*mine, *theirs) >= _SAME_MODEL_RATIO * max(*mine, *theirs)
    first, second = (", ".join(f"{number:,} parameters" for number in side) for side in (mine, theirs))
    what = "a slightly larger or smaller model" if alike else "another model"
    return [Difference(what=what, before=first, after=second, blocking=not alike)]


def _parameters(runs: Sequence[Snapshot]) -> list[int]:
    return sorted({run.conditions.parameters for run in runs if run.conditions.parameters})


def _layers(before: Sequence[Snapshot], after: Sequence[Snapshot]) -> list[Difference]:
    """Layers of other sizes, where the traces show them: blocking where few are shared.

    Shared is counted against the side with fewer: a compiler takes some layers out of sight.
    """
    mine, theirs = _padded(before), _padded(after)
    fewer = min(len(mine), len(theirs))
    if fewer < _ENOUGH_LAYERS:
        return []
    shared = len(mine & theirs)
    if shared >= _SAME_LAYERS_RATIO * fewer:
        return []
    first, second = (f"layers of {len(side)} sizes, {shared} of them on both sides" for side in (mine, theirs))
    return [Difference(what="another model by its layers", before=first, after=second, blocking=True)]


def _padded(runs: Sequence[Snapshot]) -> set[tuple[int, ...]]:
    sizes = [layer.split("x") for run in runs for layer in run.conditions.layers or ()]
    return {tuple(-(-int(size) // _PADDED_TO) * _PADDED_TO for size in layer if size.isdecimal()) for layer in sizes}


def _one_sided(side: str, what: str, text: str) -> Difference:
    return Difference(
        what=what, before=text if side == "before" else "", after=text if side == "after" else "", blocking=True
    )


def _values(runs: Sequence[Snapshot], field: str) -> list[str]:
    assert field in Conditions.__struct_fields__
    values = [getattr(run.conditions, field) for run in runs]
    texts = {" ".join(value) if isinstance(value, tuple) else str(value) for value in values if value is not None}
    return sorted(texts)
