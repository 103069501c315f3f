"""What a mangled name of C++ calls and runs: its functions' names, without types (Itanium C++ ABI, 5.1).

A profiler writes such names where it does not know how to take them apart, and cuts long ones: what can be read of the
beginning is read, the rest is left.
"""

from __future__ import annotations

from traces.patterns import Pattern

_SOURCE = Pattern(r"L?(\d{1,4})(?=[A-Za-z_])")
# Before the name of what is called: the namespace is one seen before (`S0_`, `St`), or the function is inside another one (`Z`).
_OPENING = Pattern(r"Z*N?[rVK]*(?:St|S[\dA-Z]*_)?")
# Template arguments that name nothing: numbers, and types of one letter or of `D` and one.
_NAMELESS = Pattern(r"(?:L[a-z]n?\d+E|DF\d+b|DF\d+_|D[hfdeaisun]|[a-z])+")
# No kernel runs more functions inside one another.
_MOST = 12


def chain(name: str) -> list[str]:
    """The function's name, then that of its first template argument that has one, and so on; empty where nothing can be read."""
    if not name.startswith("_Z"):
        return []
    found: list[str] = []
    at = 2
    while len(found) < _MOST:
        called, at = _qualified(name, at)
        if not called:
            break
        found.append(called)
        if not name.startswith("I", at):
            break
        nameless = _NAMELESS.match(name, at + 1)
        at = nameless.end() if nameless else at + 1
    return found


def _qualified(name: str, at: int) -> tuple[str, int]:
    """The last part of a qualified name that begins here, and where it ends."""
    opening = _OPENING.match(name, at)
    at = opening.end() if opening else at
    last = ""
    while found := _SOURCE.match(name, at):
        end = found.end() + int(found[1])
        part = name[found.end() : end]
        if end > len(name):
            # Cut short by whoever wrote the name: what is left of it tells more than its namespace.
            return part or last, len(name)
        last = last if part.startswith("_GLOBAL__N") else part
        at = end
    return last, at
