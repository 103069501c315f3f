"""Several traces on one command line: which they are, and what to say of those that do not belong together."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.arguments.once import once
from analyzer.cli.streams.terminal import is_terminal
from traces.errors import UsageError

if TYPE_CHECKING:
    from analyzer.analysis import Analysis

# Looking for traces below the current folder stops here: a home directory has too many files to walk.
_SEARCHED_FILES = 20_000
_OPENED_FILES = 200
_NAMED = 5


def sources(paths: Sequence[Path]) -> list[Path]:
    """The files that paths name, each once; a folder stands for the traces directly in it.

    Raises:
        UsageError: Nothing is named; the newest traces below the current folder are suggested. Or the standard input is
            named and gives nothing.
    """
    if not paths:
        found = newest(Path.cwd())
        near = ", ".join(str(path) for path in found[:_NAMED])
        raise UsageError(
            "no trace is named",
            why=f"below this folder there are {near}" if found else "below this folder there is none",
            fix=f"advisor explain {shlex.quote(str(found[0]))}" if found else "record one with `advisor collect`",
        )
    _check_stdin(paths)
    # Unlike `Path.is_dir` this says of a name that cannot be that it is no folder.
    if not any(map(os.path.isdir, paths)):
        return once(paths)
    from analyzer.cli.arguments.folders import traces_in

    return traces_in(paths)


def _check_stdin(paths: Sequence[Path]) -> None:
    """Refuse to wait for a trace that somebody would have to type, or to read one stream twice."""
    dashes = sum(str(path) == "-" for path in paths)
    if dashes and is_terminal(sys.stdin):
        raise UsageError(
            "- is the standard input, and that is this terminal", fix="zcat trace.json.gz | advisor explain -"
        )
    if dashes > 1:
        raise UsageError("- is named more than once, but can be read only once", fix="name it once")


def newest(folder: Path) -> list[Path]:
    """Traces below a folder by their names, the newest first, relative to it."""
    from traces.reader.input.looks import looks_like_trace

    found = sorted(_json_below(folder), key=lambda path: (-path.stat().st_mtime, path.name))
    named = [path for path in found if "trace" in path.name.lower()]
    # Other names tell nothing: advisor's own recordings may have any. Only the newest are opened to see.
    others = [path for path in found if path not in set(named)][:_OPENED_FILES]
    chosen = {*named, *filter(looks_like_trace, others)}
    return [path.relative_to(folder) for path in found if path in chosen]


def _json_below(folder: Path) -> Iterator[Path]:
    """JSON files in a folder and those below it, hidden ones and links that lead nowhere left out."""
    seen = 0
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        seen += len(names)
        if seen > _SEARCHED_FILES:
            return
        named = (Path(place, name) for name in names if name.endswith((".json", ".json.gz")))
        yield from (path for path in named if path.is_file())


def overview(analyses: Sequence[Analysis]) -> Iterator[str]:
    """A line for each trace, and how to see more of one."""
    from analyzer.page.words import safe
    from analyzer.ranks.names import rank_in
    from analyzer.units import duration

    yield f"{len(analyses)} traces of which nothing says that they are ranks of one job:"
    yield ""
    width = max(safe.columns(safe.name(analysis.trace.name)) for analysis in analyses)
    for analysis in analyses:
        mean = duration(analysis.summary.step_ns.mean)
        verdict = safe.clean(analysis.summary.verdict.text)
        yield f"  {safe.pad(safe.name(analysis.trace.name), width)}  {mean:>8} a step  {verdict}"
    yield ""
    yield "Name one of them to see its findings; `advisor compare BEFORE AFTER` holds two against each other."
    ranks = {rank_in(analysis.trace.name) for analysis in analyses}
    if None in ranks or len(ranks) < len(analyses):
        yield "Where they are ranks of one, let their names say which (rank_0.json, rank_1.json)."
    else:
        yield "Their names say ranks: those of one job would hold collectives, and state one number of ranks."
