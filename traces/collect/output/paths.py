"""Turn absolute paths in text into paths that say nothing about the machine or its user."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

# Everything up to and with the folder of installed packages.
_INSTALLED = re.compile(r"(?<![\w.)\]])(?:[A-Za-z]:)?[/\\](?:[^\"'<>|:;,()]*[/\\])?(?:site|dist)-packages[/\\]")
# An absolute path with at least two parts; what is kept of it is its last part.
_ABSOLUTE = re.compile(r"(?<![\w.)\]~/])(?:[A-Za-z]:)?/(?:[^\s\"'<>|:;,()/]+/)+")


class PathCleaner:
    """Rewrites paths: relative to the project, to the installed packages or the standard library, else the bare name.

    torch itself cuts what lies on `sys.path`; this covers what it leaves (other projects, temporary
    files, source paths inside arguments).
    """

    def __init__(self, project: Path) -> None:
        known = {str(project), *(entry for entry in sys.path if Path(entry).is_absolute())}
        # Longest first, or a folder inside another would keep the inner part of its path.
        self._prefixes = tuple(
            prefix.rstrip("/\\") + separator
            for prefix in sorted(known, key=len, reverse=True)
            if len(Path(prefix).parts) > 1
            for separator in ("/", "\\")
        )

    @staticmethod
    def may_hold_path(text: bytes) -> bool:
        """Whether looking closer is worth it: most events hold no separator at all."""
        return b"/" in text or b"\\" in text

    def clean(self, value: Any) -> Any:
        """A JSON value with the paths in all its strings rewritten; keys stay as they are."""
        if isinstance(value, str):
            return self.clean_text(value)
        if isinstance(value, list):
            return [self.clean(item) for item in value]
        if isinstance(value, dict):
            return {key: self.clean(item) for key, item in value.items()}
        return value

    def clean_text(self, text: str) -> str:
        """`text` with its absolute paths rewritten."""
        if "/" not in text and "\\" not in text:
            return text
        for prefix in self._prefixes:
            text = text.replace(prefix, "")
        return _ABSOLUTE.sub("", _INSTALLED.sub("", text))


def own_path(file: str, roots: tuple[Path, ...]) -> str:
    """The path of a file of the user's, the same however the program was called: relative to the first folder that it lies in.

    Args:
        file: The path, absolute or relative to the first folder.
        roots: Folders that the user's files lie in.
    """
    whole = Path(os.path.normpath(roots[0] / file))
    inside = [whole.relative_to(root) for root in roots if whole.is_relative_to(root)]
    return inside[0].as_posix() if inside else PathCleaner(roots[0]).clean_text(str(whole))
