"""What is installed in the environment that runs, by the names under which it is imported."""

from __future__ import annotations

import contextlib
import os

from .own_code import library_folders

_ENDINGS = (".py", ".so", ".pyd")
_MOST = 20_000


def installed_names() -> list[str]:
    """Names of packages and modules that lie in the environment's folders, sorted.

    A project installed for editing (`pip install -e`) lies in a folder of its own: its name is not among them. The standard library
    is left out, as its names are the same everywhere.
    """
    found: set[str] = set()
    for folder in library_folders():
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in entries:
                name, dot, ending = entry.name.partition(".")
                module = not dot or f".{ending.rpartition('.')[2]}" in _ENDINGS
                if module and name.isidentifier() and len(found) < _MOST:
                    found.add(name)
    return sorted(found)
