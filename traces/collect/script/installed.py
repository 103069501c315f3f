"""Which packages that a recording names are installed: torch cuts `site-packages/` off, `net/layers.py` may be anybody's."""

from __future__ import annotations

import re

# The start of a frame's name: a folder, or a module's file.
_TOP = re.compile(rb'"name":\s*"([^"/\\(.]+)(?:[/\\]|\.py\()')


def seen_of(names: list[str], raw: bytes) -> list[str]:
    """Those names of what is installed that a recording's frames begin with, sorted; of no other package anything is told.

    Args:
        names: All that is installed in the environment that ran.
        raw: The recording, as torch wrote it.
    """
    seen = {match.decode(errors="replace") for match in set(_TOP.findall(raw))}
    return sorted(seen.intersection(names))
