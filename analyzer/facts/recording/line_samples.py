"""Which of the user's lines ran, sampled by `advisor collect --evidence` in a pass of its own: shares, never times of the step.

The method is statistical profiling: every 2 ms the innermost line of the user's own code on the training thread's stack, and on
that of each loader worker; each sample counts for the time since the one before.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from traces.trace import Meta

# A line that holds less of its function's samples is one among several: naming it would hide the others.
_MOST_OF_FUNCTION = 1 / 3
# Where nothing tells how long that which is looked for takes, it may be any line that is not negligible.
_NEARLY_ALL = 0.8
# The pass with samples is another one than that with times: shares of the same line differ by as much.
_AS_MUCH = 0.6
# Of a loop of many small ops the profiler makes the share larger, of one with long lines behind it smaller.
_ABOUT = 3.0


class SampledLine(msgspec.Struct, frozen=True):
    """One line of the user's.

    Args:
        file: Path relative to the project.
        line: The line.
        function: Function with its class, as far as Python tells.
        begins: The line where the function begins.
        text: The line's text; empty where the file was not at hand.
        loader: Whether it ran inside the loader.
        ns: Sampled time at it, in nanoseconds.
        loops: First lines of the loops around it within its function, outermost first, that turn more than once a step; empty
            where the file was not at hand, or the recording does not tell.
    """

    file: str
    line: int
    function: str
    begins: int
    text: str
    loader: bool
    ns: int
    loops: tuple[int, ...] = ()

    def stands_in(self, file: str, function: str, begins: int | None) -> bool:
        """Whether it is a line of a function, or of a module, which begins nowhere.

        Args:
            file: The file.
            function: Name of the function.
            begins: The line where it begins; None for a module.
        """
        where = self.function == function if begins is None else self.begins == begins
        return self.file == file and where


class StepLine(msgspec.Struct, frozen=True):
    """The user's line at which a step ends.

    Args:
        file: Path relative to the project.
        line: The line.
        function: Its function.
        begins: The line where the function begins.
    """

    file: str
    line: int
    function: str
    begins: int


class LineSamples(msgspec.Struct, frozen=True):
    """What was sampled of one kind of process.

    Args:
        total_ns: Sampled time.
        loader_ns: The part of it inside the loader.
        lines: The user's lines, the longest first.
    """

    total_ns: int
    loader_ns: int
    lines: tuple[SampledLine, ...]

    @property
    def of_loader(self) -> tuple[SampledLine, ...]:
        """The lines that ran inside the loader."""
        return tuple(line for line in self.lines if line.loader)

    def busiest_line(self, file: str, begins: int, taken_ratio: float | None = None) -> int | None:
        """The line of a function that holds most of its samples; None where there is none, or where it may be another one.

        Args:
            file: The function's file.
            begins: The line where the function begins.
            taken_ratio: Share of the recorded time that what is looked for takes; None where that is unknown. A line that
                holds far more is another one's.
        """
        own = [line for line in self.lines if line.file == file and line.begins == begins]
        most = max(own, key=lambda line: line.ns, default=None)
        if most is None:
            return None
        if taken_ratio is not None and taken_ratio < _AS_MUCH * most.ns / self.total_ns:
            return None
        enough = _NEARLY_ALL if taken_ratio is None else _MOST_OF_FUNCTION
        return most.line if most.ns >= enough * sum(line.ns for line in own) else None

    def loop(
        self, file: str, function: str, begins: int | None, taken_ratio: float, words: frozenset[str]
    ) -> int | None:
        """The first line of the innermost loop of a function that may be one looked for; None where none or several may be.

        Args:
            file: The function's file.
            function: Its name.
            begins: The line where it begins; None for a module.
            taken_ratio: Share of the recorded time that the loop takes.
            words: What its lines say, of which one at least must stand there.
        """
        turned: dict[int, list[SampledLine]] = {}
        for line in self.lines:
            if not line.loader and line.stands_in(file, function, begins):
                for first in line.loops:
                    turned.setdefault(first, []).append(line)
        may = {
            first
            for first, lines in turned.items()
            if 1 / _ABOUT <= sum(line.ns for line in lines) / self.total_ns / taken_ratio <= _ABOUT
            and any(word in line.text for line in lines for word in words)
        }
        # A loop inside another one that may be it as well is what turns most often.
        chains = [[first for first in line.loops if first in may] for line in self.lines]
        inner = may - {first for chain in chains for first in chain[:-1]}
        return next(iter(inner)) if len(inner) == 1 else None

    def calling(self, file: str, function: str, begins: int | None, text: str) -> int | None:
        """The line of a function, or of a module, whose text holds some words; None where there is none, or several are."""
        own = (line for line in self.lines if line.stands_in(file, function, begins))
        found = {line.line for line in own if text in line.text}
        return next(iter(found)) if len(found) == 1 else None


_NONE = LineSamples(0, 0, ())


def training_lines(meta: Meta) -> LineSamples:
    """Lines of the training thread; empty where none were sampled.

    Args:
        meta: What the file says of itself; nothing is believed about its shape.
    """
    return _part(meta, "training")


def step_line(meta: Meta) -> StepLine | None:
    """The user's line at which steps end, as the call of a model that is only run; None where it was not seen."""
    top = meta.advisor.get("lines")
    row = top.get("step_line") if isinstance(top, dict) else None
    if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in ("file", "function")):
        return None
    if not all(_is_count(row.get(key)) for key in ("line", "begins")):
        return None
    return StepLine(row["file"], row["line"], row["function"], row["begins"])


def worker_lines(meta: Meta) -> LineSamples:
    """Lines of the loader's worker processes, all together; empty where none were sampled."""
    return _part(meta, "workers")


def _part(meta: Meta, kind: str) -> LineSamples:
    top = meta.advisor.get("lines")
    part = top.get(kind) if isinstance(top, dict) else None
    if not isinstance(part, dict) or not all(_is_count(part.get(key)) for key in ("total_ns", "loader_ns")):
        return _NONE
    rows = part.get("rows")
    lines = (_line(row) for row in (rows if isinstance(rows, list) else []))
    sound = sorted(_joined(line for line in lines if line is not None), key=lambda line: -line.ns)
    return LineSamples(part["total_ns"], part["loader_ns"], tuple(sound))


def _joined(rows: Iterable[SampledLine]) -> Iterable[SampledLine]:
    """One row a line: a comprehension, a generator or a lambda is a function of its own, and part of the line it stands in."""
    found: dict[tuple[str, int, bool], SampledLine] = {}
    for row in sorted(rows, key=lambda row: row.function.endswith(">") and row.function != "<module>"):
        key = (row.file, row.line, row.loader)
        first = found.get(key, row)
        found[key] = msgspec.structs.replace(first, ns=row.ns + (first.ns if key in found else 0))
    return found.values()


def _line(row: Any) -> SampledLine | None:
    if not isinstance(row, dict) or not isinstance(row.get("loader"), bool):
        return None
    if not all(isinstance(row.get(key), str) for key in ("file", "function", "text")):
        return None
    if not all(_is_count(row.get(key)) for key in ("line", "begins", "ns")):
        return None
    loops = row.get("loops", [])
    if not isinstance(loops, list) or not all(map(_is_count, loops)):
        return None
    told = {key: row[key] for key in ("file", "line", "function", "begins", "text", "loader", "ns")}
    return SampledLine(**told, loops=tuple(loops))


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
