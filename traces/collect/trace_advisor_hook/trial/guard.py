"""Nothing outside the scratch folder is written by a trial: it ends before the first such write, and says which it was.

Relative paths lie in the scratch folder, which holds links to what lies beside the script: what a script adds there, or changes, is
a copy (`overlay`). Caches of libraries, whose loss hurts nobody, may be written. What extensions in C++ or Rust write, Python's
audit events do not show: `torch.save` is wrapped; other such writers are not heard.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from ..status import write_status
from .overlay import Overlay

# As a shell reports nothing else: the guard ended the script.
STOPPED = 97
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_PATHS = {
    "os.mkdir": (0,), "os.remove": (0,), "os.rmdir": (0,), "os.rename": (0, 1), "os.truncate": (0,), "os.link": (1,),
    "os.symlink": (1,), "shutil.rmtree": (0,), "shutil.copyfile": (1,), "shutil.move": (0, 1), "os.mkfifo": (0,),
}  # fmt: skip
_FREE = ("/dev", "/proc", "/sys")


class Guard:
    """Ends the process before it writes where it must not.

    Args:
        settings: `scratch`, the folder that may be written, and `work`, the one in it that stands for the user's.
        before_end: Called before the process ends, to keep what was measured.
    """

    def __init__(self, settings: dict[str, Any], before_end: Callable[[str], None]) -> None:
        self.folder: str = settings["scratch"]
        self.overlay = Overlay(settings["work"])
        self.before_end = before_end
        self.allowed = tuple(self.free())
        self.busy = False

    def free(self) -> Iterator[str]:
        """Folders that may be written."""
        home = os.path.expanduser("~")
        caches = [os.environ.get("XDG_CACHE_HOME") or os.path.join(home, ".cache"), os.path.join(home, ".triton")]
        caches += [os.environ[name] for name in ("HF_HOME", "TORCH_HOME") if os.environ.get(name)]
        for folder in (self.folder, *_FREE, *caches):
            yield os.path.realpath(folder) + os.sep

    def install(self) -> None:
        """Listen from now on; an audit hook can never be taken away."""
        sys.addaudithook(self.hear)

    def wrap_saving(self) -> None:
        """`torch.save` opens its file in C++, of which no audit event tells."""
        torch: Any = sys.modules["torch"]
        save = torch.save

        @functools.wraps(save)
        def guarded(obj: Any, f: Any, *args: Any, **kwargs: Any) -> Any:
            self.busy = True  # what the overlay itself writes is not the script's
            try:
                for path in _text(f):
                    self.check(path, "torch.save")
            finally:
                self.busy = False
            return save(obj, f, *args, **kwargs)

        torch.save = guarded

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        """One event of Python's."""
        if self.busy or not (event == "open" or event in _PATHS):
            return
        self.busy = True
        try:
            for path in self.written(event, arguments):
                self.check(path, event)
        finally:
            self.busy = False

    def written(self, event: str, arguments: tuple[Any, ...]) -> Iterator[str]:
        """The paths that an event writes to."""
        if event == "open":
            path, mode, flags = arguments[:3]
            if (
                isinstance(flags, int)
                and not flags & _WRITES
                and not (isinstance(mode, str) and set(mode) & set("wax+"))
            ):
                return
            yield from _text(path)
            return
        for place in _PATHS[event]:
            for path in _text(arguments[place]):
                if not (event == "os.mkdir" and os.path.isdir(path)):  # `exist_ok`: nothing is made
                    yield path

    def check(self, path: str, event: str) -> None:
        """Let it pass, on a copy where the path is a link to the user's; or end here."""
        whole = os.path.abspath(path)
        if self.overlay.holds(whole):
            if not self.overlay.own(whole):
                self.stop(whole, event)
            return
        if not (os.path.realpath(whole) + os.sep).startswith(self.allowed):
            self.stop(whole, event)

    def stop(self, path: str, event: str) -> None:
        """Say what would have been written, keep what was measured, and end."""
        write_status(os.path.join(self.folder, f"stopped-{os.getpid()}.json"), {"path": path, "event": event})
        self.before_end(f"stopped before it wrote {path}")
        os._exit(STOPPED)


def _text(path: Any) -> Iterator[str]:
    """A path as text; nothing for an open file's number."""
    if isinstance(path, str | bytes | os.PathLike):
        yield os.fsdecode(path)
