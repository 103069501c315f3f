"""Whose a frame is: torch cuts every folder of `sys.path` off a path, so an installed `somepkg/net.py` looks like a project's own.

Only positive evidence makes a frame the user's. An absolute path lies on no `sys.path`, so nobody installed it. A file without a
folder lies beside the script. A package is the user's where the program was started in it (`python -m project.train`), or where the
trace says what is installed and it is not among it. Of any other package the trace cannot tell, and what called it is named
instead: the user's nearest line, whoever wrote the package.
"""

from __future__ import annotations

from functools import cache

import msgspec
import numpy as np

from analyzer.facts.host.code_lines import CodeLine, parse_frame
from analyzer.spans.intervals import IntervalSet
from analyzer.spans.labels import distinct_texts, matching, texts
from traces.trace import Meta, Trace

_MODULE = ": <module>"
# What an import runs is a `<module>` too, and starts nothing.
_IMPORTING = ("importlib", "<frozen importlib")


class OwnCode(msgspec.Struct, frozen=True):
    """What a trace says of whose code is whose.

    Args:
        packages: First folders of the files that the program was started in.
        beside: Whether files without a folder are the user's: the program was started in a script or a notebook, or nobody knows.
        installed: Names of what is installed at the top level; None where the trace does not say.
    """

    packages: frozenset[str] = frozenset()
    beside: bool = True
    installed: frozenset[str] | None = None

    def line(self, name: str) -> CodeLine | None:
        """The place of a frame that is surely the user's own, else None."""
        line = parse_frame(name)
        return line if line is not None and self._is_own(line.file) else None

    def nearest(self, stacks: list[str]) -> list[str]:
        """The innermost frame of the user in each `Call stack`, as text; empty where there is none."""
        # Stacks share most of their frames.
        mine = cache(lambda frame: self.line(frame) is not None)
        return [next(filter(mine, map(str.strip, stack.split(";"))), "") for stack in stacks]

    def _is_own(self, file: str) -> bool:
        if not _is_relative(file):
            return True
        top, slash, _ = file.partition("/")
        if self.installed is not None:
            return top.removesuffix(".py") not in self.installed
        return top in self.packages if slash else self.beside


def own_code(trace: Trace) -> OwnCode:
    """Reads the evidence of a trace."""
    files = [line.file for line in map(parse_frame, _started(trace)) if line is not None]
    packages = {file.split("/", 1)[0] for file in files if _is_relative(file) and "/" in file}
    begun = bool(files)
    return OwnCode(
        packages=frozenset(packages),
        beside=not begun or any("/" not in file or not _is_relative(file) for file in files),
        installed=_installed(trace.meta),
    )


def _is_relative(file: str) -> bool:
    return not file.startswith(("/", "<ipython")) and file[1:3] != ":/"


def _installed(meta: Meta) -> frozenset[str] | None:
    names = meta.advisor.get("installed")
    return frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else None


def _started(trace: Trace) -> list[str]:
    """Frames of modules that were run, not imported: the script, a notebook's cell, a package's `__main__`."""
    python = trace.python
    rows = np.flatnonzero(matching(python["name"], lambda name: name.endswith(_MODULE)))
    importing = matching(python["name"], lambda name: name.startswith(_IMPORTING))
    thread, start, end = (python[name].to_numpy() for name in ("thread", "start_ns", "end_ns"))
    found = _of_call_stacks(trace)
    for one in np.unique(thread[rows]):
        mine = rows[thread[rows] == one]
        imports = importing & (thread == one)
        run = mine[~IntervalSet(start[imports], end[imports]).contains(start[mine])]
        found.update(texts(python["name"].iloc[run]).tolist())
    return sorted(found)


def _of_call_stacks(trace: Trace) -> set[str]:
    found: set[str] = set()
    for stack in distinct_texts(trace.ops["stack"]):
        for frame in reversed([part.strip() for part in stack.split(";")]):
            if frame.startswith(_IMPORTING):
                break
            if frame.endswith(_MODULE):
                found.add(frame)
    return found
