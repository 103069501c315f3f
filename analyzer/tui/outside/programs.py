"""Other programs: a browser for reports and pages, the reader's editor for a line of code."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import webbrowser
from collections.abc import Mapping
from pathlib import Path

from analyzer.analysis import Location

# Editors that take `+12 file`; those that want `file:12` after an option; anything else gets the file alone.
_PLUS = ("vi", "vim", "nvim", "nano", "emacs", "emacsclient", "micro", "kak", "joe", "ne", "mcedit", "gedit")
_GOTO = ("code", "codium", "cursor", "code-insiders")
_COLON = ("hx", "helix", "subl", "zed")


def has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a page would open in a window: over SSH a text browser might start inside the UI instead."""
    if environ.get("BROWSER") or sys.platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def open_page(path: Path) -> bool:
    """Open a file in the browser; whether that could be tried."""
    return has_browser() and webbrowser.open(path.resolve().as_uri())


def open_address(address: str) -> bool:
    """Open a page of the network in the browser; whether that could be tried."""
    return has_browser() and webbrowser.open(address)


def editor_command(location: Location, environ: Mapping[str, str] = os.environ) -> list[str] | None:
    """The command that opens the editor at a place; None where there is no editor or no such file here."""
    path = Path(location.file)
    if not path.is_file():
        return None
    words = shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "")
    if not words:
        words = [next((name for name in ("nano", "vi") if shutil.which(name)), "")]
    if not words[0] or shutil.which(words[0]) is None:
        return None
    # An argument may begin with a dash; a path that begins with ./ never does.
    file = str(path if path.is_absolute() else Path(".") / path)
    file = file if file.startswith("/") else f"./{file}"
    name, line = Path(words[0]).name, location.jump_line
    if line is None:
        return [*words, file]
    if name in _PLUS:
        return [*words, f"+{line}", file]
    if name in _GOTO:
        return [*words, "--goto", f"{file}:{line}"]
    return [*words, f"{file}:{line}" if name in _COLON else file]
