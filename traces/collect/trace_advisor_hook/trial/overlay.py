"""A folder that looks like the user's and is not: links to what is read, copies of what is written."""

from __future__ import annotations

import os
import shutil

# A larger file that a script changes in place is no log.
_MOST_BYTES = 256 << 20


class Overlay:
    """Makes what is about to be written the trial's own.

    Args:
        work: The folder that stands for the user's; it holds links.
    """

    def __init__(self, work: str) -> None:
        self.work = os.path.realpath(work)

    def holds(self, path: str) -> bool:
        """Whether a path lies in the folder, by its name."""
        return path.startswith(self.work + os.sep)

    def own(self, path: str) -> bool:
        """Replace links on the way to a path by folders of links, and one at its end by a copy; whether that could be done."""
        at = self.work
        for part in os.path.relpath(path, self.work).split(os.sep):
            at = os.path.join(at, part)
            if not os.path.islink(at) or os.path.realpath(at).startswith(self.work + os.sep):
                continue
            target = os.path.realpath(at)
            if os.path.isdir(target):
                os.remove(at)
                links(target, at)
            elif os.path.isfile(target):
                if os.path.getsize(target) > _MOST_BYTES:
                    return False
                os.remove(at)
                shutil.copyfile(target, at)
        return True


def links(folder: str, at: str) -> None:
    """Make a folder that holds a link to each entry of another."""
    os.makedirs(at, exist_ok=True)
    with os.scandir(folder) as entries:
        for entry in entries:
            place = os.path.join(at, entry.name)
            if not os.path.lexists(place):
                os.symlink(os.path.join(folder, entry.name), place)
