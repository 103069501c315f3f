"""Where an optimizer is made, so that a user finds the line to change, or the library to ask."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.recording.makers import Maker
from analyzer.finding import Location
from analyzer.units import listed
from rules.own_call import as_diff, with_arguments

# Ways to update that leave no room for another.
_EXCLUDE = ("fused", "foreach", "differentiable", "capturable")
# More lines than a reader wants to be sent to.
_FEW = 3


def own_lines(facts: Facts, name: str) -> str:
    """A sentence that names the program's lines that make it, to put behind others; empty where nobody knows, or there are many.

    Args:
        facts: The measurements.
        name: Class of the optimizer.
    """
    makers = _own(facts, name)
    if not 1 <= len(makers) <= _FEW:
        return ""
    return f" It is made at {listed([maker.place for maker in makers])}."


def own_line(facts: Facts, name: str) -> Location | None:
    """The program's only line that makes it; None where nobody knows, or there are more."""
    makers = _own(facts, name)
    return Location(makers[0].file, makers[0].line, None) if len(makers) == 1 and makers[0].file else None


def own_change(facts: Facts, name: str) -> str | None:
    """A diff by which the program's only line that makes it asks for one pass; None where it is not known or not whole.

    Args:
        facts: The measurements.
        name: Class of the optimizer.
    """
    makers = _own(facts, name)
    text = makers[0].text if len(makers) == 1 else None
    changed = None if text is None else with_arguments(text, name, {"fused": "True"}, _EXCLUDE)
    return None if changed is None or text is None else as_diff(text, changed)


def others_class(facts: Facts, name: str) -> Maker | None:
    """A maker of the class where that is not torch's, for all its name, and cannot be asked for a fused update; None elsewhere."""
    foreign = (maker for maker in _makers(facts, name) if maker.class_package != "torch")
    return next((maker for maker in foreign if maker.takes is not None and "fused" not in maker.takes), None)


def by_library(facts: Facts, name: str) -> Maker | None:
    """The library's function that makes it; None where the program does, nobody knows, or several libraries do."""
    makers = _makers(facts, name)
    return makers[0] if len(makers) == 1 and makers[0].package is not None else None


def _own(facts: Facts, name: str) -> list[Maker]:
    """Places that make it; none where a library makes one of them."""
    makers = _makers(facts, name)
    return [] if any(maker.package is not None for maker in makers) else makers


def _makers(facts: Facts, name: str) -> list[Maker]:
    return [maker for maker in facts.recording.optimizer_makers if maker.class_name == name]
