"""Places in the user's code, as far as a display may point at them."""

from __future__ import annotations

import re

from analyzer.analysis import Location
from traces.patterns import Pattern

# Folders of installed packages: no line in them is the user's to change.
_PACKAGES = frozenset(("site-packages", "dist-packages"))
# Python's own library, as `lib/python3.11/` of an installation.
_OWN_LIBRARY = Pattern(r"(?:^|/)lib/python\d[\d.]*/")


def own_file(location: Location | None) -> str | None:
    """The file relative to the project, with slashes; None without one, and for files of packages and of elsewhere."""
    if location is None:
        return None
    parts = re.split(r"[\\/]", location.file)
    elsewhere = location.file.startswith(("/", "~", "<", "…")) or ":" in parts[0] or ".." in parts
    path = "/".join(part for part in parts if part not in ("", "."))
    if elsewhere or not _PACKAGES.isdisjoint(parts) or _OWN_LIBRARY.search(path):
        return None
    if not location.file.isprintable() or len(location.file) > 1_000 or not parts[-1]:
        return None
    return path


def own_line(location: Location | None) -> int | None:
    """The line of an own file to annotate; None without one."""
    line = location.jump_line if location is not None and own_file(location) is not None else None
    return line if line is not None and line >= 1 else None
