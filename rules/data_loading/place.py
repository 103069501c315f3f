"""Where the time of loading goes in the user's own code: for every rule whose remedy is there."""

from __future__ import annotations

from analyzer.facts import Facts
from analyzer.facts.input.code import beginning
from analyzer.facts.recording.loader_code import LoaderFunction
from analyzer.finding import Column, Location, Table
from analyzer.units import share
from rules import commands
from rules.data_loading.looped import loop_sentence
from rules.place import location

_SHOWN_LINES = 6


def place(facts: Facts) -> Location | None:
    """The line, or the function, that loading spends most in; None where none of it is the user's or none is known."""
    return location(facts.input.code.place)


def sentence(facts: Facts) -> str:
    """Sentences to put behind `why`, with a space before each; empty where nothing is known."""
    return f"{loop_sentence(facts)}{_in_code(facts)}"


def _in_code(facts: Facts) -> str:
    """Whose code loading is, with a space before it; empty where nothing is known."""
    code = facts.input.code
    found = code.place
    if code.lines and found is None:
        return f" Sampled, {share(1 - code.lines_ratio)} of the loading is in no line of your own: in libraries, or other threads."
    if found is None:
        return ""
    if code.lines:
        top = code.lines[0]
        text = f" (`{top.text}`)" if top.text else ""
        of = share(top.ns / code.samples.loader_ns)
        return f" Sampled, {of} of the loading is at {found.place} in `{found.function}`{text}."
    if code.recorded:
        return f" Most of the time of your own code in it is in `{found.function}` ({found.place})."
    made = " and ".join(dict.fromkeys(map(_made_by, code.functions[:3])))
    return f" Your own code in it: {made}; `{commands.collect(facts, '--evidence')}` samples its lines."


def _made_by(function: LoaderFunction) -> str:
    return f"`{function.name}` ({function.role} in {beginning(function).place})"


def evidence(facts: Facts) -> tuple[Table, ...]:
    """The lines with their shares, where lines were sampled."""
    code = facts.input.code
    if not code.lines:
        return ()
    total = code.samples.loader_ns
    rows = tuple(
        (f"{line.file}:{line.line}", line.function, line.text, line.ns / total) for line in code.lines[:_SHOWN_LINES]
    )
    columns = (
        Column("line", "text"),
        Column("function", "text"),
        Column("code", "text"),
        Column("of loading", "ratio"),
    )
    return (Table("lines of loading, sampled", columns, rows),)
